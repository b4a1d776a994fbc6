package system_test

import (
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
)

// TestCase28_mountInTheTree: a file system mounted in the tree keeps it owed as
// a mount point; once it is unmounted the sweep ends it. One that the plan
// names goes at once.
func TestCase28_mountInTheTree(t *testing.T) {
	const job = "ExecStart=/bin/sh -c 'mkdir -p /var/tmp/%N-tree/m; mount -t tmpfs none /var/tmp/%N-tree/m; touch /var/tmp/%N-tree/m/file; exit 3'\n"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		install(m, "mounts.service", "[Service]\nType=oneshot\n"+arm+job+hook+treeStep)
		install(m, "ours.service", "[Service]\nType=oneshot\n"+arm+job+hook+"\n[X-Cleanup.Path]\nUnmount=/var/tmp/%N-tree/m\n"+treeStep)
		runUnit(m, "mounts.service")
		runUnit(m, "ours.service")
		owed := records(m, "mounts.service", journal.Owed)
		if len(owed) != 1 || owed[0]["JOB_CLEANUP_REASON"] != "mount-point" || !m.Exists("/var/tmp/mounts-tree/m/file") {
			t.Errorf("owed: %v; all: %v", owed, said(m, "mounts.service"))
		}
		if m.Exists("/var/tmp/ours-tree") {
			t.Errorf("what is recorded as ours stays: %v", said(m, "ours.service"))
		}
		m.Shell("umount $(findmnt -rno TARGET | grep mounts-tree || find /var/tmp -name m -path '*mounts-tree*')")
		sweep(t, m, "job-cleanup-sweep.service")
		if left := m.Shell("ls -A /var/tmp"); strings.Contains(left, "tree") {
			t.Errorf("left is %q: %v", left, said(m, "mounts.service"))
		}
	})
}

// TestCase27_immutableSwept: an immutable file is owed as that, and goes by the
// sweep once it may.
func TestCase27_immutableSwept(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		install(m, "stone.service", "[Service]\nType=oneshot\n"+arm+"ExecStart=/bin/sh -c 'mkdir -p /var/tmp/%N-tree; touch /var/tmp/%N-tree/file /var/tmp/%N-tree/other; chattr +i /var/tmp/%N-tree/file; exit 3'\n"+hook+treeStep)
		runUnit(m, "stone.service")
		if !m.Exists("/var/tmp/stone-tree/file") {
			t.Skip("no immutable files on this machine's disk")
		}
		owed := records(m, "stone.service", journal.Owed)
		if len(owed) != 1 || owed[0]["JOB_CLEANUP_REASON"] != "immutable" || m.Exists("/var/tmp/stone-tree/other") {
			t.Errorf("owed: %v; all: %v", owed, said(m, "stone.service"))
		}
		m.Shell("chattr -i /var/tmp/stone-tree/file")
		sweep(t, m, "job-cleanup-sweep.service")
		if left := m.Shell("ls -A /var/tmp"); strings.Contains(left, "tree") {
			t.Errorf("left is %q: %v", left, said(m, "stone.service"))
		}
	})
}

// TestCase47_hookKilledByMemory: residue fills the unit's memory limit, and the
// hook is killed as soon as it starts. It was armed, so the sweep ends it. The
// kill is made by hand: containers have no memory controller of their own.
func TestCase47_hookKilledByMemory(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		install(m, "fat.service", "[Service]\nType=oneshot\n"+arm+
			"ExecStart=/bin/sh -c 'mkdir -p /run/%N-tree/sub; exit 3'\nExecStopPost=-/bin/sh -c 'kill -KILL $$$$'\n"+
			"\n[X-Cleanup.Path]\nRemove=/run/%N-tree\n")
		runUnit(m, "fat.service")
		if !m.Exists("/run/fat-tree/sub") {
			t.Fatal("the tree is gone")
		}
		wantVerdict(t, m, "fat.service", "exit-code", "3")
		sweep(t, m, "job-cleanup-sweep.service")
		if m.Exists("/run/fat-tree") {
			t.Errorf("the tree stays: %v", said(m, "fat.service"))
		}
		wantNothingOwed(t, m, "fat.service")
	})
}

// TestCase25_manyThatStaySwept: 1,100 residues that can't be removed, and a tree
// with as many. The hook and a sweep try each once and come to an end, each is
// owed; when they can be removed a sweep ends them.
func TestCase25_manyThatStaySwept(t *testing.T) {
	const many = 1100
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "many.service", oneshot("ExecStart=/bin/sh -c 'cd /var/tmp; for d in many-each many-whole/sub; do "+
			"mkdir -p $$d; (cd $$d; seq -f x%%.0f 1100 | xargs touch); chattr +i $$d; done; exit 3'",
			"\n[X-Cleanup.Path]\nRemove=/var/tmp/%N-each/x*\nRemove=/var/tmp/%N-whole\n"))
		for try, clean := range []func(){
			func() { runUnit(m, "many.service") }, func() { m.Shell("job-cleanup sweep") },
		} {
			began := time.Now()
			clean()
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("try %d took %v", try+1, took)
			}
			owed := records(m, "many.service", journal.Owed)
			if len(owed) != (try+1)*(many+1) {
				t.Fatalf("after try %d there are %d records of what is owed", try+1, len(owed))
			}
			refs := map[string]int{}
			for _, entry := range owed[try*(many+1):] {
				refs[entry["JOB_CLEANUP_REF"]]++
				if entry["JOB_CLEANUP_REASON"] != "immutable" {
					t.Fatalf("owed as %q", entry["MESSAGE"])
				}
			}
			if len(refs) != many+1 || refs["/var/tmp/many-each/x1100"] != 1 {
				t.Errorf("try %d tells of %d", try+1, len(refs))
			}
		}
		m.Shell("chattr -i /var/tmp/many-each /var/tmp/many-whole/sub; job-cleanup sweep --all")
		if left := m.Shell("find /var/tmp -path '*many*' | head -3"); left != "/var/tmp/many-each" {
			t.Errorf("left is %q", left)
		}
		wantNothingOwed(t, m, "many.service")
	})
}

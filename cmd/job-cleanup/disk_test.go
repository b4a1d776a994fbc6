package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// disk is a small file system for ledgers, and a place for residue beside it.
type disk struct {
	t          *testing.T
	state, dir string
}

// newDisk mounts a tmpfs with these options, for one test.
func newDisk(t *testing.T, options string) *disk {
	t.Helper()
	d := &disk{t: t, state: t.TempDir(), dir: t.TempDir()}
	if err := unix.Mount("tmpfs", d.state, "tmpfs", 0, options); err != nil {
		t.Skipf("can't mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(d.state, unix.MNT_DETACH) })
	return d
}

func (d *disk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// fill takes what room there is for bytes and for files.
func (d *disk) fill() {
	d.t.Helper()
	for i := 0; ; i++ {
		f, err := os.Create(filepath.Join(d.state, fmt.Sprint("fill-", i)))
		if err == nil {
			_, err = f.Write(make([]byte, 64<<10))
			f.Close()
		}
		if errors.Is(err, unix.ENOSPC) && i > 0 && f == nil {
			return
		}
		if err != nil && !errors.Is(err, unix.ENOSPC) {
			d.t.Fatal(err)
		}
		if i > 1000 {
			return // room for names that hold nothing
		}
	}
}

func (d *disk) tree(name string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	d.must(os.MkdirAll(filepath.Join(path, "sub"), 0o755))
	return path
}

// owes records a job of another boot that owes a tree.
func (d *disk) owes(unit, tree string) {
	d.t.Helper()
	l, err := storeOfTests(d.state).Ledger(unit, "one")
	d.must(err)
	spec := residue.Spec{Kind: "path", Selector: "Remove", Value: tree, Phase: residue.Data}
	spec.Identify()
	job := ledger.Job{Job: residue.Job{Boot: otherBoot, User: &residue.Identity{UID: uint32(os.Getuid())}}}
	d.must(l.Append(d.t.Context(), ledger.NewJob(job), ledger.NewSpec(spec)))
}

func (d *disk) run(args ...string) string {
	d.t.Helper()
	args = append(args, "--state-dir", d.state)
	if args[0] != "status" {
		args = append(args, "--runtime-dir", filepath.Join(d.dir, "run"))
	}
	cmd := exec.Command("job-cleanup", args...)
	cmd.Env = []string{"WORK=" + d.dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Errorf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// worksWithout checks that each verb does what it can without a ledger.
func (d *disk) worksWithout() {
	d.t.Helper()
	job := []string{"--unit", "new.service", "--invocation", "one"}
	step := func(tree string) []string {
		return []string{"--step", "Path Remove=" + tree, "--step", "Command Run=/bin/false"}
	}
	tree := d.tree("new")
	d.run(append(append([]string{"arm"}, job...), step(tree)...)...)
	out := d.run(append(append([]string{"run"}, job...), step(tree)...)...)
	if there(tree) || !strings.Contains(out, "unrecorded") {
		d.t.Errorf("the tree is there: %v; it said\n%s", there(tree), out)
	}
	if n := strings.Count(out, "unrecorded"); n > 1 {
		d.t.Errorf("told %d times:\n%s", n, out)
	}
}

// TestLedgerOnABadDisk: with nowhere to write the cleanup runs all the same and
// says that it is not recorded; what was recorded before stays owed and is
// removed.
func TestLedgerOnABadDisk(t *testing.T) {
	for name, test := range map[string]struct {
		options string
		spoil   func(*disk)
	}{
		"full":      {"size=256k", (*disk).fill},
		"no inodes": {"size=1m,nr_inodes=12", (*disk).fill},
		"read-only": {"size=1m", func(d *disk) { d.must(unix.Mount("", d.state, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t, test.options)
			old := d.tree("old")
			d.owes("old.service", old)
			test.spoil(d)
			d.worksWithout()
			if out := d.run("status"); !strings.Contains(out, old) {
				t.Errorf("status forgets:\n%s", out)
			}
			if out := d.run("sweep"); there(old) {
				t.Errorf("the old debt stays:\n%s", out)
			}
			if name == "read-only" {
				d.must(unix.Mount("", d.state, "", unix.MS_REMOUNT, ""))
			}
			d.run("sweep")
			if out := d.run("status"); strings.Contains(out, old) {
				t.Errorf("it is still owed:\n%s", out)
			}
		})
	}
}

// TestDamagedLedger: the good lines of a damaged ledger count, the file is
// kept for people, and it is told.
func TestDamagedLedger(t *testing.T) {
	d := newDisk(t, "size=1m")
	first, second := d.tree("first"), d.tree("second")
	d.owes("u.service", first)
	path := filepath.Join(d.state, "u.service/one.jsonl")
	if os.Getuid() == 0 {
		path = filepath.Join(d.state, "root/u.service/one.jsonl")
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	d.must(err)
	_, err = f.WriteString("{\"v\":1,\"t\":\"spe\x00\xff garbage\n{\"v\":9,\"t\":\"spec\",\"new\":true}\n")
	d.must(errors.Join(err, f.Close()))
	d.owes("u.service", second)
	out := d.run("sweep")
	if there(first) || there(second) || !strings.Contains(out, "damaged") {
		t.Errorf("first there: %v, second there: %v\n%s", there(first), there(second), out)
	}
	if !there(strings.TrimSuffix(path, ".jsonl") + ".damaged-1") {
		t.Error("the damaged file was not kept")
	}
	if out := d.run("status"); !strings.Contains(out, "another version") {
		t.Errorf("a record that this version can't read is not owed:\n%s", out)
	}
	d.run("sweep")
	if !there(path) {
		t.Error("the unknown record is gone")
	}
}

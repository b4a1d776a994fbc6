package path

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"job-cleanup/pkg/residue"
)

// puttingOff makes a cleaner of a step with Defer=yes in a hook that writes
// down what it finds.
func puttingOff(t *testing.T, k kernel, value string, opts ...string) *cleaner {
	t.Helper()
	c := with(t, k, residue.Job{}, value, append(opts, "Defer=yes")...)
	c.later = func() bool { return true }
	return c
}

// sweeping makes the cleaner of the same step in a sweep.
func sweeping(t *testing.T, value string) *cleaner {
	t.Helper()
	c := with(t, running(), residue.Job{}, value, "Defer=yes")
	c.idle = true
	return c
}

// asides are the names in a folder that wait for a sweep.
func asides(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(dir + "/" + asidePrefix + "*")
	must(t, err)
	return all
}

// TestDefer: a tree goes aside whole, the next one of its name too, and a sweep
// deletes each by its own proof.
func TestDefer(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		dir := top + "/job"
		var owed []residue.Residue
		for _, name := range []string{"first", "second", "third"} {
			build(t, dir, name+"/x=text")
			c := puttingOff(t, k, dir)
			found := find(t, c)
			if len(found) != 1 || c.Aside(context.Background(), found[0]) {
				t.Fatalf("found %v, or aside before it was moved", refs(found))
			}
			e := wants(t, c.Remove(context.Background(), found[0]), residue.Retry, residue.Deferred)
			gone(t, dir)
			if now := asides(t, top); len(now) != len(owed)+1 || !slices.ContainsFunc(now, func(path string) bool { return strings.Contains(e.Error(), path) }) {
				t.Fatalf("aside stand %q, and the answer is %v", now, e)
			}
			wants(t, c.Remove(context.Background(), found[0]), residue.Retry, residue.Deferred) // again
			owed = append(owed, found[0])
		}
		build(t, dir, "of the next run")
		before := digest(t, dir)
		c := sweeping(t, dir)
		for i, r := range []residue.Residue{owed[1], owed[0], owed[2]} {
			if !c.Aside(context.Background(), r) {
				t.Fatal("it is not known to stand aside")
			}
			must(t, c.Remove(context.Background(), r))
			if now := asides(t, top); len(now) != 2-i {
				t.Fatalf("after %d stand aside %q", i+1, now)
			}
			wants(t, c.Remove(context.Background(), r), residue.Lost, residue.Changed) // the next run's has the name
		}
		if digest(t, dir) != before {
			t.Fatal("the tree of the next run changed")
		}
	})
}

// TestDeferIsFoundByNoPattern: what waits for a sweep belongs to the ledger that
// has it. By its exact name a person can still have it removed.
func TestDeferIsFoundByNoPattern(t *testing.T) {
	top := t.TempDir()
	dir := build(t, top+"/scratch/job", "x")
	c := puttingOff(t, running(), dir)
	wants(t, clean(c), residue.Retry, residue.Deferred)
	aside := asides(t, top+"/scratch")[0]
	build(t, top+"/scratch", asidePrefix+"job~12-34/", asidePrefix+"other/")
	for _, value := range []string{"/scratch/*", "/scratch/.*", "/scratch/.job-cleanup~*", "/scratch/job", "/scratch/j*", "/scratch/.*/x", "/scratch/*job*", "/scratch/[.]*"} {
		for _, r := range find(t, with(t, running(), residue.Job{}, top+value)) {
			if strings.Contains(r.Ref, filepath.Base(aside)) || strings.HasSuffix(r.Ref, "/scratch/job") {
				t.Errorf("%s finds %s", value, r.Ref)
			}
		}
	}
	must(t, clean(with(t, running(), residue.Job{}, aside)))
	gone(t, aside)
	there(t, top+"/scratch/"+asidePrefix+"job~12-34") // of that shape, and not what it says
}

// TestDeferLongNames: a name that leaves no room for the rest is cut, and stays
// unique.
func TestDeferLongNames(t *testing.T) {
	top := t.TempDir()
	var owed []residue.Residue
	for _, end := range []string{"a", "b"} {
		build(t, top, strings.Repeat("n", 254)+end+"/x")
		found := find(t, puttingOff(t, running(), top+"/n*"))
		wants(t, puttingOff(t, running(), top+"/n*").Remove(context.Background(), found[0]), residue.Retry, residue.Deferred)
		owed = append(owed, found[0])
	}
	if now := asides(t, top); len(now) != 2 || len(filepath.Base(now[0])) != maxName {
		t.Fatalf("aside stand %q", now)
	}
	if found := find(t, with(t, running(), residue.Job{}, top+"/.*")); len(found) != 0 {
		t.Fatalf("found %q", refs(found))
	}
	for _, r := range owed {
		must(t, sweeping(t, top+"/n*").Remove(context.Background(), r))
	}
	if now := asides(t, top); len(now) != 0 {
		t.Fatalf("aside stand %q", now)
	}
}

// TestDeferSwapped: what takes the tree's place at the last moment is put back
// as it was, and nothing is called moved.
func TestDeferSwapped(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		for _, other := range []string{"folder", "file", "link"} {
			top := t.TempDir()
			canary := build(t, top+"/canary", "a/x=precious")
			dir := build(t, top+"/job", "x")
			before := digest(t, canary)
			c := puttingOff(t, k, dir)
			c.probe.beforeAside = func(string) {
				must(t, os.Rename(dir, top+"/was"))
				switch other {
				case "folder":
					must(t, os.Rename(canary, dir))
				case "file":
					must(t, os.WriteFile(dir, nil, 0o644))
				case "link":
					must(t, os.Symlink(canary, dir))
				}
			}
			wants(t, clean(c), residue.Retry, residue.Changed)
			there(t, dir)
			there(t, top+"/was/x")
			if now := asides(t, top); len(now) != 0 {
				t.Fatalf("%s: aside stand %q", other, now)
			}
			if other == "folder" {
				must(t, os.Rename(dir, canary))
			}
			if digest(t, canary) != before {
				t.Fatalf("%s: the canary changed", other)
			}
		}
	})
}

// TestDeferCutOff: cut off right before or after the rename, or in the middle of
// the deletion, the tree is found where it stands.
func TestDeferCutOff(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		dir := build(t, top+"/job", "a/x", "b/x", "c/x")
		c := puttingOff(t, k, dir)
		r := find(t, c)[0]
		for _, probe := range []*func(string){&c.probe.beforeAside, &c.probe.afterAside} {
			*probe = func(string) { panic("killed") }
			if !panics(func() { _ = c.remove(context.Background(), r) }) {
				t.Fatal("was not cut off")
			}
			*probe = nil
			wants(t, puttingOff(t, k, dir).Remove(context.Background(), r), residue.Retry, residue.Deferred)
			if moved := asides(t, top); len(moved) != 1 {
				t.Fatalf("aside stand %q", moved)
			}
			if probe == &c.probe.beforeAside { // and once more, now from its place
				must(t, os.Rename(asides(t, top)[0], dir))
			}
		}
		sweep := sweeping(t, dir)
		for range 2 {
			ctx, cancel := context.WithCancel(context.Background())
			var once sync.Once
			sweep.probe.beforeRmdir = func(string) { once.Do(cancel) }
			wants(t, sweep.Remove(ctx, r), residue.Retry, residue.Deferred)
			sweep.probe.beforeRmdir = nil
			if !sweep.Aside(context.Background(), r) {
				t.Fatal("what is half deleted is not known to stand aside")
			}
		}
		must(t, sweeping(t, dir).Remove(context.Background(), r))
		if now := asides(t, top); len(now) != 0 {
			t.Fatalf("aside stand %q", now)
		}
		wants(t, sweeping(t, dir).Remove(context.Background(), r), residue.Gone, "absent")
	})
}

func panics(do func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	do()
	return false
}

package path

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// asNobody marks a test binary that runs again without root's rights.
const asNobody = "JOB_CLEANUP_TEST_AS_NOBODY"

// drop runs the calling test again as uid 65534 and reports true in the
// process that should go no further.
func drop(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "path-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "test")
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, text, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run", "^"+strings.Split(t.Name(), "/")[0]+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{asNobody + "=1", "TMPDIR=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("as uid 65534: %v\n%s", err, out)
	}
	return true
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// make lays out a tree: "name/" a folder, "name->target" a link, "name=text" a
// file, anything else an empty file. Folders above are made.
func build(t *testing.T, root string, entries ...string) string {
	t.Helper()
	must(t, os.MkdirAll(root, 0o755))
	for _, e := range entries {
		name, rest := e, ""
		kind := byte('f')
		if at := strings.Index(e, "->"); at >= 0 {
			name, rest, kind = e[:at], e[at+2:], 'l'
		} else if at := strings.Index(e, "="); at >= 0 {
			name, rest = e[:at], e[at+1:]
		} else if strings.HasSuffix(e, "/") {
			kind = 'd'
		}
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch kind {
		case 'd':
			must(t, os.MkdirAll(path, 0o755))
		case 'l':
			must(t, os.Symlink(rest, path))
		default:
			must(t, os.WriteFile(path, []byte(rest), 0o644))
		}
	}
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// digest is a hash over the names, modes and contents of a tree.
func digest(t *testing.T, root string) string {
	t.Helper()
	sum := sha256.New()
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %v\n", path, info.Mode())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum.Write(text)
		}
		return nil
	}))
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// old is the kernel without the calls that newer ones have.
func old() kernel {
	k := running()
	k.openat2, k.statxID = false, false
	return k
}

// kernels runs a test on both ways of opening folders.
func kernels(t *testing.T, test func(t *testing.T, k kernel)) {
	for name, k := range map[string]kernel{"openat2": running(), "fallback": old()} {
		t.Run(name, func(t *testing.T) { test(t, k) })
	}
}

// with makes a cleaner; opts are "Exclude=…" and "Within=…".
func with(t *testing.T, k kernel, job residue.Job, value string, opts ...string) *cleaner {
	t.Helper()
	c, err := try(job, value, opts...)
	must(t, err)
	c.k = k
	return c
}

func try(job residue.Job, value string, opts ...string) (*cleaner, error) {
	spec := residue.Spec{Kind: "path", Selector: "Remove", Value: value, Options: map[string][]string{}}
	for _, o := range opts {
		key, text, _ := strings.Cut(o, "=")
		if key == "Selector" {
			spec.Selector = text
			continue
		}
		spec.Options[key] = append(spec.Options[key], text)
	}
	return newCleaner(spec, residue.Deps{Job: job})
}

// clean finds and removes, and returns the first error.
func clean(c *cleaner) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	found, err := c.Find(ctx)
	for _, r := range found {
		if e := c.Remove(ctx, r); e != nil && err == nil {
			err = e
		}
	}
	return err
}

// find is Find that must succeed.
func find(t *testing.T, c *cleaner) []residue.Residue {
	t.Helper()
	found, err := c.Find(context.Background())
	must(t, err)
	return found
}

// refs are the references of residues.
func refs(found []residue.Residue) []string {
	out := []string{}
	for _, r := range found {
		out = append(out, r.Ref)
	}
	return out
}

// wants checks an error's class and reason.
func wants(t *testing.T, err error, class residue.Class, why residue.Reason) *residue.Error {
	t.Helper()
	var e *residue.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an error of reason %q", err, why)
	}
	if e.Class != class || e.Reason != why {
		t.Fatalf("got class %d, %v; want class %d, reason %q", e.Class, e, class, why)
	}
	return e
}

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is still there (%v)", path, err)
	}
}

func there(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
}

// mountTmpfs mounts until the test ends.
func mountTmpfs(t *testing.T, path string) {
	t.Helper()
	needRoot(t)
	must(t, os.MkdirAll(path, 0o755))
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("can't mount here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
}

func bind(t *testing.T, from, to string) {
	t.Helper()
	needRoot(t)
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("can't mount here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
}

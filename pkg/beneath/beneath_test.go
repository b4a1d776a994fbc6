package beneath

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSplit(t *testing.T) {
	bases := []string{"/run", "/run/lock", "/", "relative", "/srv/", "/tmp/a/../b"}
	tests := []struct {
		path, base, rel string
		ok              bool
	}{
		{"/run/x", "/run", "x", true},
		{"/run/lock/x", "/run/lock", "x", true},
		{"/run/lock", "/run", "lock", true},
		{"/run/locks/x", "/run", "locks/x", true},
		{"/runx/x", "", "", false},
		{"/run", "", "", false},
		{"/run/", "", "", false},
		{"/run/../etc/x", "", "", false},
		{"/etc/x", "", "", false},
		{"/srv/x", "", "", false},
		{"run/x", "", "", false},
		{"", "", "", false},
	}
	for _, tt := range tests {
		base, rel, ok := Split(tt.path, bases)
		if base != tt.base || rel != tt.rel || ok != tt.ok {
			t.Errorf("Split(%q) = %q, %q, %v; want %q, %q, %v", tt.path, base, rel, ok, tt.base, tt.rel, tt.ok)
		}
	}
}

// tree makes base/sub/deep, a link beside sub that leads out, and one that
// leads to the base.
func tree(t *testing.T) (base string) {
	t.Helper()
	top := t.TempDir()
	base = filepath.Join(top, "base")
	for _, dir := range []string{"base/sub/deep", "outside"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"base/out": "../outside", "base/loop": "loop", "link": "base", "up": "outside/../base", "absolute": base} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return base
}

func TestOpen(t *testing.T) {
	base := tree(t)
	top := filepath.Dir(base)
	tests := []struct {
		base, rel, dir, leaf string
		errs                 []error
	}{
		{base, "x", base, "x", nil},
		{base, "sub/deep/x", base + "/sub/deep", "x", nil},
		{top + "/link", "sub/x", base + "/sub", "x", nil},
		{top + "/up", "sub/x", base + "/sub", "x", nil},
		{top + "/absolute", "sub/x", base + "/sub", "x", nil},
		{base, "out", base, "out", nil}, // the leaf itself is not looked at
		{base, "out/x", "", "", []error{unix.ELOOP, unix.ENOTDIR}},
		{base, "loop/x", "", "", []error{unix.ELOOP, unix.ENOTDIR}},
		{base + "/loop", "x", "", "", []error{unix.ELOOP}},
		{base, "file/x", "", "", []error{unix.ENOTDIR}},
		{base, "none/x", "", "", []error{unix.ENOENT}},
		{base + "/none", "x", "", "", []error{unix.ENOENT}},
		{base, "../outside/x", "", "", []error{unix.EINVAL}},
		{base, "sub/..", "", "", []error{unix.EINVAL}},
		{base, "", "", "", []error{unix.EINVAL}},
		{base, "/etc/x", "", "", []error{unix.EINVAL}},
	}
	for _, tt := range tests {
		dir, leaf, err := Open(tt.base, tt.rel)
		if err != nil {
			if !oneOf(err, tt.errs) {
				t.Errorf("Open(%q, %q): %v, want one of %v", tt.base, tt.rel, err, tt.errs)
			}
			continue
		}
		if tt.errs != nil || leaf != tt.leaf || !same(t, dir, tt.dir) {
			t.Errorf("Open(%q, %q) = %q, %q; want %q, %q, %v", tt.base, tt.rel, dir.Name(), leaf, tt.dir, tt.leaf, tt.errs)
		}
		_ = dir.Close()
	}
}

func oneOf(err error, errs []error) bool {
	for _, e := range errs {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// same reports whether the descriptor is the folder at path.
func same(t *testing.T, dir *os.File, path string) bool {
	t.Helper()
	var a, b unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &a); err != nil {
		t.Fatal(err)
	}
	if err := unix.Stat(path, &b); err != nil {
		t.Fatal(err)
	}
	return a.Dev == b.Dev && a.Ino == b.Ino
}

func TestStepAgreesWithOpenat2(t *testing.T) {
	base := tree(t)
	root, err := unix.Open(base, pathFlags, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	for _, rel := range []string{"sub", "sub/deep", "none", "out", "loop", "file"} {
		a, errA := descend(root, rel)
		b, errB := step(root, rel)
		if (errA == nil) != (errB == nil) {
			t.Errorf("%q: openat2 %v, step %v", rel, errA, errB)
		}
		for _, fd := range []int{a, b} {
			if fd >= 0 {
				_ = unix.Close(fd)
			}
		}
	}
}

func TestStrangersLinkIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give a link away")
	}
	base := tree(t)
	link := filepath.Join(filepath.Dir(base), "link")
	if err := os.Lchown(link, 4242, 4242); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(link, "x"); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a stranger's link: %v, want ELOOP", err)
	}
	planted := filepath.Join(filepath.Dir(base), "up")
	if err := os.Link(planted, planted+"2"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(planted, "x"); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link with two names: %v, want ELOOP", err)
	}
	absolute := filepath.Join(filepath.Dir(base), "absolute")
	if err := os.Chmod(filepath.Dir(base), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(absolute, "x"); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link in a folder that all may write to: %v, want ELOOP", err)
	}
}

func TestOwnLinksAreTrusted(t *testing.T) {
	mine, shared := unix.Stat_t{Uid: 1000, Nlink: 2}, unix.Stat_t{Uid: 1000, Mode: 0o777}
	if !trusted(mine, shared, 1000) || trusted(mine, shared, 0) || trusted(mine, shared, 1001) {
		t.Error("a link is trusted by its owner alone, if that is not root")
	}
}

func TestMountBelowIsRefused(t *testing.T) {
	base := tree(t)
	sub := filepath.Join(base, "sub")
	if err := unix.Mount(base, sub, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(sub, unix.MNT_DETACH) })
	if _, _, err := Open(base, "sub/x"); !errors.Is(err, unix.EXDEV) {
		t.Errorf("a bind mount below the base: %v, want EXDEV", err)
	}
	root, err := unix.Open(base, pathFlags, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	if _, err := step(root, "sub"); !errors.Is(err, unix.EXDEV) {
		t.Errorf("without openat2: %v, want EXDEV", err)
	}
	if dir, _, err := Open(sub, "x"); err != nil {
		t.Errorf("a mount that is the base itself: %v", err)
	} else {
		_ = dir.Close()
	}
}

func TestMountFromProc(t *testing.T) {
	fd, err := unix.Open("/", pathFlags, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	want, err := Mount(fd)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := procMount(fd); err != nil || got != want {
		t.Errorf("procMount = %d, %v; want %d", got, err, want)
	}
}

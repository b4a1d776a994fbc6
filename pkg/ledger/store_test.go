package ledger

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

func TestNames(t *testing.T) {
	for _, name := range []string{"", ".", "..", ".x", "a/b", "/", "../x", "a\x00b", "a\nb", "a\x7f", "\xff", strings.Repeat("x", 256)} {
		dir := filepath.Join(t.TempDir(), "state")
		if _, err := Own(dir).Ledger(name, "i"); !errors.Is(err, ErrName) {
			t.Errorf("unit %q: %v", name, err)
		}
		if _, err := Own(dir).Ledger("u", name); !errors.Is(err, ErrName) {
			t.Errorf("invocation %q: %v", name, err)
		}
		if _, err := Own(dir).LockUnit(t.Context(), name); !errors.Is(err, ErrName) {
			t.Errorf("lock of %q: %v", name, err)
		}
		if err := errors.Join(Jobs(dir).Give(t.Context(), name, residue.Identity{}), Jobs(dir).Prune(name)); !errors.Is(err, ErrName) {
			t.Errorf("folder of %q: %v", name, err)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%q: something was made", name)
		}
	}
	s := Own(t.TempDir())
	add(t, open(t, s, strings.Repeat("u", 255), strings.Repeat("i", 255-len(asideName("", maxAside)))), NewSpec(spec("a")))
	add(t, open(t, s, "dev-disk-by\\x2did.service", "run-1.jsonl"), NewSpec(spec("a")))
}

func TestFilesAndModes(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	base := filepath.Join(t.TempDir(), "a", "b")
	add(t, open(t, Own(base), "u", "i"), NewSpec(spec("a")))
	group := -1
	if os.Geteuid() == 0 {
		group = 4712
	}
	add(t, open(t, Root(base, group), "u", "i"), NewSpec(spec("a")))
	for path, want := range map[string]fs.FileMode{
		"": 0o700, "u": 0o700, "u/i.jsonl": 0o600, "root": 0o755, "root/u": 0o750, "root/u/i.jsonl": 0o640, "root/u/.append": 0o600,
	} {
		info, err := os.Lstat(filepath.Join(base, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, %v; want %v", path, info.Mode().Perm(), err, want)
			continue
		}
		if gid := info.Sys().(*syscall.Stat_t).Gid; group > 0 && (path == "root/u" || path == "root/u/i.jsonl") && gid != 4712 {
			t.Errorf("%q belongs to group %d", path, gid)
		}
	}
}

func TestMissingLedger(t *testing.T) {
	s, l := ours(t)
	if _, err := l.Replay(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("replay: %v", err)
	}
	if got, err := l.Settle(t.Context()); err != nil || !got.Gone {
		t.Errorf("settle: %+v, %v", got, err)
	}
	add(t, l, Closed("x", "", "removed", ""), Complete("x"), Forget("x"), Ended(Ending{}))
	if names, err := os.ReadDir(s.base); err != nil || len(names) > 0 {
		t.Errorf("made %v, %v", names, err)
	}
}

func TestHostileFiles(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary.jsonl")
	const text = `{"v":1,"t":"spec","spec":{"id":"evil"}}` + "\n"
	plant := map[string]func(dir string) error{
		"link":             func(d string) error { return os.Symlink(canary, d+"/u/i.jsonl") },
		"dangling link":    func(d string) error { return os.Symlink(canary+"x", d+"/u/i.jsonl") },
		"second name":      func(d string) error { return os.Link(canary, d+"/u/i.jsonl") },
		"fifo":             func(d string) error { return unix.Mkfifo(d+"/u/i.jsonl", 0o600) },
		"folder":           func(d string) error { return os.Mkdir(d+"/u/i.jsonl", 0o700) },
		"folder is a link": func(d string) error { return errors.Join(os.Remove(d+"/u"), os.Symlink(filepath.Dir(canary), d+"/u")) },
		"folder is a file": func(d string) error { return errors.Join(os.Remove(d+"/u"), os.WriteFile(d+"/u", nil, 0o600)) },
		"folder is open":   func(d string) error { return os.Chmod(d+"/u", 0o777) },
		"lock is a link":   func(d string) error { return os.Symlink(canary, d+"/u/.append") },
		"lock is a fifo":   func(d string) error { return unix.Mkfifo(d+"/u/.append", 0o600) },
	}
	for name, do := range plant {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(canary, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, l := ours(t)
			if err := errors.Join(os.Mkdir(s.base+"/u", 0o700), do(s.base)); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Replay(t.Context()); !strings.HasPrefix(name, "lock") && !errors.Is(err, ErrUntrusted) {
				t.Errorf("replay: %v", err)
			}
			if err := l.Append(t.Context(), NewSpec(spec("a"))); err == nil {
				t.Error("append: no error")
			}
			if _, err := l.Settle(t.Context()); err == nil {
				t.Error("settle: no error")
			}
			for range s.List(t.Context()) {
			}
			if got, err := os.ReadFile(canary); err != nil || string(got) != text {
				t.Errorf("canary is now %q, %v", got, err)
			}
			if _, err := os.Lstat(canary + "x"); err == nil {
				t.Error("made a file through the link")
			}
		})
	}
}

func TestRootOpensNothingOfAJob(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to have files of another user")
	}
	s, l := ours(t)
	add(t, l, NewSpec(spec("a")))
	if err := os.Chown(s.base+"/u/i.jsonl", 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Replay(t.Context()); !errors.Is(err, ErrUntrusted) {
		t.Errorf("file of a job: %v", err)
	}
	if err := os.Chown(s.base+"/u", 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), NewSpec(spec("b"))); !errors.Is(err, ErrUntrusted) {
		t.Errorf("folder of a job: %v", err)
	}
}

// reachable returns a folder that every user may go to.
func reachable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestGive(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	dir := reachable(t)
	s := Jobs(dir)
	first := residue.Identity{UID: 4711, GID: 4711}
	for range 2 {
		if err := s.Give(t.Context(), "u", first); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "ledger.test") // the test binary's own folder may be root's
	if text, err := os.ReadFile(os.Args[0]); err != nil || os.WriteFile(binary, text, 0o755) != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = []string{"LEDGER_TEST_ROLE=give", "LEDGER_TEST_DIR=" + dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as the job's user: %v: %s", err, out)
	}
	var folders []Folder
	for f, err := range s.Units(t.Context()) {
		if err != nil {
			t.Error(err)
		}
		folders = append(folders, f)
	}
	if want := []Folder{{"u", 4711, 4711}}; !slices.Equal(folders, want) {
		t.Errorf("folders %v, want %v", folders, want)
	}
	second := residue.Identity{UID: 4713, GID: 4713}
	if err := s.Give(t.Context(), "u", second); !errors.Is(err, ErrUntrusted) {
		t.Errorf("to another user: %v", err)
	}
	if err := s.Give(t.Context(), "u", residue.Identity{Dynamic: true}); !errors.Is(err, ErrUntrusted) {
		t.Errorf("to root: %v", err)
	}
	if err := s.Prune("u"); err != nil {
		t.Error(err)
	}
	second.Dynamic = true
	if err := s.Give(t.Context(), "u", second); err != nil {
		t.Errorf("to the next dynamic user: %v", err)
	}
	info, err := os.Lstat(dir + "/job/u/i.jsonl")
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 4713 {
		t.Errorf("the ledger was not handed over: %v", err)
	}
	if err := errors.Join(os.Remove(dir+"/job/u/i.jsonl"), s.Give(t.Context(), "u", first)); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if err := errors.Join(s.Prune("u"), s.Prune("u")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir + "/job/u"); err == nil {
		t.Error("the folder was not pruned")
	}
}

func TestList(t *testing.T) {
	s, _ := ours(t)
	want := []Entry{}
	for _, unit := range []string{"a@1.service", "b.service"} {
		for _, inv := range []string{"1", "2.damaged-1"} {
			add(t, open(t, s, unit, inv), NewSpec(spec("a")))
			want = append(want, Entry{Unit: unit, Invocation: inv})
		}
		if err := os.WriteFile(s.base+"/"+unit+"/1.damaged-12", []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, Entry{Unit: unit, Invocation: "1", Damaged: 12})
	}
	for _, path := range []string{"/stray", "/b.service/stray", "/b.service/x.damaged-0", "/.hidden"} {
		if err := os.WriteFile(s.base+path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, wrong := []Entry{}, 0
	for e, err := range s.List(t.Context()) {
		if err != nil {
			wrong++
			continue
		}
		if e.Size == 0 || e.Modified.IsZero() {
			t.Errorf("%+v has no size or no time", e)
		}
		e.Size, e.Modified = 0, time.Time{}
		got = append(got, e)
	}
	for _, e := range want {
		if !slices.Contains(got, e) {
			t.Errorf("%+v is not listed", e)
		}
	}
	if len(got) != len(want) || wrong != 3 {
		t.Errorf("%d listed, %d wrong: %+v", len(got), wrong, got)
	}
	for range Own(s.base + "/none").List(t.Context()) {
		t.Error("a store that is not there has entries")
	}
}

func TestListOfThousands(t *testing.T) {
	s, l := ours(t)
	add(t, l, NewSpec(spec("a")))
	text, err := os.ReadFile(s.base + "/u/i.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	const n = 2000
	for i := range n {
		dir := s.base + "/" + asideName("u", i)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(dir+"/i.jsonl", text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	begin, owed := time.Now(), 0
	for e, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		owed += len(replay(t, open(t, s, e.Unit, e.Invocation)).Owed())
	}
	if owed != n+1 {
		t.Errorf("%d owed, want %d", owed, n+1)
	}
	t.Logf("%d ledgers listed and read in %v", n+1, time.Since(begin))
}

// A folder that we may only go through is not for us to list; the kernel calls
// that a bad descriptor.
func TestNamesWithoutPermission(t *testing.T) {
	dir, err := os.OpenFile(t.TempDir(), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var got []error
	for _, err := range names(t.Context(), dir) {
		got = append(got, err)
	}
	if len(got) != 1 || !errors.Is(got[0], fs.ErrPermission) {
		t.Errorf("%v", got)
	}
}

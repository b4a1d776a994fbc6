package lockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

// reaped is the id of a process that has ended.
func reaped(t testing.TB) int {
	t.Helper()
	cmd := exec.Command("/bin/true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// opened makes a cleaner of a file in a folder that is one of the job's own.
func opened(t testing.TB, path string, options map[string][]string) *cleaner {
	t.Helper()
	spec := residue.Spec{Kind: "lockfile", Selector: "Remove", Value: path, Options: options}
	c, err := Kind.Open(spec, residue.Deps{Job: residue.Job{Bases: []string{filepath.Dir(path)}}})
	if err != nil {
		t.Fatal(err)
	}
	return c.(*cleaner)
}

// clean finds and removes, and returns the first error of the two.
func clean(t testing.TB, c residue.Cleaner) error {
	t.Helper()
	found, err := c.Find(context.Background())
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return residue.ErrGone
	}
	return c.Remove(context.Background(), found[0])
}

const (
	isRemoved = "removed"
	isInUse   = "owed in-use"
	isRefused = "refused protected"
	isLost    = "lost changed"
	wasGone   = "gone"
)

func TestConformance(t *testing.T) {
	const canary = "pw-canary-5Xq"
	content := map[string]string{
		"auto":  "%d\n",
		"pid":   "%d written by some program\n",
		"flock": "no pid here " + canary + "\n",
	}
	for holder, text := range content {
		t.Run(holder, func(t *testing.T) {
			dir := t.TempDir()
			n := 0
			cleantest.Run(t, cleantest.Subject{
				Kind: Kind,
				Spec: func(ref string) residue.Spec {
					return residue.Spec{Value: ref, Options: map[string][]string{"Holder": {holder}, "Within": {dir}}}
				},
				Make: func(t testing.TB) string {
					n++
					path := filepath.Join(dir, fmt.Sprintf("job-%d.lock", n))
					line := text
					if strings.Contains(text, "%d") {
						line = fmt.Sprintf(text, reaped(t))
					}
					write(t, path, line)
					return path
				},
				Exists: func(_ testing.TB, ref string) bool { return there(ref) },
				Remove: func(t testing.TB, ref string) {
					if err := os.Remove(ref); err != nil {
						t.Fatal(err)
					}
				},
				Decoy: func(t testing.TB, ref string) func() error {
					write(t, ref+"0", fmt.Sprintln(reaped(t)))
					return func() error {
						if !there(ref + "0") {
							return errors.New("the neighbour is gone")
						}
						return nil
					}
				},
				State:   func(t testing.TB, _ string) string { return picture(t, dir) },
				Secrets: []string{canary},
			})
		})
	}
}

// picture lists a folder with contents, inodes and times of change.
func picture(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, e.Name()), &st); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		fmt.Fprintf(&b, "%s %d %d %d %q\n", e.Name(), st.Ino, st.Mtim.Nano(), st.Ctim.Nano(), text)
	}
	return b.String()
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		path    string
		options map[string][]string
		reason  residue.Reason // "" means accepted
	}{
		{"/run/x.lock", nil, ""},
		{"/run/lock/x.lock", nil, ""},
		{"/var/lock/x.lock", nil, ""},
		{"/dev/shm/x.lock", map[string][]string{"Within": {"/dev/shm"}}, ""},
		{"/srv/locks/x", map[string][]string{"Within": {"/opt", "/srv/locks"}}, ""},
		{"", nil, residue.OutsideBase},
		{"/", nil, residue.OutsideBase},
		{".", nil, residue.OutsideBase},
		{"..", nil, residue.OutsideBase},
		{"/run", nil, residue.OutsideBase},
		{"/run/", nil, residue.OutsideBase},
		{"/run/../etc/shadow", nil, residue.OutsideBase},
		{"run/x.lock", nil, residue.OutsideBase},
		{"/runner/x.lock", nil, residue.OutsideBase},
		{"/srv/locks/x", nil, residue.OutsideBase},
		{"/srv/locks/x", map[string][]string{"Within": {"/"}}, residue.OutsideBase},
		{"/srv/locks/x", map[string][]string{"Within": {"/srv/lock"}}, residue.OutsideBase},
		{"/etc/passwd", map[string][]string{"Within": {"/etc"}}, residue.Protected},
		{"/usr/lib/x", map[string][]string{"Within": {"/usr"}}, residue.Protected},
		{"/dev/sda", map[string][]string{"Within": {"/dev"}}, residue.Protected},
		{"/run/x.lock", map[string][]string{"Holder": {"nobody"}}, residue.Other},
	}
	for _, tt := range tests {
		_, err := Kind.Open(residue.Spec{Value: tt.path, Options: tt.options}, residue.Deps{})
		e := residue.AsError(err)
		switch {
		case tt.reason == "" && e != nil:
			t.Errorf("%q %v: %v", tt.path, tt.options, err)
		case tt.reason != "" && (e == nil || e.Class != residue.Refused || e.Reason != tt.reason):
			t.Errorf("%q %v: %v, want refused as %s", tt.path, tt.options, err, tt.reason)
		}
	}
}

package unitfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"job-cleanup/pkg/outcome"
)

// tree makes files below a new folder; "-> target" as text is a link, with
// ROOT for that folder. A text
// of "*" is a section that names the file.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(strings.ReplaceAll(target, "ROOT", root), path)
		} else {
			star := "[Service]\nEnvironment=FROM=" + name + "\n"
			if !strings.HasSuffix(name, ".conf") {
				star += "ExecStart=/bin/true\n"
			}
			err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "*", star)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// search looks into etc, run and lib below a tree.
func search(root string) Search {
	return Search{Root: root, Dirs: []string{"/etc", "/run", "/lib"}}
}

func TestLoad(t *testing.T) {
	for _, tt := range layouts {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, tt.files)
			u, err := Load(tt.unit, search(root))
			if err != nil {
				t.Fatal(err)
			}
			if u.Name != tt.id || below(root, u.Fragment)[0] != tt.fragment {
				t.Errorf("unit %q from %q, want %q from %q", u.Name, u.Fragment, tt.id, tt.fragment)
			}
			if got := below(root, u.DropIns...); !slices.Equal(got, tt.dropIns) {
				t.Errorf("drop-ins\n got %q\nwant %q", got, tt.dropIns)
			}
			var want []string // every file that has text says FROM=
			for _, path := range append([]string{u.Fragment}, u.DropIns...) {
				if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
					_, from, _ := strings.Cut(string(text), "Environment=")
					from, _, _ = strings.Cut(from, "\n")
					want = append(want, from)
				}
			}
			if got := u.Values("Service", "Environment"); !slices.Equal(got, want) {
				t.Errorf("values\n got %q\nwant %q", got, want)
			}
		})
	}
}

// below takes the root off paths, and resolves their folders.
func below(root string, paths ...string) []string {
	var out []string
	for _, p := range paths {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			rel = p
		}
		out = append(out, rel)
	}
	return out
}

func TestLoad_errors(t *testing.T) {
	root := tree(t, map[string]string{
		"etc/masked.service": "-> /dev/null", "lib/masked.service": "*", "etc/empty.service": "", "etc/loop1.service": "-> loop2.service",
		"etc/loop2.service": "-> loop1.service", "etc/gone.service": "-> nowhere.service", "etc/only.service.d/1.conf": "*", "secret.service": "*",
	})
	for name, want := range map[string]error{
		"masked.service": ErrMasked, "empty.service": ErrMasked, "loop1.service": ErrNotFound, "gone.service": ErrNotFound,
		"only.service": ErrNotFound, "none.service": ErrNotFound, "none@1.service": ErrNotFound,
	} {
		if u, err := Load(name, search(root)); !errors.Is(err, want) {
			t.Errorf("%s: got %v, %v, want %v", name, u, err, want)
		}
	}
	for _, name := range []string{"../secret.service", "", "a/b.service", "secret", "..", "/etc/passwd"} {
		var e *outcome.UnitNameError
		if u, err := Load(name, search(root)); !errors.As(err, &e) {
			t.Errorf("%q: got %v, %v", name, u, err)
		}
		if u, err := LoadFrom(name, filepath.Join(root, "secret.service"), nil); !errors.As(err, &e) {
			t.Errorf("LoadFrom %q: got %v, %v", name, u, err)
		}
	}
}

// A search path that can't be read must not look like a unit that is not there.
func TestLoad_unknownIsNotAbsent(t *testing.T) {
	root := tree(t, map[string]string{"etc": "not a folder", "lib/a.service": "*"})
	var p Problem
	if u, err := Load("b.service", search(root)); !errors.As(err, &p) || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, %v", u, err)
	}
	u, err := Load("a.service", search(root))
	if err != nil || len(u.Problems) == 0 || u.Problems[0].Line != 0 {
		t.Errorf("a unit that is found all the same: %+v, %v", u, err)
	}
}

func TestLoadFrom(t *testing.T) {
	root := tree(t, map[string]string{
		"a.service": "[Service]\nUser=x\nbad\n", "1.conf": "-> /dev/null", "2.conf": "", "3.conf": "[Service]\nUser=y\nalso bad\n", "4.conf/x": "",
	})
	path := func(name string) string { return filepath.Join(root, name) }
	dropIns := []string{path("1.conf"), path("2.conf"), path("3.conf"), path("4.conf"), path("5.conf")}
	u, err := LoadFrom("a.service", path("a.service"), dropIns)
	if err != nil || u.Last("Service", "User") != "y" || !slices.Equal(u.DropIns, dropIns) {
		t.Fatalf("got %+v, %v", u, err)
	}
	var got []string
	for _, p := range u.Problems {
		got = append(got, fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line))
	}
	if want := []string{"a.service:3", "3.conf:3", "4.conf:0", "5.conf:0"}; !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
	if _, err := LoadFrom("a.service", path("none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no fragment: %v", err)
	}
}

// A folder of the search path may be a link, as /lib is: what points to where
// it leads is an alias too.
func TestLoad_aliasBehindALinkedFolder(t *testing.T) {
	root := tree(t, map[string]string{"usr/a.service": "*", "etc/al.service": "-> ../usr/a.service", "lib": "-> usr"})
	u, err := Load("al.service", search(root))
	if err != nil || u.Name != "a.service" {
		t.Errorf("%+v, %v", u, err)
	}
}

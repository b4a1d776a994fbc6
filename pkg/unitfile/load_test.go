package unitfile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
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

// layouts are trees, and what the manager makes of one unit in them. The test
// below asks systemd itself about the same trees.
var layouts = []struct {
	name, unit string
	files      map[string]string
	id         string // the real name
	fragment   string
	dropIns    []string
}{
	{
		name: "plain", unit: "a.service", id: "a.service", fragment: "etc/a.service",
		files: map[string]string{"etc/a.service": "*", "lib/a.service": "*"},
	}, {
		name: "instance of a template", unit: "a@1.service", id: "a@1.service", fragment: "lib/a@.service",
		files: map[string]string{"lib/a@.service": "*", "etc/a@2.service": "*"},
	}, {
		name: "instance with a file of its own", unit: "a@1.service", id: "a@1.service", fragment: "lib/a@1.service",
		files: map[string]string{"etc/a@.service": "*", "lib/a@1.service": "*"},
	}, {
		name: "drop-ins by file name", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{
			"lib/a.service": "*", "etc/a.service.d/20-x.conf": "*", "lib/a.service.d/10-y.conf": "*", "run/a.service.d/30-z.conf": "*",
			"lib/a.service.d/Z.conf": "*", "lib/a.service.d/no.txt": "*", "lib/a.service.d/.hid.conf": "*", "etc/b.service.d/10.conf": "*",
		},
		dropIns: []string{"lib/a.service.d/10-y.conf", "etc/a.service.d/20-x.conf", "run/a.service.d/30-z.conf", "lib/a.service.d/Z.conf"},
	}, {
		name: "the same name hides", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{
			"lib/a.service": "*", "etc/a.service.d/1.conf": "*", "lib/a.service.d/1.conf": "*", "run/a.service.d/1.conf": "*",
			"run/a.service.d/2.conf": "*", "lib/a.service.d/2.conf": "*",
		},
		dropIns: []string{"etc/a.service.d/1.conf", "run/a.service.d/2.conf"},
	}, {
		name: "masked, empty and dangling ones hide too", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{
			"lib/a.service": "*", "lib/a.service.d/1.conf": "*", "lib/a.service.d/2.conf": "*", "lib/a.service.d/3.conf": "*",
			"etc/a.service.d/1.conf": "-> /dev/null", "etc/a.service.d/2.conf": "", "etc/a.service.d/3.conf": "-> /nonexistent/x",
		},
		dropIns: []string{"etc/a.service.d/1.conf", "etc/a.service.d/2.conf", "etc/a.service.d/3.conf"},
	}, {
		name: "template, prefix and type folders", unit: "a-b@1.service", id: "a-b@1.service", fragment: "lib/a-b@.service",
		files: map[string]string{
			"lib/a-b@.service": "*", "lib/a-b@1.service.d/1.conf": "*", "lib/a-b@.service.d/2.conf": "*", "lib/a-.service.d/3.conf": "*",
			"lib/a-@1.service.d/4.conf": "*", "lib/a-@.service.d/5.conf": "*", "lib/service.d/6.conf": "*", "lib/a-b@2.service.d/7.conf": "*",
			"lib/a-b.service.d/8.conf": "*", "lib/a@1.service.d/9.conf": "*",
		},
		dropIns: []string{
			"lib/a-b@1.service.d/1.conf", "lib/a-b@.service.d/2.conf", "lib/a-.service.d/3.conf",
			"lib/a-@1.service.d/4.conf", "lib/a-@.service.d/5.conf", "lib/service.d/6.conf",
		},
	}, {
		name: "the closest folder of the first directory hides", unit: "a-b@1.service", id: "a-b@1.service", fragment: "etc/a-b@.service",
		files: map[string]string{
			"etc/a-b@.service": "*", "lib/a-b@1.service.d/1.conf": "*", "etc/a-b@.service.d/1.conf": "*", "etc/a-.service.d/1.conf": "*", "etc/service.d/1.conf": "*",
			"lib/a-.service.d/2.conf": "*", "etc/service.d/2.conf": "*", "etc/a-@1.service.d/3.conf": "*", "etc/a-@.service.d/3.conf": "*", "lib/a-b@1.service.d/3.conf": "*",
		},
		dropIns: []string{"etc/a-b@.service.d/1.conf", "lib/a-.service.d/2.conf", "etc/a-@1.service.d/3.conf"},
	}, {
		name: "many dashes", unit: "a--b-c.service", id: "a--b-c.service", fragment: "etc/a--b-c.service",
		files: map[string]string{
			"etc/a--b-c.service": "*", "etc/a--b-.service.d/1.conf": "*", "etc/a--.service.d/2.conf": "*", "etc/a-.service.d/3.conf": "*",
			"etc/a--b.service.d/4.conf": "*", "etc/a.service.d/5.conf": "*", "etc/-.service.d/6.conf": "*",
		},
		dropIns: []string{"etc/a--b-.service.d/1.conf", "etc/a--.service.d/2.conf", "etc/a-.service.d/3.conf"},
	}, {
		name: "alias", unit: "al.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{
			"lib/a.service": "*", "etc/al.service": "-> ../lib/a.service", "etc/al2.service": "-> al.service",
			"etc/al.service.d/1.conf": "*", "etc/a.service.d/2.conf": "*", "etc/al2.service.d/3.conf": "*",
			"etc/al.service.d/4.conf": "*", "lib/a.service.d/4.conf": "*",
		},
		dropIns: []string{"etc/al.service.d/1.conf", "etc/a.service.d/2.conf", "etc/al2.service.d/3.conf", "lib/a.service.d/4.conf"},
	}, {
		name: "asked by the real name", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files:   map[string]string{"lib/a.service": "*", "lib/al.service": "-> a.service", "etc/al.service.d/1.conf": "*"},
		dropIns: []string{"etc/al.service.d/1.conf"},
	}, {
		name: "alias of a template", unit: "al@1.service", id: "a@1.service", fragment: "lib/a@.service",
		files: map[string]string{
			"lib/a@.service": "*", "lib/al@.service": "-> a@.service", "etc/al@.service.d/1.conf": "*", "etc/al@1.service.d/2.conf": "*",
			"etc/a@1.service.d/3.conf": "*", "etc/al@2.service.d/4.conf": "*",
		},
		dropIns: []string{"etc/al@.service.d/1.conf", "etc/al@1.service.d/2.conf", "etc/a@1.service.d/3.conf"},
	}, {
		name: "alias of one instance", unit: "al@1.service", id: "a@1.service", fragment: "lib/a@.service",
		files: map[string]string{
			"lib/a@.service": "*", "etc/al@1.service": "-> ../lib/a@.service", "etc/al@1.service.d/1.conf": "*", "etc/a@1.service.d/2.conf": "*",
		},
		dropIns: []string{"etc/al@1.service.d/1.conf", "etc/a@1.service.d/2.conf"},
	}, {
		name: "another instance of it", unit: "a@2.service", id: "a@2.service", fragment: "lib/a@.service",
		files: map[string]string{"lib/a@.service": "*", "etc/al@1.service": "-> ../lib/a@.service", "etc/al@2.service.d/1.conf": "*"},
	}, {
		name: "linked from elsewhere", unit: "a.service", id: "a.service", fragment: "etc/a.service",
		files:   map[string]string{"opt/other.service": "*", "etc/a.service": "-> ../opt/other.service", "etc/other.service.d/1.conf": "*", "etc/a.service.d/2.conf": "*"},
		dropIns: []string{"etc/a.service.d/2.conf"},
	}, {
		name: "alias of another type is none", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{"lib/a.service": "*", "lib/b.timer": "-> a.service", "etc/b.timer.d/1.conf": "*"},
	}, {
		name: "folder of drop-ins is a link", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files:   map[string]string{"lib/a.service": "*", "opt/d/1.conf": "*", "etc/a.service.d": "-> ROOT/opt/d"},
		dropIns: []string{"etc/a.service.d/1.conf"},
	},
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

// systemd-analyze merges a unit without a running manager and shows the paths
// in its debug output, so systemd itself checks the table.
func TestLoad_asSystemdDoes(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, tt := range layouts {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, tt.files)
			if err := errors.Join(os.MkdirAll(filepath.Join(root, "lib"), 0o755), os.MkdirAll(filepath.Join(root, "etc"), 0o755)); err != nil {
				t.Fatal(err)
			}
			for _, target := range []string{"sysinit", "basic", "shutdown"} {
				if err := os.WriteFile(filepath.Join(root, "lib", target+".target"), []byte("[Unit]\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			// verify puts the folder of what it is given first in the search
			// path, which here it is already.
			ask := filepath.Join(root, "etc", tt.unit)
			cmd := exec.CommandContext(t.Context(), tool, "verify", ask)
			cmd.Env = append(os.Environ(), "SYSTEMD_LOG_LEVEL=debug", "SYSTEMD_LOG_TARGET=console",
				"SYSTEMD_UNIT_PATH="+strings.Join(search(root).dirs(), ":"))
			out, _ := cmd.CombinedOutput() // its status is about all that verify has an opinion on
			id, fragment, dropIns := dumped(string(out), tt.unit)
			if id == "" {
				t.Skipf("systemd-analyze shows no unit in: %.2000s", out)
			}
			if id != tt.id || below(root, fragment)[0] != tt.fragment {
				t.Errorf("systemd reads %q from %q", id, fragment)
			}
			for i, p := range dropIns { // it resolves the folders
				dropIns[i] = strings.Replace(p, "/opt/d/", "/etc/a.service.d/", 1)
			}
			if got := below(root, dropIns...); !slices.Equal(got, tt.dropIns) {
				t.Errorf("systemd's drop-ins\n got %q\nwant %q", got, tt.dropIns)
			}
		})
	}
}

// dumped finds a unit in the debug output, by its name or an alias.
func dumped(out, name string) (id, fragment string, dropIns []string) {
	for unit := range strings.SplitSeq(out, "-> Unit ") {
		head, _, _ := strings.Cut(unit, ":\n")
		if head != name && !strings.Contains(unit, "\tAlias: "+name+"\n") {
			continue
		}
		id, dropIns = head, nil
		for line := range strings.SplitSeq(unit, "\n") {
			line = strings.TrimSpace(line)
			if p, ok := strings.CutPrefix(line, "Fragment Path: "); ok {
				fragment = p
			}
			if p, ok := strings.CutPrefix(line, "DropIn Path: "); ok {
				dropIns = append(dropIns, p)
			}
		}
		return id, fragment, dropIns
	}
	return "", "", nil
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

func TestValues(t *testing.T) {
	parse := func(text string) *Unit {
		sections, _ := Parse("f", []byte(text))
		return &Unit{Sections: sections}
	}
	u := parse("[S]\nk=1\nk=2\nl=a\n[T]\nk=x\n[S]\nk=\nk=3\n[S]\nk=4\nl=\n")
	if got := u.Values("S", "k"); !reflect.DeepEqual(got, []string{"3", "4"}) {
		t.Errorf("k: %q", got)
	}
	if got := u.Last("S", "k"); got != "4" {
		t.Errorf("last k: %q", got)
	}
	if got := u.Last("S", "l"); got != "" || u.Values("S", "l") != nil {
		t.Errorf("reset l: %q", got)
	}
	if got := u.Last("T", "l"); got != "" {
		t.Errorf("unset: %q", got)
	}
}

func TestCleanup(t *testing.T) {
	const fragment = "[Unit]\nReset=yes\n[X-Cleanup]\nTimeoutSec=9\n[X-Cleanup.Path]\nRemove=/tmp/a\n[X-CleanupOther]\nk=v\n[x-cleanup.vault]\nRevoke=self\n"
	tests := []struct {
		name, dropIn string
		want         []string
	}{
		{"kept", "[X-Cleanup.Path]\nRemove=/tmp/b\n", []string{"[X-Cleanup]", "TimeoutSec=9", "[X-Cleanup.Path]", "Remove=/tmp/a", "[x-cleanup.vault]", "Revoke=self", "[X-Cleanup.Path]", "Remove=/tmp/b"}},
		{"reset", "[X-Cleanup.Path]\nRemove=/tmp/b\n[X-CLEANUP]\nreset=yes\nTimeoutSec=1\n[X-Cleanup.Path]\nRemove=/tmp/c\n", []string{"[X-CLEANUP]", "TimeoutSec=1", "[X-Cleanup.Path]", "Remove=/tmp/c"}},
		{"reset=no", "[X-Cleanup]\nReset=no\n", []string{"[X-Cleanup]", "TimeoutSec=9", "[X-Cleanup.Path]", "Remove=/tmp/a", "[x-cleanup.vault]", "Revoke=self", "[X-Cleanup]"}},
		{"reset by nobody knows what", "[X-Cleanup]\nReset=perhaps\n", []string{"[X-Cleanup]", "TimeoutSec=9", "[X-Cleanup.Path]", "Remove=/tmp/a", "[x-cleanup.vault]", "Revoke=self", "[X-Cleanup]", "Reset=perhaps"}},
		{"reset in a kind is no reset", "[X-Cleanup.Path]\nReset=yes\n", []string{"[X-Cleanup]", "TimeoutSec=9", "[X-Cleanup.Path]", "Remove=/tmp/a", "[x-cleanup.vault]", "Revoke=self", "[X-Cleanup.Path]", "Reset=yes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, map[string]string{"etc/a.service": fragment, "etc/a.service.d/1.conf": tt.dropIn})
			u, err := Load("a.service", search(root))
			if err != nil {
				t.Fatal(err)
			}
			if got := unplaced(u.Cleanup()); !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
			if again := unplaced(u.Cleanup()); !slices.Equal(again, tt.want) {
				t.Errorf("asked twice, the second time %q", again)
			}
		})
	}
}

func TestSearchPaths(t *testing.T) {
	system := SystemSearch().Dirs
	if i, j := slices.Index(system, "/etc/systemd/system"), slices.Index(system, "/usr/lib/systemd/system"); i < 0 || j < i {
		t.Errorf("system: %q", system)
	}
	user := UserSearch("/c", "", "relative").Dirs
	if user[0] != "/c/systemd/user.control" || slices.ContainsFunc(user, func(d string) bool { return !filepath.IsAbs(d) }) {
		t.Errorf("user: %q", user)
	}
}

func TestSearchPaths_asSystemdDoes(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	ask := func(scope string) []string {
		cmd := exec.CommandContext(t.Context(), tool, "unit-paths", scope)
		cmd.Env = []string{"HOME=/h", "XDG_CONFIG_HOME=/c", "XDG_DATA_HOME=/d", "XDG_RUNTIME_DIR=/r"}
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("systemd-analyze unit-paths %s: %v", scope, err)
		}
		return strings.Fields(string(out))
	}
	for scope, ours := range map[string][]string{"--system": SystemSearch().Dirs, "--user": UserSearch("/c", "/d", "/r").Dirs} {
		if theirs := ask(scope); !slices.Equal(theirs, ours) {
			t.Errorf("%s\n systemd %q\n    ours %q", scope, theirs, ours)
		}
	}
}

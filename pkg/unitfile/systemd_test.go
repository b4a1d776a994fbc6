package unitfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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

package packages_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

// TestContents: both packages hold what `make install` installs, no more and no
// less; zsh has its completions elsewhere on Debian.
func TestContents(t *testing.T) {
	needPackages(t)
	want := tree(t, newer)
	slices.Sort(want)
	if len(want) < 15 {
		t.Fatalf("make install made only %q", want)
	}
	lists := map[string]string{
		"deb": output(t, "dpkg-deb", "--fsys-tarfile", find(t, newer, ".deb")),
		"rpm": output(t, "rpm", "-qpl", find(t, newer, ".rpm")),
	}
	for family, list := range lists {
		got := strings.Split(strings.ReplaceAll(list, "vendor-completions", "site-functions"), "\n")
		got = slices.DeleteFunc(got, func(path string) bool { return path == "" || strings.HasSuffix(path, "/") })
		for i, path := range got {
			got[i] = strings.TrimPrefix(path, ".")
		}
		slices.Sort(got)
		if missing := added(got, want); len(missing) > 0 {
			t.Errorf("%s has no %q", family, missing)
		}
		if more := added(want, got); len(folders(more)) < len(more) {
			t.Errorf("%s has more: %q", family, more)
		}
	}
}

// folders are those of the paths that a package may name as its own folders.
func folders(paths []string) []string {
	own := []string{"/usr/share/doc/job-cleanup", "/usr/share/doc/job-cleanup/examples"}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !slices.Contains(own, path) })
}

// output is what a command printed; of a tar file, the names in it.
func output(t *testing.T, command ...string) string {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skipf("needs %s", command[0])
	}
	script := `"$@"`
	if command[0] == "dpkg-deb" {
		script += " | tar -t"
	}
	out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, command...)...).Output()
	if err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	return string(out)
}

// TestRpm_scripts: what rpm would call, in its order, on a machine with systemd.
func TestRpm_scripts(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		for name, text := range rpmScripts(t) {
			m.Write("/srv/"+name, 0o755, text)
		}
		m.Shell("cp -a /srv/packages/" + newer + "/root/usr /; /srv/post 1")
		wantState(t, m, timer, "enabled", "active")
		wantStory(t, m)
		m.Shell("systemctl disable -q --now " + timer + "; /srv/post 2; /srv/preun 1; /srv/postun 1")
		wantState(t, m, timer, "disabled", "inactive")
		m.Shell("/srv/preun 0; cd /srv/packages/" + newer + "/root && find . -not -type d -printf '/%P\\n' | xargs rm; /srv/postun 0")
		wantRemoved(t, m)
		if m.Exists("/var/lib/job-cleanup") || m.Exists("/etc/systemd/system/timers.target.wants/"+timer) {
			t.Error("something is left")
		}
	})
}

// rpmScripts are the scripts in the package, by rpm's names for them.
func rpmScripts(t *testing.T) map[string]string {
	t.Helper()
	scripts := map[string]string{}
	for name, tag := range map[string]string{"post": "POSTIN", "preun": "PREUN", "postun": "POSTUN"} {
		scripts[name] = output(t, "rpm", "-qp", "--qf", "%{"+tag+"}", find(t, newer, ".rpm"))
	}
	return scripts
}

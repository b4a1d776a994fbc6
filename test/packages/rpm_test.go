package packages_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

// TestDigests: rpm finds the package whole, and without a name of the machine
// that made it.
func TestDigests(t *testing.T) {
	needPackages(t)
	if got := output(t, "rpm", "-K", find(t, newer, ".rpm")); !strings.Contains(got, "digests OK") {
		t.Errorf("rpm -K: %s", got)
	}
	if got := output(t, "rpm", "-qp", "--qf", "%{BUILDHOST} %{VERSION}", find(t, newer, ".rpm")); got != "localhost "+newer {
		t.Errorf("built on, and version: %s", got)
	}
}

// TestContents: both packages hold what `make install` installs, no more and no
// less; zsh has its completions elsewhere on Debian.
func TestContents(t *testing.T) {
	needPackages(t)
	want := tree(t, newer)
	if len(want) < 15 {
		t.Fatalf("make install made only %q", want)
	}
	lists := map[string]string{
		"deb": output(t, "dpkg-deb", "--fsys-tarfile", find(t, newer, ".deb")),
		"rpm": output(t, "rpm", "-qp", "--qf", `[%{FILENAMES}/%{FILEMODES:perms}\n]`, find(t, newer, ".rpm")),
	}
	for family, list := range lists {
		got := filesOf(list)
		if missing := added(got, want); len(missing) > 0 {
			t.Errorf("%s has no %q", family, missing)
		}
		if more := added(want, got); len(more) > 0 {
			t.Errorf("%s has more: %q", family, more)
		}
	}
}

// perms is what rpm was told to write behind a name.
var perms = regexp.MustCompile(`/[dl-][rwxst-]{9}$`)

// filesOf are the paths of a list as tar or rpm has written it, without folders.
func filesOf(list string) []string {
	var files []string
	for _, line := range strings.Fields(strings.ReplaceAll(list, "vendor-completions", "site-functions")) {
		mode := perms.FindString(line)
		if path := strings.TrimSuffix(line, mode); !strings.HasPrefix(mode, "/d") && !strings.HasSuffix(path, "/") {
			files = append(files, strings.TrimPrefix(path, "."))
		}
	}
	return files
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

// TestRpm follows one machine from the first install to the removal.
func TestRpm(t *testing.T) {
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("needs rpm")
	}
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		// As on Fedora: all is off that no preset turns on.
		m.Write("/usr/lib/systemd/system-preset/99-default-disable.preset", 0o644, "disable *\n")
		before := files(m)
		rpm(t, m, "-i", "--nodeps", packageOf(t, older, ".rpm"))
		wantInstalled(t, m, rpm(t, m, "-ql", "job-cleanup"))
		wantStory(t, m)

		m.Shell("systemctl disable -q " + boot)
		owe(t, m)
		rpm(t, m, "-U", "--nodeps", packageOf(t, newer, ".rpm"))
		wantVersion(t, m, newer)
		wantState(t, m, timer, "enabled", "active")
		wantState(t, m, boot, "disabled", "inactive")
		pay(t, m)

		m.Shell("systemctl disable -q --now " + timer)
		rpm(t, m, "-U", "--nodeps", "--replacepkgs", packageOf(t, newer, ".rpm"))
		wantState(t, m, timer, "disabled", "inactive")

		owe(t, m)
		if said := rpm(t, m, "-e", "--nodeps", "job-cleanup"); !strings.Contains(said, "still owe") {
			t.Errorf("the removal says nothing of the debt: %s", said)
		}
		wantRemoved(t, m)
		wantLedger(t, m)

		rpm(t, m, "-i", "--nodeps", packageOf(t, newer, ".rpm"))
		pay(t, m)
		rpm(t, m, "-e", "--nodeps", "job-cleanup")
		wantRemoved(t, m)
		wantNoTrace(t, m, before)
	}, rig.Bind("/usr", host))
}

// host is where a machine sees this host's programs.
const host = "/srv/host"

// rpm runs this host's rpm on the machine's files: with its own libraries, since
// a Debian machine has none of them.
func rpm(t *testing.T, m *rig.Machine, args ...string) string {
	t.Helper()
	const script = `export RPM_CONFIGDIR=$0/lib/rpm
for loader in $0/lib/*-linux-gnu*/ld-linux*; do :; done
exec $loader --library-path "${loader%/*}" $0/bin/rpm "$@"`
	r := m.Run(append([]string{"sh", "-ec", script, host}, args...)...)
	if r.Code != 0 || strings.Contains(r.Stderr, "scriptlet failed") {
		t.Fatalf("rpm %q: %v", args, r)
	}
	return r.Stdout + r.Stderr
}

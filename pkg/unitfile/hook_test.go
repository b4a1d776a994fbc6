package unitfile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHooks(t *testing.T) {
	tests := []struct{ line, want string }{
		{"ExecStartPre=-+/usr/bin/job-cleanup arm", "ExecStartPre prefix=-+ verb=arm"},
		{"ExecStopPost=-/usr/bin/job-cleanup run", "ExecStopPost prefix=- verb=run"},
		{"ExecStopPost=/usr/bin/job-cleanup", "ExecStopPost prefix= verb=run"},
		{"ExecStopPost=:!/opt/job-cleanup --strict --timeout 9 run %n", "ExecStopPost prefix=:! verb=run"},
		{"ExecStopPost=-/bin/sh -c '/usr/bin/job-cleanup run --strict'", "ExecStopPost prefix=- verb=run indirect"},
		{"ExecStopPost=/usr/bin/timeout 5 /usr/bin/job-cleanup sweep", "ExecStopPost prefix= verb=sweep indirect"},
		{"ExecStopPost=@/usr/bin/job-cleanup cleanup run", "ExecStopPost prefix=@ verb=run"},
		{"ExecStopPost=/usr/bin/job-cleanup-extra run", ""},
		{"ExecStopPost=/bin/rm -rf /var/tmp/x", ""},
		{"ExecStart=/usr/bin/job-cleanup run", ""},
		{"ExecStopPost=-/usr/bin/job-cleanup run\nExecStopPost=", ""},
		{"ExecStopPost=-", ""},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			var got []string
			for _, h := range Hooks(service(tt.line)) {
				text := fmt.Sprintf("%s prefix=%s verb=%s", h.Key, h.Prefix, h.Verb)
				if h.Indirect {
					text += " indirect"
				}
				if h.Line != 2 || h.File == "" {
					t.Errorf("no place: %+v", h)
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWiringDropIn(t *testing.T) {
	const (
		binary = "/usr/bin/job-cleanup"
		arm    = "ExecStartPre=-+/usr/bin/job-cleanup arm"
		run    = "ExecStopPost=-/usr/bin/job-cleanup run"
		write  = "ReadWritePaths=-/var/lib/job-cleanup -/run/job-cleanup"
	)
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"nothing before", nil, []string{arm, run}},
		{"own preparations", []string{"ExecStartPre=/bin/mkdir -p /var/tmp/x", "ExecStartPre=-!/bin/y \"a b\" %i"},
			[]string{"ExecStartPre=", arm, "ExecStartPre=/bin/mkdir -p /var/tmp/x", "ExecStartPre=-!/bin/y \"a b\" %i", run}},
		{"own ones that were dropped", []string{"ExecStartPre=/bin/a", "ExecStartPre=", "ExecStartPre=/bin/b"}, []string{"ExecStartPre=", arm, "ExecStartPre=/bin/b", run}},
		{"over several lines", []string{"ExecStartPre=/bin/a \\", "  b"}, []string{"ExecStartPre=", arm, "ExecStartPre=/bin/a    b", run}},
		{"backslash at the end", []string{"ExecStartPre=/bin/a \\ ", "ExecStartPre=/bin/b"}, []string{"ExecStartPre=", arm, "ExecStartPre=/bin/a \\ ", "ExecStartPre=/bin/b", run}},
		{"armed", []string{"ExecStartPre=-+/opt/job-cleanup arm"}, []string{run}},
		{"runs", []string{"ExecStopPost=-/opt/job-cleanup"}, []string{arm}},
		{"own stop line", []string{"ExecStopPost=/bin/true"}, []string{arm, run}},
		{"strict policy", []string{"[X-Cleanup]", "ExitPolicy=strict"}, []string{arm, "ExecStopPost=/usr/bin/job-cleanup run"}},
		{"policy taken back", []string{"[X-Cleanup]", "ExitPolicy=strict", "ExitPolicy=lenient"}, []string{arm, run}},
		{"strict", []string{"ProtectSystem=strict"}, []string{arm, run, write}},
		{"full", []string{"ProtectSystem=full"}, []string{arm, run}},
		{"dynamic", []string{"DynamicUser=yes"}, []string{arm, run, write}},
		{"dynamic, less protected", []string{"DynamicUser=yes", "ProtectSystem=yes"}, []string{arm, run}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := WiringDropIn(service(tt.lines...), binary)
			if err != nil {
				t.Fatal(err)
			}
			if want := "[Service]\n" + strings.Join(tt.want, "\n") + "\n"; text != want {
				t.Errorf("got\n%swant\n%s", text, want)
			}
		})
	}
}

func TestWiringDropIn_refused(t *testing.T) {
	wired := service("ExecStartPre=-+/x/job-cleanup arm", "ExecStopPost=-/x/job-cleanup run")
	if text, err := WiringDropIn(wired, "/x/job-cleanup"); !errors.Is(err, ErrWired) {
		t.Errorf("wired: %q, %v", text, err)
	}
	timer := &Unit{Name: "a.timer"}
	later := &Unit{Name: "a.service", DropIns: []string{"/etc/a.service.d/zzz.conf"}}
	unknown := &Unit{Name: "a.service", Problems: []Problem{{File: "/etc/a.service.d/1.conf", Text: "can't be read"}}}
	for _, u := range []*Unit{timer, later, unknown, {Name: "../x.service"}} {
		if text, err := WiringDropIn(u, "/usr/bin/job-cleanup"); err == nil {
			t.Errorf("%+v: %q", u, text)
		}
	}
	for _, binary := range []string{"", "job-cleanup", "/a b/job-cleanup", "/a%n/job-cleanup", "/$X/job-cleanup", "/x\nExecStart=/bin/sh"} {
		if text, err := WiringDropIn(service(), binary); err == nil {
			t.Errorf("%q: %q", binary, text)
		}
	}
}

// The unit that the drop-in makes has arm first, its own lines once and in
// order, and is made the same way again.
func TestCase43_ownPreparationsAndWiring(t *testing.T) {
	root := tree(t, map[string]string{
		"lib/a.service":           "[Service]\nExecStartPre=/bin/mkdir -p /var/tmp/a\nExecStart=/bin/true\n",
		"etc/a.service.d/50.conf": "[Service]\nExecStartPre=/bin/echo x\nExecStartPre=/bin/echo y\n",
	})
	want := []string{"-+/usr/bin/job-cleanup arm", "/bin/mkdir -p /var/tmp/a", "/bin/echo x", "/bin/echo y"}
	for pass := range 2 {
		u, err := Load("a.service", search(root))
		if err != nil {
			t.Fatal(err)
		}
		text, err := WiringDropIn(u, "/usr/bin/job-cleanup")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "etc/a.service.d", WiringName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if u, err = Load("a.service", search(root)); err != nil {
			t.Fatal(err)
		}
		if got := u.Values("Service", "ExecStartPre"); !slices.Equal(got, want) {
			t.Errorf("pass %d\n got %q\nwant %q", pass, got, want)
		}
		if hooks := Hooks(u); len(hooks) != 2 || hooks[0].Verb != "arm" || hooks[1].Verb != "run" {
			t.Errorf("pass %d: hooks %+v", pass, hooks)
		}
	}
	systemdAccepts(t, root)
}

// systemdAccepts asks systemd whether a.service of a tree is without fault.
func systemdAccepts(t *testing.T, root string) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, target := range []string{"sysinit", "basic", "shutdown"} {
		if err := os.WriteFile(filepath.Join(root, "lib", target+".target"), []byte("[Unit]\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), tool, "verify", filepath.Join(root, "lib/a.service"))
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+strings.Join(search(root).dirs(), ":"))
	out, _ := cmd.CombinedOutput()
	for line := range strings.SplitSeq(string(out), "\n") {
		if strings.Contains(line, WiringName) && !strings.Contains(line, "not executable") {
			t.Errorf("systemd: %s", line)
		}
	}
}

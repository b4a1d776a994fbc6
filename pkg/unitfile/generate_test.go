package unitfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const planned = "[Service]\nExecStart=/bin/true\n\n[X-Cleanup.Path]\nRemove=/var/tmp/%N\n"

// generated runs Generate over a tree and returns the files below its folder.
func generated(t *testing.T, root string) (files []string, errs []error) {
	t.Helper()
	out := filepath.Join(root, "out")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	wired, errs := Generate(search(root), out, "/usr/bin/job-cleanup")
	err := filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, below(out, path)[0])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wired {
		if !slices.Contains(files, below(out, w.File)[0]) || !strings.Contains(w.File, w.Unit) {
			t.Errorf("told of %+v, written are %q", w, files)
		}
	}
	return files, errs
}

func TestGenerate(t *testing.T) {
	hook := "[Service]\nExecStopPost=-/usr/bin/job-cleanup run\n"
	sections := "[X-Cleanup.Path]\nRemove=/var/tmp/%N\n"
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a plan", map[string]string{"lib/a.service": planned}, []string{"a.service"}},
		{"no plan", map[string]string{"lib/a.service": "[Service]\n# [X-Clean\nExecStart=/bin/true\n"}, nil},
		{"only a comment", map[string]string{"lib/a.service": "[Service]\n# [X-Cleanup.Path]\nExecStart=/bin/true\n"}, nil},
		{"any case", map[string]string{"lib/a.service": strings.ReplaceAll(planned, "X-Cleanup", "x-CLEANUP")}, []string{"a.service"}},
		{"own hook", map[string]string{"lib/a.service": hook + sections}, nil},
		{"own hook in a drop-in", map[string]string{"lib/a.service": planned, "etc/a.service.d/1.conf": hook}, nil},
		{"by hand", map[string]string{"lib/a.service": planned, "etc/a.service.d/" + WiringName: hook}, nil},
		{"plan in a drop-in", map[string]string{"lib/a.service": "*", "etc/a.service.d/1.conf": sections}, []string{"a.service"}},
		{"hidden by an administrator's", map[string]string{"lib/a.service": planned, "etc/a.service": "*"}, nil},
		{"masked", map[string]string{"lib/a.service": planned, "etc/a.service": "-> /dev/null"}, nil},
		{"taken back", map[string]string{"lib/a.service": planned, "etc/a.service.d/1.conf": "[X-Cleanup]\nReset=yes\n"}, []string{"a.service"}},
		{"a template", map[string]string{"lib/a@.service": planned}, []string{"a@.service"}},
		{"an instance of one", map[string]string{"lib/a@.service": "*", "etc/a@1.service.d/1.conf": sections}, []string{"a@1.service"}},
		{"an alias", map[string]string{"lib/a.service": planned, "etc/b.service": "-> ../lib/a.service"}, []string{"a.service"}},
		{"an alias's drop-in", map[string]string{"lib/a.service": "*", "etc/b.service": "-> ../lib/a.service", "etc/b.service.d/1.conf": sections}, []string{"a.service"}},
		{"a prefix", map[string]string{"lib/a-b.service": "*", "lib/a-c.service": "*", "lib/b.service": "*", "etc/a-.service.d/1.conf": sections}, []string{"a-b.service", "a-c.service"}},
		{"all services", map[string]string{"lib/a.service": "*", "lib/b@.service": "*", "lib/c.timer": "*", "etc/service.d/1.conf": sections}, []string{"a.service", "b@.service"}},
		{"no unit for it", map[string]string{"lib/b.service": "*", "etc/a.service.d/1.conf": sections}, nil},
		{"a timer", map[string]string{"lib/a.timer": sections}, nil},
		{"far down", map[string]string{"lib/a.service": "[Service]\nExecStart=/bin/true\n" + strings.Repeat("# \n", 30_000) + sections}, []string{"a.service"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, errs := generated(t, tree(t, tt.files))
			var want []string
			for _, unit := range tt.want {
				want = append(want, unit+".d/"+WiringName)
			}
			if len(errs) > 0 || !slices.Equal(got, want) {
				t.Errorf("got %q, %v, want %q", got, errs, want)
			}
		})
	}
}

// The word may lie across two reads of a file, wherever that is.
func TestFileMentions_acrossReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.service")
	for before := range 40 {
		if err := os.WriteFile(path, []byte(strings.Repeat("#", before)+mention+"]\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		in := scanner{buffer: make([]byte, 16)}
		if !in.fileMentions(-100, path) {
			t.Errorf("not found behind %d bytes", before)
		}
	}
}

// What is in the way of one unit is told, and the others get their hooks; a
// special file is not waited for.
func TestGenerate_errors(t *testing.T) {
	root := tree(t, map[string]string{
		"lib/a.service": planned, "lib/b.service": planned, "etc/b.service.d/zzz.conf": "[Service]\nUser=x\n", "lib/c.service": planned,
		"out/c.service.d/" + WiringName + "/x": "", "etc/loop.service": "-> loop.service",
	})
	if err := syscall.Mkfifo(filepath.Join(root, "lib/fifo.service"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, errs := generated(t, root)
	if !slices.Contains(files, "a.service.d/"+WiringName) || len(errs) != 2 {
		t.Fatalf("got %q, %v", files, errs)
	}
	for i, unit := range []string{`"b.service"`, `"c.service"`} {
		if !strings.Contains(errs[i].Error(), unit) {
			t.Errorf("error %d does not name %s: %v", i, unit, errs[i])
		}
	}
	if _, errs := Generate(search(root), filepath.Join(root, "nowhere"), "/usr/bin/job-cleanup"); len(errs) != 1 {
		t.Errorf("no folder to write to: %v", errs)
	}
}

// A link in the generator's folder leads nowhere outside of it.
func TestGenerate_staysInside(t *testing.T) {
	root := tree(t, map[string]string{"lib/a.service": planned, "elsewhere/kept": "", "out/kept": ""})
	if err := os.Symlink(filepath.Join(root, "elsewhere"), filepath.Join(root, "out/a.service.d")); err != nil {
		t.Fatal(err)
	}
	_, errs := generated(t, root)
	if entries, _ := os.ReadDir(filepath.Join(root, "elsewhere")); len(errs) != 1 || len(entries) != 1 {
		t.Errorf("elsewhere are %v, errors %v", entries, errs)
	}
}

func TestTemplate_Service(t *testing.T) {
	step := Section{Name: "X-Cleanup.Path", Entries: []Entry{{Key: "Remove", Value: "/var/tmp/%N"}}}
	private := Section{Name: "X-Cleanup.Path", Entries: []Entry{{Key: "Remove", Value: "%S/%N/work"}}}
	for i, tt := range []struct {
		template Template
		has, not string
	}{
		{Template{Steps: []Section{private}}, "PrivateTmp=yes", "ReadWritePaths=/"},
		{Template{Steps: []Section{step, private}}, "ReadWritePaths=/var/tmp\n", "PrivateTmp"},
		{Template{User: "worker"}, "User=worker\nCapabilityBoundingSet=\n", "CAP_"},
		{Template{}, "CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_FOWNER\n", "User="},
	} {
		tt.template.Name, tt.template.Binary, tt.template.Exec = "a.service", "/usr/bin/job-cleanup", "/bin/true"
		text, err := tt.template.Service()
		if err != nil || !strings.Contains(text, tt.has) || strings.Contains(text, tt.not) {
			t.Errorf("%d: %v\n%s", i, err, text)
		}
		u := &Unit{Name: "a.service", Fragment: "a.service"}
		u.Sections, u.Problems = Parse("a.service", []byte(text))
		if found := Check(Facts{Unit: u}); len(found) > 0 || len(u.Problems) > 0 || len(Hooks(u)) != 2 || len(u.Cleanup()) != len(tt.template.Steps) {
			t.Errorf("%d: %+v, %v, %v", i, found, u.Problems, u.Cleanup())
		}
	}
}

func TestTemplate_refused(t *testing.T) {
	good := Template{Name: "a.service", Binary: "/usr/bin/job-cleanup", Exec: "/bin/true"}
	for i, spoil := range []func(*Template){
		func(t *Template) { t.Name = "../a.service" },
		func(t *Template) { t.Name = "a.timer" },
		func(t *Template) { t.Exec = "" },
		func(t *Template) { t.Exec = "/bin/true\nUser=root" },
		func(t *Template) { t.Exec = `/bin/true \` },
		func(t *Template) { t.Binary = "job-cleanup" },
		func(t *Template) {
			t.Steps = []Section{{Name: "X-Cleanup.Path", Entries: []Entry{{Key: "Remove", Value: "/a\n[Service]"}}}}
		},
	} {
		bad := good
		spoil(&bad)
		if text, err := bad.Service(); err == nil {
			t.Errorf("%d: no error, but\n%s", i, text)
		}
	}
	for _, args := range [][2]string{{"a.timer", "daily"}, {"a.service", ""}, {"a/b.service", "daily"}, {"a.service", "daily\nUnit=b"}} {
		if text, err := Timer(args[0], args[1]); err == nil {
			t.Errorf("%q: %s", args, text)
		}
	}
	if text, err := Timer("a@.service", "daily"); err != nil || !strings.Contains(text, "OnCalendar=daily\n") {
		t.Error(fmt.Sprint(text, err))
	}
}

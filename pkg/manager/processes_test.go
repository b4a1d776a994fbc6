package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// group makes a control group with processes below a folder.
func group(t *testing.T, path string, pids ...int) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(pids), " ", "\n"), "[]")
	if err := os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestProcesses(t *testing.T) {
	top := t.TempDir()
	one, two := top+"/one", top+"/two"
	group(t, one+"/a.service", 11, 12)
	group(t, two+"/a.service", 31, 0, 7)
	group(t, two+"/a.service/.control", 32)
	group(t, two+"/a.service/deep/er", 33, 31)
	group(t, two+"/b.service", 41)
	roots := []string{top + "/none", one, two}
	for _, tt := range []struct {
		group  string
		member int
		want   []int
	}{
		{"/a.service", 12, []int{11, 12}},
		{"/a.service", 32, []int{7, 31, 32, 33}},
		{"/a.service", 41, nil},
		{"/none.service", 11, nil},
		{"/b.service", 0, nil},
	} {
		if got := Processes(roots, tt.group, tt.member); !slices.Equal(got, tt.want) {
			t.Errorf("%s with %d: %v, want %v", tt.group, tt.member, got, tt.want)
		}
	}
}

// TestProcessesOfManyGroups: a job that may make groups can't keep its hook busy
// with them.
func TestProcessesOfManyGroups(t *testing.T) {
	top := t.TempDir()
	group(t, top+"/a", 1)
	for i := range 2 * mostGroups {
		if err := os.Mkdir(fmt.Sprintf("%s/a/%d", top, i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	many := make([]int, 2*mostProcesses)
	for i := range many {
		many[i] = i + 1
	}
	group(t, top+"/a", many...)
	if got := Processes([]string{top}, "/a", 1); len(got) != mostProcesses {
		t.Errorf("%d processes", len(got))
	}
	if got := groupsIn(top+"/a", 10); len(got) != 10 {
		t.Errorf("%d groups", len(got))
	}
}

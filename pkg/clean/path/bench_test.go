package path

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// purgeTree marks a test binary that runs again to remove one tree and tell
// its own peak memory.
const purgeTree = "JOB_CLEANUP_BENCH_PURGE"

// BenchmarkPurge removes equal trees with our walk and with rm -rf by turns,
// and reports the ratio of the medians ("x-rm", more is better) for a tmpfs
// and for the file system of TMPDIR.
func BenchmarkPurge(b *testing.B) {
	for _, fs := range benchFolders(b) {
		for _, shape := range []struct {
			name           string
			folders, files int
		}{{"1000x100", 1000, 100}, {"flat100000", 1, 100_000}} {
			b.Run(fs.name+"/"+shape.name, func(b *testing.B) {
				for range b.N {
					compare2(b, fs.path, shape.folders, shape.files)
				}
			})
		}
	}
}

func compare2(b *testing.B, top string, folders, files int) {
	dir := filepath.Join(top, "job")
	var ours, theirs []time.Duration
	for range 5 {
		plant(b, dir, folders, files)
		ours = append(ours, timed(func() { purge(b, dir) }))
		plant(b, dir, folders, files)
		theirs = append(theirs, timed(func() {
			if err := exec.Command("rm", "-rf", dir).Run(); err != nil {
				b.Fatal(err)
			}
		}))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	b.ReportMetric(float64(ours[2].Microseconds())/1000, "ours-ms")
	b.ReportMetric(float64(theirs[2].Microseconds())/1000, "rm-ms")
	b.ReportMetric(float64(theirs[2])/float64(ours[2]), "x-rm")
}

// BenchmarkPurgeMemory reports the peak resident memory of a process that
// removes a million entries, in MiB.
func BenchmarkPurgeMemory(b *testing.B) {
	if dir := os.Getenv(purgeTree); dir != "" {
		purge(b, dir)
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "VmHWM:") {
				fmt.Println("peak", strings.Fields(line)[1])
			}
		}
		os.Exit(0)
	}
	fs := benchFolders(b)[0]
	for _, shape := range []struct {
		name           string
		folders, files int
	}{{"flat", 1, 1_000_000}, {"1000x1000", 1000, 999}, {"folders", 1_000_000, 0}} {
		b.Run(shape.name, func(b *testing.B) {
			for range b.N {
				dir := filepath.Join(fs.path, "job")
				plant(b, dir, shape.folders, shape.files)
				b.ReportMetric(peak(b, dir), "peak-MiB")
			}
		})
	}
}

func peak(b *testing.B, dir string) float64 {
	cmd := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", "^BenchmarkPurgeMemory$", "-test.benchtime", "1x")
	cmd.Env = append(os.Environ(), purgeTree+"="+dir)
	out, err := cmd.CombinedOutput()
	_, rest, ok := strings.Cut(string(out), "peak ")
	if err != nil || !ok {
		b.Fatalf("%v: %s", err, out)
	}
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kib) / 1024
}

type benchFolder struct{ name, path string }

func benchFolders(b *testing.B) []benchFolder {
	list := []benchFolder{{"tmpfs", fmt.Sprintf("/dev/shm/path-bench-%d", os.Getpid())}, {"disk", ""}}
	list[1].path = b.TempDir()
	if err := os.MkdirAll(list[0].path, 0o755); err != nil {
		b.Skipf("no tmpfs: %v", err)
	}
	b.Cleanup(func() { _ = exec.Command("rm", "-rf", list[0].path).Run() })
	return list
}

func purge(b *testing.B, dir string) {
	spec := residue.Spec{Value: dir, Options: map[string][]string{"Within": {"/dev/shm"}}}
	c, err := open(spec, residue.Deps{})
	if err != nil {
		b.Fatal(err)
	}
	found, err := c.Find(context.Background())
	if err != nil || len(found) != 1 {
		b.Fatal(found, err)
	}
	if err := c.Remove(context.Background(), found[0]); err != nil {
		b.Fatal(err)
	}
}

func timed(work func()) time.Duration {
	begin := time.Now()
	work()
	return time.Since(begin)
}

// plant makes folders of empty files; one folder means the top itself.
func plant(b *testing.B, dir string, folders, files int) {
	b.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range folders {
		sub := dir
		if folders > 1 {
			sub = filepath.Join(dir, strconv.Itoa(i))
			if err := unix.Mkdir(sub, 0o755); err != nil {
				b.Fatal(err)
			}
			if files == 0 {
				continue
			}
		}
		fd, err := unix.Open(sub, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			b.Fatal(err)
		}
		for j := range files {
			file, err := unix.Openat(fd, "file-"+strconv.Itoa(j), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
			if err != nil {
				b.Fatal(err)
			}
			unix.Close(file)
		}
		unix.Close(fd)
	}
}

//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"job-cleanup/test/rig"
)

// programs are what is measured.
type programs struct {
	folder      string
	ours, hello string // paths of the binaries
}

const helloSource = `package main

func main() { println("hello, world") }
`

// build builds ours as it is shipped and a hello world in the same way.
func (p *programs) build() error {
	p.ours, p.hello = filepath.Join(p.folder, "job-cleanup"), filepath.Join(p.folder, "hello")
	source := filepath.Join(p.folder, "hello.go")
	if err := os.WriteFile(source, []byte(helloSource), 0o644); err != nil {
		return err
	}
	for binary, what := range map[string]string{p.ours: rig.Program, p.hello: source} {
		if err := rig.Build(what, binary); err != nil {
			return err
		}
	}
	return nil
}

// cleanup is the command line that removes a path below a base.
func (p *programs) cleanup(path, base string) []string {
	return []string{
		p.ours, "run", "--state-dir", filepath.Join(p.folder, "state"),
		"--step", "Path Remove=" + path + " Within=" + base, "--timeout", "10min",
	}
}

// cost is what one run of a command took. The memory is an upper bound: the
// kernel counts what this process had when it started the command.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

// once runs a command, with something added to its environment.
func once(command []string, environment ...string) (cost, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), environment...)
	begin := time.Now()
	output, err := cmd.CombinedOutput()
	took := time.Since(begin)
	if err != nil {
		return cost{}, fmt.Errorf("%q: %w: %s", command, err, output)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, fmt.Errorf("%q: no resource usage", command)
	}
	return cost{took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), usage.Maxrss << 10}, nil
}

// rounds runs two commands in turn, each after its preparation, and returns
// the median time of both and the highest peak of the first.
func rounds(n int, prepare func() error, ours, peer []string) (our, their time.Duration, peak int64, err error) {
	var times [2][]time.Duration
	for range n {
		for i, command := range [][]string{ours, peer} {
			if err := prepare(); err != nil {
				return 0, 0, 0, err
			}
			c, err := once(command)
			if err != nil {
				return 0, 0, 0, err
			}
			times[i] = append(times[i], c.wall)
			if i == 0 {
				peak = max(peak, c.peak)
			}
		}
	}
	return median(times[0]), median(times[1]), peak, nil
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// report prints one comparison. A ratio above one means that ours is faster.
func report(what string, ours, peer time.Duration, wanted string) {
	fmt.Printf("%-44s %10s %10s %6.2fx  %s\n", what, ours.Round(10*time.Microsecond), peer.Round(10*time.Microsecond),
		float64(peer)/float64(ours), wanted)
}

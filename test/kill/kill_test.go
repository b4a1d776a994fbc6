// Package kill_test kills the program at random moments of everything it does
// and looks at what it said and wrote by then.
package kill_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"job-cleanup/test/rig"
)

// Each verb is killed so often; a run is repeated with the seed it printed,
// as far as the moments go.
var (
	kills = flag.Int("kills", 200, "how often each verb is killed")
	seed  = flag.Uint64("seed", 0, "of the moments; 0 takes one from the clock")
)

// binary is the program under test, built as it is shipped.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	os.Exit(rig.WithProgram(func(file string) { binary = file }, m.Run))
}

// moments draws the time after which a process is killed: any moment of its
// life, which is as long as those that lived to their end say.
type moments struct {
	*rand.Rand
	life time.Duration
}

func newMoments(t *testing.T) *moments {
	t.Logf("-seed %d", *seed)
	return &moments{Rand: rand.New(rand.NewPCG(*seed, 1)), life: 20 * time.Millisecond}
}

// killed runs the program and kills it at some moment. It returns what it
// wrote to stdout, and whether it came to its own end before.
func (m *moments) killed(t *testing.T, w *world, args ...string) (stdout string, ended bool) {
	t.Helper()
	var out strings.Builder
	cmd := w.command(args...)
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	timer := time.AfterFunc(time.Duration(m.Int64N(int64(m.life*5/4))), func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case err == nil:
		m.life = (3*m.life + time.Since(began)) / 4
		return out.String(), true
	case !status.Signaled() || status.Signal() != syscall.SIGKILL:
		t.Fatalf("%q: %v\n%s", args, err, out.String())
	}
	m.life += m.life / 20 // those that are killed say that it is longer
	return out.String(), false
}

package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// TestMain is also the other process of the tests that need one.
func TestMain(m *testing.M) {
	if role := os.Getenv("LEDGER_TEST_ROLE"); role != "" {
		os.Exit(child(role, os.Getenv("LEDGER_TEST_DIR")))
	}
	os.Exit(m.Run())
}

// start runs this test binary again in another role.
func start(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"LEDGER_TEST_ROLE=" + role, "LEDGER_TEST_DIR=" + dir}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

func child(role, dir string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	switch role {
	case "append": // until killed; each number printed was recorded
		l, err := Own(dir).Ledger("u", "i")
		for n := 0; err == nil; n++ {
			if err = l.Append(ctx, NewSpec(spec(strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(n)))); err == nil {
				fmt.Printf("%d-%d\n", os.Getpid(), n)
			}
		}
		fmt.Fprintln(os.Stderr, err)
	case "churn":
		if err := churn(ctx, dir, strconv.Itoa(os.Getpid()), 40); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	case "lock":
		release, err := Own(dir).LockUnit(ctx, "u")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("locked")
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.Sleep(time.Minute) // to be killed with the lock
		release()
	case "give": // as the user of a given folder
		if err := errors.Join(unix.Setgid(4711), unix.Setuid(4711)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		l, err := Jobs(dir).Ledger("u", "i")
		if err == nil {
			err = l.Append(ctx, NewSpec(spec("theirs")))
		}
		if err == nil {
			_, err = l.Replay(ctx)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	return 1
}

// spec returns a spec of a path.
func spec(value string) residue.Spec {
	s := residue.Spec{Kind: "path", Selector: "Remove", Value: "/var/tmp/" + value, Phase: residue.Data}
	s.Identify()
	return s
}

// thing returns a path as residue.
func thing(ref string) residue.Residue {
	r := residue.Residue{Type: "path", Ref: "/var/tmp/" + ref, Proof: map[string]string{"ino": "1"}}
	r.Identify()
	return r
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// own returns a store of our own in an empty folder and one of its ledgers.
func ours(t *testing.T) (*Store, *Ledger) {
	t.Helper()
	s := Own(t.TempDir())
	return s, open(t, s, "u", "i")
}

func open(t *testing.T, s *Store, unit, invocation string) *Ledger {
	t.Helper()
	l, err := s.Ledger(unit, invocation)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func add(t *testing.T, l *Ledger, records ...Record) {
	t.Helper()
	if err := l.Append(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
}

func replay(t *testing.T, l *Ledger) *State {
	t.Helper()
	s, err := l.Replay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refs lists what is owed: values of specs and, after a colon, residue.
func refs(s *State) []string {
	owed := []string{}
	for _, d := range s.Owed() {
		text := d.Spec.Value
		if d.Residue != nil {
			text += ":" + d.Residue.Ref
		}
		owed = append(owed, text)
	}
	return owed
}

package cleantest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

const canary = "s3cr3t-canary"

// subject is the world of the shelf kind in fake_test.go.
func subject(w *shelf) Subject {
	n := 0
	return Subject{
		Kind: w.kind(),
		Make: func(testing.TB) string {
			n++
			ref := fmt.Sprintf("thing-%d", n)
			w.put(ref, "ours")
			return ref
		},
		Exists: func(_ testing.TB, ref string) bool { return w.has(ref) },
		Remove: func(_ testing.TB, ref string) { w.take(ref) },
		Decoy: func(_ testing.TB, ref string) func() error {
			w.put(ref+"0", "theirs")
			return func() error {
				if !w.has(ref + "0") {
					return errors.New("the longer name is gone")
				}
				return nil
			}
		},
		State: func(testing.TB, string) string { return w.String() },
		Deps: func(testing.TB) residue.Deps {
			return residue.Deps{Secret: func(string) (secret.Text, error) { return secret.New(canary), nil }}
		},
		WrongCredentials: func(testing.TB) residue.Deps {
			return residue.Deps{Secret: func(string) (secret.Text, error) { return secret.New("wrong"), nil }}
		},
		Down:     func(testing.TB) { w.setDown(true) },
		Up:       func(testing.TB) { w.setDown(false) },
		Secrets:  []string{canary},
		Patience: 2 * time.Second,
	}
}

func TestGoodKindPasses(t *testing.T) { Run(t, subject(newShelf(""))) }

func TestBareSubjectPasses(t *testing.T) {
	s := subject(newShelf(""))
	Run(t, Subject{Kind: s.Kind, Make: s.Make, Exists: s.Exists, Deps: s.Deps})
}

// TestDefectsAreSeen runs every check on a kind with one defect: the check
// that is named for it has to fail.
func TestDefectsAreSeen(t *testing.T) {
	tests := []struct{ defect, check string }{
		{"removes nothing", "found and removed"},
		{"wrong type", "found and removed"},
		{"removes the neighbours", "found and removed"},
		{"finds twice", "found and removed"},
		{"leaks in an error", "wrong credentials are owed"},
		{"leaks in a proof", "found and removed"},
		{"again is removed", "removed again is absent"},
		{"again is an error", "gone by other hands is absent"},
		{"remembers in the process", "replayed from its line alone"},
		{"new id every time", "replayed from its line alone"},
		{"tracked lists all", "tracked"},
		{"look writes", "a dry run changes nothing"},
		{"look removes", "a dry run changes nothing"},
		{"cancelled is done", "cancelled is soon and harmless"},
		{"cancelled is refused", "cancelled is soon and harmless"},
		{"cancelled hangs", "cancelled is soon and harmless"},
		{"cancelled finds nothing", "cancelled is soon and harmless"},
		{"second is refused", "two at once are safe"},
		{"down is empty", "server down is owed"},
		{"down is gone", "server down is owed"},
		{"down is closed", "server back is removed"},
		{"down hangs", "server down is owed"},
		{"denied is gone", "wrong credentials are owed"},
	}
	for _, tt := range tests {
		t.Run(tt.defect, func(t *testing.T) {
			s := subject(newShelf(tt.defect))
			s.Patience = 50 * time.Millisecond
			if failures := judge(t, s, tt.check); len(failures) == 0 {
				t.Errorf("check %q does not see a kind that %q", tt.check, tt.defect)
			}
		})
	}
}

func TestGoodKindPassesEachCheck(t *testing.T) {
	for _, c := range checks {
		if failures := judge(t, subject(newShelf("")), c.name); len(failures) > 0 {
			t.Errorf("%s: %s", c.name, strings.Join(failures, "; "))
		}
	}
}

// judge runs one check and returns what it complained of.
func judge(t *testing.T, s Subject, name string) []string {
	t.Helper()
	rec := &recorder{TB: t}
	for _, c := range checks {
		if c.name != name {
			continue
		}
		done := make(chan struct{})
		go func() { // Fatalf leaves by Goexit
			defer close(done)
			c.run(newTrial(rec, s))
		}()
		<-done
		return rec.failures
	}
	t.Fatalf("no check %q", name)
	return nil
}

// recorder is a test that fails without failing its parent.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

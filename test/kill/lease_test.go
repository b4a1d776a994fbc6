package kill_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// leases is a server with leases, slow and as talkative as Vault.
type leases struct {
	*httptest.Server
	latency time.Duration

	mu    sync.Mutex
	live  map[string]bool
	asked chan string   // if not nil, told each lease that is to be revoked
	hold  chan struct{} // if not nil, revocations wait for it
}

func newLeases(t *testing.T, latency time.Duration) *leases {
	l := &leases{latency: latency, live: map[string]bool{}}
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(l.CloseClientConnections)
	t.Cleanup(l.Close)
	return l
}

func (l *leases) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Lease string `json:"lease_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	time.Sleep(l.latency)
	revoke := strings.HasSuffix(r.URL.Path, "/revoke")
	if revoke && l.asked != nil {
		l.asked <- body.Lease
	}
	if revoke && l.hold != nil {
		select {
		case <-l.hold:
		case <-r.Context().Done():
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.live[body.Lease]:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"errors":["invalid lease"]}`)
	case revoke:
		delete(l.live, body.Lease)
		w.WriteHeader(http.StatusNoContent)
	default:
		fmt.Fprintf(w, `{"request_id":"r","data":{"id":%q,"ttl":3600}}`, body.Lease)
	}
}

// left counts the leases of a job that live.
func (l *leases) left(j job) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for id := range l.live {
		if strings.HasPrefix(id, "lease/"+j.invocation+"/") {
			n++
		}
	}
	return n
}

// armsLeases records a job with leases on the server.
func (j job) armsLeases(l *leases, n int) {
	j.w.t.Helper()
	token := filepath.Join(j.w.dir, "token")
	if err := os.WriteFile(token, []byte("s.token"), 0o600); err != nil {
		j.w.t.Fatal(err)
	}
	led, err := ledger.Root(j.w.state(), -1).Ledger(j.unit, j.invocation)
	if err != nil {
		j.w.t.Fatal(err)
	}
	armed := ledger.Job{Witness: ledger.ByManager, Armed: true}
	armed.UserBus, armed.User = true, &residue.Identity{}
	records := []ledger.Record{ledger.NewJob(armed)}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		id := fmt.Sprintf("lease/%s/%d", j.invocation, i)
		l.live[id] = true
		spec := residue.Spec{Kind: "vault", Selector: "Revoke", Value: "lease:" + id, Phase: residue.Credentials,
			Options: map[string][]string{"Address": {l.URL}, "Token": {"file:" + token}}}
		spec.Identify()
		records = append(records, ledger.NewSpec(spec))
	}
	if err := led.Append(j.w.t.Context(), records...); err != nil {
		j.w.t.Fatal(err)
	}
}

// checkLeases fails if a lease is called done that the server still has. It
// returns how many are owed.
func (j job) checkLeases(l *leases) int {
	j.w.t.Helper()
	led, err := ledger.Root(j.w.state(), -1).Ledger(j.unit, j.invocation)
	if err != nil {
		j.w.t.Fatal(err)
	}
	state, err := led.Replay(j.w.t.Context())
	if errors.Is(err, fs.ErrNotExist) {
		if n := l.left(j); n > 0 {
			j.w.t.Errorf("nothing is owed, and the server has %d leases", n)
		}
		return 0
	}
	if err != nil || len(state.Damage) > 0 {
		j.w.t.Fatal(err, state.Damage)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range state.Accounts {
		closed := a.Closed || a.Resolved
		for _, h := range a.Residues {
			closed = closed && h.Closed
		}
		if id := strings.TrimPrefix(a.Spec.Value, "lease:"); closed && l.live[id] {
			j.w.t.Errorf("%s is called done, and the server never saw it", id)
		}
	}
	return len(state.Owed())
}

// TestCase02_killedAtAServer: 200 residues on a server with 20 ms latency, and
// a hook that is killed at 50 random moments.
func TestCase02_killedAtAServer(t *testing.T) {
	const residues, deaths = 200, 50
	w, when, l := newWorld(t), newMoments(t), newLeases(t, 20*time.Millisecond)
	j := w.newJob()
	jobs := []job{j}
	j.armsLeases(l, residues)
	when.life = 200 * time.Millisecond
	died := 0
	for range deaths {
		if _, ended := when.killed(t, w, append([]string{"run"}, j.options()...)...); !ended {
			died++
		}
		j.checkLeases(l)
		if l.left(j) < residues/4 { // else the rest of the moments would see nothing
			j = w.newJob()
			j.armsLeases(l, residues)
			jobs = append(jobs, j)
		}
	}
	t.Logf("%d of %d died, %d jobs", died, deaths, len(jobs))
	if died < deaths/2 {
		t.Error("hardly any was killed")
	}
	out := w.must("sweep")
	for _, j := range jobs {
		if n := l.left(j); n > 0 {
			t.Errorf("after the sweep the server has %d leases of %s\n%.3000s", n, j.invocation, out)
		}
	}
	if out := w.must("status"); out != "Nothing is owed.\n" {
		t.Errorf("status says\n%.2000s", out)
	}
}

// TestCase04_stoppedInACall: SIGTERM while a call is under way lets it end, for
// five seconds at most; a second one does not wait. What was never sent does
// not count as tried.
func TestCase04_stoppedInACall(t *testing.T) {
	for name, test := range map[string]struct {
		signals int
		answer  bool
		limit   time.Duration
	}{
		"the call ends":       {1, true, 4 * time.Second},
		"the call never ends": {1, false, 7 * time.Second},
		"a second signal":     {2, false, time.Second + time.Second/2}, // half a second for a busy machine
	} {
		t.Run(name, func(t *testing.T) {
			w, l := newWorld(t), newLeases(t, 0)
			l.asked, l.hold = make(chan string, 100), make(chan struct{})
			j := w.newJob()
			j.armsLeases(l, 20)
			cmd := w.command(append([]string{"run"}, j.options()...)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			select {
			case <-l.asked:
			case <-time.After(20 * time.Second):
				t.Fatal("no call was made")
			}
			began := time.Now()
			for i := range test.signals {
				if i > 0 {
					time.Sleep(50 * time.Millisecond) // two at once are one
				}
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			if test.answer {
				time.AfterFunc(200*time.Millisecond, func() { close(l.hold) })
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > test.limit {
				t.Errorf("took %v", took)
			}
			owed := j.checkLeases(l)
			if owed != l.left(j) || owed == 0 || test.answer && owed == 20 {
				t.Errorf("%d owed, %d there", owed, l.left(j))
			}
			w.unsent(j, owed)
			if !test.answer {
				close(l.hold)
			}
			w.must("sweep", "--all")
			if n := l.left(j); n > 0 {
				t.Errorf("after the sweep the server has %d leases", n)
			}
		})
	}
}

// unsent fails unless most of what is owed counts as never tried: at most
// eight calls are under way at once.
func (w *world) unsent(j job, owed int) {
	w.t.Helper()
	led, err := ledger.Root(w.state(), -1).Ledger(j.unit, j.invocation)
	if err != nil {
		w.t.Fatal(err)
	}
	state, err := led.Replay(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	tried := 0
	for _, d := range state.Owed() {
		if d.Attempts > 0 {
			tried++
		} else if !d.Next.IsZero() {
			w.t.Errorf("%s was never tried and rests", d.Spec.Value)
		}
	}
	if tried > 8 || tried == owed && owed > 8 {
		w.t.Errorf("%d of %d count as tried", tried, owed)
	}
}

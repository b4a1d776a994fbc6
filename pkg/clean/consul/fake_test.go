package consul_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// fake is an agent that answers as it is told, for faults that a real one
// can't be made to have.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string][]answer // by path, "" for all others; the last one stays
	log     []string            // "METHOD /path?query token body"
}

type answer struct {
	status int
	body   string
}

func newFake(t *testing.T) *fake {
	f := &fake{answers: map[string][]answer{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// on sets what a path answers, one after the other.
func (f *fake) on(path string, answers ...answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[path] = answers
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.log = append(f.log, fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("X-Consul-Token"), body))
	path := r.URL.Path
	if len(f.answers[path]) == 0 {
		path = ""
	}
	next := answer{404, ""}
	if left := f.answers[path]; len(left) > 0 {
		next = left[0]
		if len(left) > 1 {
			f.answers[path] = left[1:]
		}
	}
	f.mu.Unlock()
	if next.status/100 == 3 {
		w.Header().Set("Location", next.body)
	}
	w.WriteHeader(next.status)
	_, _ = io.WriteString(w, next.body)
}

// requests is the log so far.
func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.log...)
}

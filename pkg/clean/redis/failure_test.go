package redis

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/residue"
)

// A server that accepts and says nothing: a deadline and a cancel both end it.
func TestCase12_noAnswer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	silent, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c, err := Kind.Open(specOf(socket, "DeleteKeys", "a:"), depsOf("x"))
	if err != nil {
		t.Fatal(err)
	}
	for what, ctx := range map[string]func() (context.Context, context.CancelFunc){
		"unreachable timeout": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(background, 100*time.Millisecond)
		},
		"owed cancelled": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(background)
			time.AfterFunc(100*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		ctx, cancel := ctx()
		began := time.Now()
		_, err := c.Find(ctx)
		want(t, "silent", err, what)
		want(t, "silent", c.Remove(ctx, residue.Residue{}), what)
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s took %v", what, took)
		}
		cancel()
	}
}

// Nothing is written to standard error, whatever happens: asked of a process of
// its own, since the library keeps the stream that it found.
func TestQuiet(t *testing.T) {
	const child = "REDIS_TEST_QUIET"
	if os.Getenv(child) != "" {
		c, err := Kind.Open(specOf("127.0.0.1:1", "DeleteKeys", "a:"), depsOf("x"))
		if err == nil {
			_, err = c.Find(background)
		}
		want(t, "nobody listens", err, "unreachable unreachable")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestQuiet$")
	cmd.Env = append(os.Environ(), child+"=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, written: %q", err, stderr.String())
	}
}

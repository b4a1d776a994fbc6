package cleantest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"job-cleanup/pkg/residue"
)

// Connection tests that a cleaner of a web server makes all its calls on one
// connection, which ends with the cleaner. The server is a stand-in at a
// loopback address that denies everything.
func Connection(tb testing.TB, open func(address string) residue.Cleaner) {
	tb.Helper()
	states := make(chan http.ConnState, 100)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) { states <- state }
	server.Start()
	tb.Cleanup(server.Close)

	cleaner := open(server.URL)
	for range 2 {
		_, _ = cleaner.Find(context.Background()) // that it is denied is the conformance suite's matter
	}
	residue.Close(cleaner)
	begun, late := 0, time.After(10*time.Second)
	for {
		select {
		case state := <-states:
			switch {
			case state == http.StateNew:
				begun++
			case state == http.StateClosed && begun == 1:
				return
			case state == http.StateClosed:
				tb.Fatalf("%d connections for two calls", begun)
			}
		case <-late:
			tb.Fatalf("of %d connections none ended with the cleaner", begun)
		}
	}
}

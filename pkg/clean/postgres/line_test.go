package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"job-cleanup/pkg/residue"
)

// lines lists the process ids of our connections, in the order they began.
func lines(t *testing.T, c *cluster) string {
	t.Helper()
	return c.ask(t, "SELECT COALESCE(string_agg(pid::text, ' ' ORDER BY backend_start), '') FROM pg_stat_activity WHERE application_name = 'job-cleanup'")
}

// found finds one residue.
func found(t *testing.T, cl residue.Cleaner) residue.Residue {
	t.Helper()
	all, err := cl.Find(context.Background())
	if err != nil || len(all) != 1 {
		t.Fatalf("found %+v, %v", all, err)
	}
	return all[0]
}

// none waits until no cleaner of an earlier test is connected.
func none(t *testing.T, c *cluster) {
	t.Helper()
	until(t, func() bool { return lines(t, c) == "" })
}

// One login serves all calls of a cleaner, and ends with it.
func TestOneLogin(t *testing.T) {
	c := postgres(t)
	none(t, c)
	c.run(t, "CREATE SCHEMA once AUTHORIZATION batch")
	cl := opened(t, c, "DropSchema", "once")
	r := found(t, cl)
	first := lines(t, c)
	want(t, "first", cl.Remove(context.Background(), r), "removed")
	want(t, "again", cl.Remove(context.Background(), r), "gone")
	if after := lines(t, c); first == "" || after != first {
		t.Errorf("connections %q after the look-up, %q after the removals", first, after)
	}
	residue.Close(cl)
	residue.Close(cl)
	if got := lines(t, c); got != "" {
		t.Errorf("connections %q after the end", got)
	}
	want(t, "after the end", cl.Remove(context.Background(), r), "gone")
	none(t, c)
}

// A connection that broke while nobody used it is no failure.
func TestBrokenWhileIdle(t *testing.T) {
	c := postgres(t)
	none(t, c)
	door := c.behindDoor(t)
	c.run(t, "CREATE SCHEMA broken AUTHORIZATION batch")
	cl := opened(t, c, "DropSchema", "broken", "Port", port(door))
	r := found(t, cl)
	first := lines(t, c)
	c.run(t, "SELECT pg_terminate_backend("+first+", 5000)")
	if again := found(t, cl); again.ID != r.ID {
		t.Errorf("found %+v, then %+v", r, again)
	}
	if now := lines(t, c); now == first || now == "" {
		t.Errorf("connections %q, then %q", first, now)
	}
	door.Shut()
	want(t, "the server is away", cl.Remove(context.Background(), r), "unreachable unreachable")
	door.Open()
	want(t, "it is back", cl.Remove(context.Background(), r), "removed")
}

// What was begun on a kept connection is not done again when it breaks: the
// answer would be that somebody else removed it.
func TestBrokenWhileUsed(t *testing.T) {
	c := postgres(t)
	none(t, c)
	l := &line{server: opened(t, c, "DropSchema", "x").(*cleaner).server.server}
	t.Cleanup(func() { _ = l.close() })
	times := 0
	work := func(s *session) error {
		return s.read(context.Background(), func() error {
			if times++; times == 2 {
				c.run(t, "SELECT pg_terminate_backend("+lines(t, c)+", 5000)")
			}
			_, err := s.rows(context.Background(), "SELECT 1")
			return err
		})
	}
	want(t, "the first use", l.use(context.Background(), work), "removed")
	want(t, "the broken one", l.use(context.Background(), work), "unreachable unreachable")
	if times != 2 {
		t.Errorf("it was done %d times", times)
	}
	want(t, "the next", l.use(context.Background(), work), "removed")
}

// Several residues of one cleaner are removed at the same time.
func TestRemovalsSideBySide(t *testing.T) {
	c := postgres(t)
	none(t, c)
	const n = 4
	for range n {
		c.holdAs(t, "batch", "app", "side-by-side", "")
	}
	cl := opened(t, c, "TerminateBackends", "side-by-side")
	all, err := cl.Find(context.Background())
	if err != nil || len(all) != n {
		t.Fatalf("found %+v, %v", all, err)
	}
	var group sync.WaitGroup
	answers := make([]error, n)
	for i, r := range all {
		group.Go(func() { answers[i] = cl.Remove(context.Background(), r) })
	}
	group.Wait()
	for i, err := range answers {
		want(t, fmt.Sprint("backend ", i), err, "removed")
	}
	until(t, func() bool {
		return c.ask(t, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'job-cleanup'") == "1"
	})
}

// A removal that was given up keeps Close neither waiting nor a connection
// afterwards; a cancelled one leaves nothing that the next could trip over.
func TestCloseWhileUsed(t *testing.T) {
	c := postgres(t)
	none(t, c)
	c.run(t, "CREATE SCHEMA used AUTHORIZATION batch; SET ROLE batch; CREATE TABLE used.t ()")
	holder := c.hold(t, "app", "somebody", "BEGIN; LOCK TABLE used.t")
	cl := opened(t, c, "DropSchema", "used", "LockTimeoutSec", "1min", "StatementTimeoutSec", "1min")
	r := found(t, cl)
	waiting := func() bool {
		return c.ask(t, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'job-cleanup' AND wait_event_type = 'Lock'") == "1"
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- cl.Remove(ctx, r) }()
	until(t, waiting)
	cancel()
	want(t, "cancelled", <-done, "owed cancelled")
	until(t, func() bool { return !waiting() })

	go func() { done <- cl.Remove(context.Background(), r) }()
	until(t, waiting)
	quickly(t, time.Second, func() { residue.Close(cl) })
	execute(t, holder, "ROLLBACK")
	want(t, "closed meanwhile", <-done, "removed")
	none(t, c)
}

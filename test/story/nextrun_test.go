package story_test

import (
	"context"
	"slices"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
	"job-cleanup/test/story"
)

// again is a job that runs twice, on the same paths, prefixes and names. Its
// hook can be left out, and it holds a lock of Redis, which the test takes.
const again = "again"

const againDropIn = `[Service]
ExecStopPost=
ExecStopPost=-/bin/sh -c 'test -e /srv/told/no-hook || exec /usr/bin/job-cleanup run'

[X-Cleanup.Redis]
ReleaseLock=lock:%i
Value=first-%i
Address=@REDIS@
Password=file:/etc/batch/redis-password
`

// theNextRun: what an invocation still owes is on the same servers, under the
// same names, as what the unit's next one holds. A sweep meanwhile takes
// nothing from that, whether the first hook was cut off before it had looked at
// anything or could not remove what it had found.
func theNextRun(t *testing.T, w *story.World, m *rig.Machine) {
	m.Write("/etc/systemd/system/batch@again.service.d/again.conf", 0o644, w.Fill(againDropIn))
	m.Shell("systemctl daemon-reload")

	w.Begin(m, again)
	setLock(t, w, "first-again")
	free := hinder(t, w)
	w.End(m, again, "3")
	w.Settle(m, again)
	free()
	owed := kindsOwed(m)
	if !slices.Equal(owed, []string{"amqp", "postgres", "redis"}) {
		t.Errorf("%s: owed is %q: the test shows nothing; %s", m.Suite, owed, said(m, again))
	}
	wantLeftAlone(t, w, m)

	m.Shell("cp /srv/told/again.token /srv/told/lost.token; touch /srv/told/no-hook; echo 3 >/srv/told/again.end")
	w.Settle(m, again)
	m.Shell("rm /srv/told/no-hook")
	w.Unlock(again) // which the job would wait for
	wantLeftAlone(t, w, m)

	w.End(m, again, "0")
	w.Settle(m, again)
	// The token went with the unit's runtime folder; a person has found it.
	m.Shell("install -D -m 600 /srv/told/lost.token /run/batch-again/vault-token")
	if swept := m.Run("job-cleanup", "sweep", "--all"); swept.Code != 0 {
		t.Errorf("%s: sweep: %v", m.Suite, swept)
	}
	wantHeld(t, w, m, again)
	wantNothingOwed(t, m)
	if w.Vault.Valid(m.Shell("cat /srv/told/lost.token")) {
		t.Errorf("%s: the token of the run that was cut off is valid", m.Suite)
	}
	if lock(t, w) != "second" {
		t.Errorf("%s: somebody else's lock is gone", m.Suite)
	}
}

// wantLeftAlone starts the job, has its lock taken by somebody else, and sweeps.
func wantLeftAlone(t *testing.T, w *story.World, m *rig.Machine) {
	t.Helper()
	m.Shell("rm -f /srv/told/again.end /srv/told/again.holds")
	w.Begin(m, again)
	setLock(t, w, "second")
	wantHeld(t, w, m, again, story.Everything...)
	upload := m.Shell("cat /run/batch-again/upload")
	for _, args := range [][]string{{"sweep"}, {"sweep", "--all"}, {"run", story.Name(again)}} {
		m.Run(append([]string{"job-cleanup"}, args...)...)
		wantHeld(t, w, m, again, story.Everything...)
		if lock(t, w) != "second" {
			t.Errorf("%s: after %q the lock is %q", m.Suite, args, lock(t, w))
		}
	}
	if now := w.Uploads(t.Context(), again); !slices.Contains(now, upload) {
		t.Errorf("%s: the uploads are %q, not %q", m.Suite, now, upload)
	}
}

// hinder keeps a cleanup from removing what it can find, until free is called.
func hinder(t *testing.T, w *story.World) (free func()) {
	t.Helper()
	redisDo(t, w, "ACL", "SETUSER", "default", "-unlink")
	redisDo(t, w, "ACL", "SETUSER", "default", "-eval")
	w.Postgres.Exec("postgres", "CREATE VIEW public.outside AS SELECT * FROM batch_again.orders")
	connection, err := amqp.Dial(w.RabbitMQ.URL())
	if err != nil {
		t.Fatal(err)
	}
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := channel.Consume("batch-again", "", false, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		connection.Close()
		w.Postgres.Exec("postgres", "DROP VIEW public.outside")
		redisDo(t, w, "ACL", "SETUSER", "default", "+unlink")
		redisDo(t, w, "ACL", "SETUSER", "default", "+eval")
	}
}

func redisDo(t *testing.T, w *story.World, args ...any) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := w.Redis.Client()
	defer client.Close()
	answer, err := client.Do(ctx, args...).Result()
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func setLock(t *testing.T, w *story.World, value string) {
	t.Helper()
	redisDo(t, w, "SET", "lock:again", value)
}

func lock(t *testing.T, w *story.World) any {
	t.Helper()
	return redisDo(t, w, "GETEX", "lock:again")
}

// kindsOwed lists the kinds of what is owed by the job, from its records.
func kindsOwed(m *rig.Machine) []string {
	var all []string
	for _, entry := range records(m, again, journal.Owed) {
		all = append(all, entry["JOB_CLEANUP_KIND"])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

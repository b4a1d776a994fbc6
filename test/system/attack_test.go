package system_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
	"job-cleanup/test/rig"

	"golang.org/x/sys/unix"
)

// attacker is a job of an unprivileged user. Its argument says what it puts
// into the place of its ledgers, for its own hook and for whoever comes later.
const attacker = `#!/bin/sh
mkdir -p "/var/tmp/$1-tree/sub"
cd "/var/lib/job-cleanup/job/$1.service" || exit 9
own=$INVOCATION_ID.jsonl old=00000000000000000000000000000001.jsonl victim=/var/tmp/victim/file
plant() { for place in $own $old; do rm -rf $place; "$@" $place; done; }
case $1 in
link) plant ln -s $victim; ln -sf $victim .append; ln -sf $victim .lock ;;
fifo) plant mkfifo; mkfifo .append .lock ;;
folder) plant mkdir; mkdir .append .lock ;;
garbage) plant cp /srv/attack/garbage ;;
endless) plant cp /srv/attack/endless ;;
wild) plant cp /srv/attack/wild ;;
forged) plant cp /srv/attack/forged ;;
open) plant cp /srv/attack/forged; chmod 777 . ;;
many) for i in $(seq 3000); do : >$i.jsonl; done ;;
held)
	plant cp /srv/attack/forged
	for name in .append .lock $old $own; do
		setsid flock $name sleep 1000 >/dev/null 2>&1 &
	done
	while ! flock -n $own true; do break; done ;;
swapped)
	setsid sh -c 'while :; do for name in "$0" "$1"; do
		cp /srv/attack/forged .n && mv .n $name; ln -s /var/tmp/victim/file .n && mv .n $name; mkfifo .n && mv .n $name
	done; done' $own $old >/dev/null 2>&1 & ;;
esac
exit 3
`

// links plants what a job can't where links to others' files are forbidden.
const links = `#!/bin/sh
test "$1" = hard || exit 0
cd "/var/lib/job-cleanup/job/$1.service"
for place in $INVOCATION_ID 00000000000000000000000000000001; do ln -f /var/tmp/victim/file $place.jsonl; done
`

// attacks are the words that attacker knows.
var attacks = []string{"link", "fifo", "folder", "hard", "garbage", "endless", "wild", "forged", "open", "many", "held", "swapped"}

// forgeries writes what the attackers copy, and returns where a request with
// somebody's identity would come to.
func forgeries(t *testing.T, m *rig.Machine) (asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if len(r.Header["X-Vault-Token"])+len(r.Header["X-Consul-Token"])+len(r.Header["Authorization"]) > 0 {
			asked.Add(1)
		}
	}))
	t.Cleanup(web.Close)
	m.Shell("job-cleanup track path /var/tmp/victim/file --unit probe.service --invocation probe --state-dir /srv/probe")
	proof := trackedIn(t, m.Shell("cat /srv/probe/root/probe.service/probe.jsonl"))
	lines := []ledger.Record{ledger.NewJob(ledger.Job{
		Job:   residue.Job{Boot: "00000000000000000000000000000001", Start: time.Now().Add(-time.Hour), User: &residue.Identity{}, FullRights: true},
		Armed: true,
	})}
	add := func(spec residue.Spec) {
		spec.Identify()
		lines = append(lines, ledger.NewSpec(spec), ledger.Found(spec.ID, residue.Residue{ID: "x", Type: "path", Ref: "/var/tmp/victim/file", Proof: proof.Proof}))
	}
	add(residue.Spec{Kind: "path", Selector: "Remove", Value: proof.Ref, Phase: residue.Data, Tracked: &proof})
	add(residue.Spec{Kind: "path", Selector: "Remove", Value: "/var/tmp/victim", Phase: residue.Data})
	add(residue.Spec{Kind: "command", Selector: "Run", Value: "/bin/touch /srv/told/ran", Phase: residue.Data})
	add(residue.Spec{Kind: "unit", Selector: "Stop", Value: "victim.service", Phase: residue.Processes})
	add(residue.Spec{Kind: "lockfile", Selector: "Remove", Value: proof.Ref, Phase: residue.Locks, Tracked: &residue.Residue{Type: "lockfile", Ref: proof.Ref}})
	for _, ref := range []string{"file:/var/tmp/victim/file", "env:VAULT_TOKEN", "credential:token", "stash:token"} {
		add(residue.Spec{Kind: "vault", Selector: "Revoke", Value: "accessor", Phase: residue.Credentials,
			Options: map[string][]string{"Address": {web.URL}, "Token": {ref}, "Identity": {ref}},
			Tracked: &residue.Residue{Type: "token", Ref: "accessor", Proof: map[string]string{"accessor": "accessor"}}})
		add(residue.Spec{Kind: "consul", Selector: "DestroySession", Value: "id", Phase: residue.Locks,
			Options: map[string][]string{"Address": {web.URL}, "Token": {ref}}, Tracked: &residue.Residue{Type: "session", Ref: "id"}})
	}
	m.Write("/srv/attack/forged", 0o644, text(t, lines...))
	wild := residue.Spec{Kind: "path", Selector: "Remove\n", Value: "/../../" + strings.Repeat("x/", 3000), Phase: -7, Rank: 1 << 30, Timeout: -1}
	m.Write("/srv/attack/wild", 0o644, text(t, lines[0], ledger.NewSpec(wild)))
	m.Write("/srv/attack/garbage", 0o644, "\x00\xff{\n{}\n")
	m.Write("/srv/attack/endless", 0o644, strings.Repeat(`{"v":1,"t":"spec","spec":{"id":"x","kind":"path"}}`+"\n", 1<<15))
	return asked
}

// text is records as they stand in a ledger.
func text(t *testing.T, records ...ledger.Record) string {
	t.Helper()
	var all strings.Builder
	for _, r := range records {
		r.Version = 1
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(string(line) + "\n")
	}
	return all.String()
}

// trackedIn is the residue that a ledger's text tracks.
func trackedIn(t *testing.T, text string) residue.Residue {
	t.Helper()
	for line := range strings.Lines(text) {
		var r ledger.Record
		if json.Unmarshal([]byte(line), &r) == nil && r.Spec != nil && r.Spec.Tracked != nil && len(r.Spec.Tracked.Proof) > 0 {
			return *r.Spec.Tracked
		}
	}
	t.Fatalf("nothing is tracked in %s", text)
	return residue.Residue{}
}

// watch looks at a file of the machine. What it returns tells how often somebody
// has opened, read or changed it since.
func watch(t *testing.T, m *rig.Machine, path string) func() int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	const touched = unix.IN_OPEN | unix.IN_ACCESS | unix.IN_MODIFY | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	if _, err := unix.InotifyAddWatch(fd, m.Path(path), touched); err != nil {
		t.Fatal(err)
	}
	return func() int {
		n, err := unix.Read(fd, make([]byte, 4096))
		if err != nil {
			return 0
		}
		return n / unix.SizeofInotifyEvent
	}
}

// TestAttacksOnRoot: whatever a job of an unprivileged user puts into the place
// of its ledgers, no verb of root's touches, reads or sends what the job itself
// could not, and none fails to do the rest of its work.
func TestAttacksOnRoot(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker; useradd good; mkdir /var/tmp/victim; echo secret >/var/tmp/victim/file; chmod 600 /var/tmp/victim/file; systemd-run -q --unit=victim sleep infinity")
		asked := forgeries(t, m)
		m.Write("/usr/local/bin/attacker", 0o755, attacker)
		m.Write("/usr/local/bin/links", 0o755, links)
		touched := watch(t, m, "/var/tmp/victim/file")
		install(m, "good.service", "[Service]\nType=oneshot\nUser=good\n"+arm+
			"ExecStart=/bin/sh -ec 'mkdir /var/tmp/good-tree; job-cleanup track path /var/tmp/good-tree; exit 3'\n")
		for _, name := range attacks {
			unit := name + ".service"
			install(m, unit, "[Service]\nType=oneshot\nUser=worker\nKillMode=process\n"+arm+"ExecStart=/usr/local/bin/attacker %N\n"+
				"ExecStopPost=-+/usr/local/bin/links %N\nExecStopPost=-+/usr/bin/job-cleanup run\n"+"[X-Cleanup]\nTimeoutSec=20\n"+treeStep)
			attack(t, m, name, unit)
			if n := touched(); n > 0 {
				t.Errorf("%s: root's file was touched %d times", name, n)
			}
			if asked.Swap(0) > 0 {
				t.Errorf("%s: somebody's identity was sent", name)
			}
			if m.Exists("/srv/told/ran") || m.Show("victim.service", "ActiveState")["ActiveState"] != "active" {
				t.Fatalf("%s: a command of the job's ran, or it stopped a unit", name)
			}
		}
		if left := m.Shell("stat -c '%U %a %h' /var/tmp/victim/file; cat /var/tmp/victim/file"); left != "root 600 1\nsecret" {
			t.Errorf("root's file is %q", left)
		}
	})
}

// attack has one job attack, and all verbs of root's come to it.
func attack(t *testing.T, m *rig.Machine, name, unit string) {
	t.Helper()
	runUnit(m, "good.service") // another user's, that only a sweep cleans up after
	runUnit(m, unit)
	if m.Exists("/var/tmp/" + name + "-tree") {
		t.Errorf("%s: the hook left the tree: %v", name, said(m, unit))
	}
	for _, step := range [][]string{
		{"systemctl", "start", unit}, // arm, the attack anew, and run
		{"job-cleanup", "status"}, {"job-cleanup", "plan", unit}, {"job-cleanup", "sweep", "--all"}, {"job-cleanup", "run", unit},
	} {
		began := time.Now()
		out := m.Run(step...)
		settle(m, unit)
		if took := time.Since(began); took > 40*time.Second || out.Code >= 124 {
			t.Errorf("%s: %q took %v: %v", name, step, took, out)
		}
	}
	if m.Exists("/var/tmp/good-tree") {
		t.Errorf("%s: it keeps another job's residue from being swept", name)
	}
	if found := records(m, unit, journal.Armed); len(found) != 2 {
		t.Errorf("%s: armed %d times: %v", name, len(found), said(m, unit))
	}
	m.Shell("pkill -KILL -u worker || :; cd /var/lib/job-cleanup; rm -rf job/" + unit + " root/" + unit)
}

package system_test

import (
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
)

// TestDefer: the hook moves the tree aside, the next run finds its place free,
// and the sweep deletes while that run is at work and leaves what is its own.
// So for root's units, for a user's, and for a user's whose hook is root's.
func TestDefer(t *testing.T) {
	const job = "ExecStart=/bin/sh -ec 'test ! -e /var/tmp/%N-tree || touch /srv/told/%N.dirty; mkdir -p /var/tmp/%N-tree/a/b; touch /srv/told/%N.runs; exec $$(cat /srv/told/%N.next)'\n"
	const step = "\n[X-Cleanup]\nExitPolicy=strict\n[X-Cleanup.Path]\nRemove=/var/tmp/%N-tree\nDefer=yes\nWhen=failure\n"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		m.Shell("useradd worker")
		for name, wiring := range map[string]string{
			"root":   arm + job + hook,
			"worker": "User=worker\n" + arm + job + hook,
			"rights": "User=worker\n" + arm + job + strings.Replace(hook, "=-", "=-+", 1),
		} {
			unit, tree := name+".service", "/var/tmp/"+name+"-tree"
			aside := func() string { return m.Shell("find /var/tmp -maxdepth 1 -name '.job-cleanup~" + name + "-tree~*'") }
			install(m, unit, "[Service]\nType=oneshot\n"+wiring+step)
			m.Shell("echo false >/srv/told/" + name + ".next")
			runUnit(m, unit)
			if m.Exists(tree) || aside() == "" {
				t.Fatalf("%s: not moved aside: %v", name, said(m, unit))
			}
			for _, r := range records(m, unit, journal.Owed) {
				if r["PRIORITY"] != "6" || r["JOB_CLEANUP_REASON"] != "deferred" {
					t.Errorf("%s: told %v", name, r)
				}
			}
			m.Shell("echo sleep infinity >/srv/told/" + name + ".next; rm /srv/told/" + name + ".runs; systemctl start --no-block " + unit)
			m.WaitFor(name+" runs again", soon, func() bool { return m.Exists("/srv/told/" + name + ".runs") })
			if m.Exists("/srv/told/"+name+".dirty") || aside() == "" {
				t.Errorf("%s: the next run found its place taken, or waited for the deletion", name)
			}
			sweep(t, m, "job-cleanup-sweep.service")
			if left := aside(); left != "" || !m.Exists(tree+"/a/b") {
				t.Errorf("%s: aside is %q, the running job's tree is there: %v; %v", name, left, m.Exists(tree+"/a/b"), said(m, unit))
			}
			m.Shell("systemctl stop " + unit)
			settle(m, unit)
			if m.Exists(tree) || aside() == "" {
				t.Errorf("%s: not moved aside: %v", name, said(m, unit))
			}
			sweep(t, m, "job-cleanup-sweep.service")
			if left := aside(); left != "" {
				t.Errorf("%s: aside is %q; %v", name, left, said(m, unit))
			}
			wantNothingOwed(t, m, unit)
		}
	})
}

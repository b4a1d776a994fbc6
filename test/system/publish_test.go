package system_test

import (
	"testing"

	"job-cleanup/test/rig"
)

// TestPublish: the places that docs/why.md names for a publish hand on what a
// good job made, after its cleanup, and nothing of a bad one.
func TestPublish(t *testing.T) {
	const publish = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'test ! -e /var/tmp/%i-tree && touch /srv/told/%i.published'\n"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "publish@.service", publish)
		install(m, "pulled@.service", "[Unit]\nRequires=%i.service\nAfter=%i.service\n"+publish)
		for name, code := range map[string]string{"good": "0", "bad": "3"} {
			work := "ExecStart=/bin/sh -c 'mkdir -p /var/tmp/%N-tree; exit " + code + "'"
			install(m, name+"-line.service", oneshot(work+"\nExecStart=/bin/touch /srv/told/%N.published", treeStep))
			install(m, name+"-next.service", "[Unit]\nOnSuccess=publish@%N.service\n"+oneshot(work, treeStep))
			install(m, name+"-pull.service", oneshot(work, treeStep))
		}
		for _, name := range []string{"good", "bad"} {
			runUnit(m, name+"-line.service")
			runUnit(m, name+"-next.service")
			m.Start("pulled@" + name + "-pull.service")
			settle(m, name+"-pull.service")
			settle(m, "pulled@"+name+"-pull.service")
			for _, how := range []string{"line", "next", "pull"} {
				settle(m, "publish@"+name+"-"+how+".service")
				unit := name + "-" + how
				if published := m.Exists("/srv/told/" + unit + ".published"); published != (name == "good") {
					t.Errorf("%s: published: %v\n%s", unit, published, m.Shell("journalctl -b --no-pager | tail -40"))
				}
				if m.Exists("/var/tmp/" + unit + "-tree") {
					t.Errorf("%s left its tree", unit)
				}
			}
		}
	})
}

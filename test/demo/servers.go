//go:build linux

package main

import (
	"fmt"
	"slices"

	"job-cleanup/test/rig"
	"job-cleanup/test/story"
)

// showServers is the story of a job that takes something from six servers and
// is killed, while another job runs.
func showServers(s rig.T) {
	headline("Vault, Consul, an S3 gateway, PostgreSQL, Redis and RabbitMQ start")
	w := story.NewWorld(s)
	m := rig.Boot(s, rig.Suites[0], story.Build(s)...)
	w.Install(m)
	headline("The unit batch@.service")
	fmt.Print(w.Unit())
	w.Begin(m, "ours")
	w.Begin(m, "other")

	headline("Midway through batch@ours: what the servers have of it")
	listHeld(w, m, "ours")
	headline("The job is killed; systemd runs the hook")
	w.End(m, "ours", "kill")
	w.Settle(m, "ours")
	left := listHeld(w, m, "ours")
	headline("What the other job has, which still runs")
	kept := listHeld(w, m, "other")
	headline("The unit's verdict is the job's own")
	fmt.Println(m.Shell("systemctl show -p Result,ExecMainStatus " + story.Name("ours")))
	headline("What the journal says")
	tell(m, story.Name("ours"))
	if left > 0 || kept != len(story.Everything) {
		s.Fatalf("%d things were left, %d of the other job's %d are there", left, kept, len(story.Everything))
	}
}

// listHeld prints what there is of a job, and counts it.
func listHeld(w *story.World, m *rig.Machine, name string) int {
	held := w.Holds(m, name)
	for _, what := range story.Everything {
		state := "gone"
		if slices.Contains(held, what) {
			state = "there"
		}
		fmt.Printf("  %-16s %s\n", what, state)
	}
	return len(held)
}

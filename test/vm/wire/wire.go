// Package wire is what the test and its agent in the machine say to each other:
// one JSON object a line.
package wire

import "time"

// Limit is what a script may take: without hardware acceleration, on a machine
// that is busy, all takes long.
const Limit = 20 * time.Minute

// Where the agent finds things in the machine.
const (
	PortName = "job-cleanup.agent"
	Port     = "/dev/virtio-ports/" + PortName
	Gate     = "/run/vm-gate-open"
)

// Order is a script for `sh -ec`, as root.
type Order struct{ Script string }

// Answer is what came of it. The first answer of a boot is the hello.
type Answer struct {
	Hello  bool   `json:",omitempty"`
	Output string // both streams
	Code   int    // exit status; -1 when it ended otherwise
}

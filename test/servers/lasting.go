//go:build linux

package servers

import (
	"slices"
	"sync"

	"job-cleanup/test/rig"
)

// lasting is what is to be cleaned up when all tests of the process are over.
var lasting struct {
	mu   sync.Mutex
	ends []func()
}

type lastingT struct{ rig.T }

// Cleanup keeps f for the end of all tests.
func (lastingT) Cleanup(f func()) {
	lasting.mu.Lock()
	defer lasting.mu.Unlock()
	lasting.ends = append(lasting.ends, f)
}

// Lasting is t for a server that all tests of a package share: what t would
// clean up waits for the end of Main.
func Lasting(t rig.T) rig.T { return lastingT{t} }

// Main runs all tests and then ends what was made to last.
func Main(run func() int) int {
	code := run()
	for _, end := range slices.Backward(lasting.ends) {
		end()
	}
	return code
}

package main

import (
	"fmt"
	"path/filepath"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/manager"
)

// How the manager is asked for more time: so much at a time, so often.
const (
	extendBy    = 5 * time.Second
	extendEvery = 2 * time.Second
)

// notifySystemd tells the manager what we do, and asks it for more time as long
// as the plan's own limit lasts. The returned function ends that.
func (s *site) notifySystemd(budget engine.Budget, w *work) func() {
	socket := s.notifySocket()
	if socket == "" {
		return func() {}
	}
	_ = manager.Notify(socket, fmt.Sprintf("STATUS=removing what %d steps name", len(w.items)+len(w.lent)))
	done := make(chan struct{})
	if w.plan.Settings.Timeout > 0 {
		go extend(socket, budget.Total, done)
	}
	return func() { close(done) }
}

// extend keeps the manager's limit away until ours is over.
func extend(socket string, limit time.Duration, done <-chan struct{}) {
	over := time.NewTimer(limit)
	defer over.Stop()
	next := time.NewTicker(extendEvery)
	defer next.Stop()
	for {
		_ = manager.Notify(socket, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extendBy.Microseconds()))
		select {
		case <-next.C:
		case <-over.C:
			return
		case <-done:
			return
		}
	}
}

// notifySocket is the manager's own socket, if the environment names that. A
// job may have put another one there.
func (s *site) notifySocket() string {
	own := "/run/systemd/notify"
	if s.uid != 0 && s.env["XDG_RUNTIME_DIR"] != "" {
		if user := filepath.Join(s.env["XDG_RUNTIME_DIR"], "systemd/notify"); s.env["NOTIFY_SOCKET"] == user {
			return user
		}
	}
	if s.env["NOTIFY_SOCKET"] == own {
		return own
	}
	return ""
}

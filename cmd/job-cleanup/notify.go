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
	until := time.Time{}
	if w.plan.Settings.Timeout > 0 {
		until = time.Now().Add(budget.Total)
	}
	done := make(chan struct{})
	go func() {
		next := time.NewTicker(extendEvery)
		defer next.Stop()
		for {
			_ = manager.Notify(socket, s.notice(until)...)
			select {
			case <-next.C:
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// notice is what the manager is told now: how far we are, and that its limit
// should be further away than now, until ours is over.
func (s *site) notice(until time.Time) []string {
	lines := []string{"STATUS=" + s.progress.line(0)}
	if time.Now().Before(until) {
		lines = append(lines, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extendBy.Microseconds()))
	}
	return lines
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

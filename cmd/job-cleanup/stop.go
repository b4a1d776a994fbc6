package main

import (
	"context"

	"job-cleanup/pkg/engine"
)

// stoppable turns the first signal into a drain and the second into the end of
// the context.
func (p *program) stoppable(ctx context.Context) (context.Context, <-chan struct{}, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	drain := make(chan struct{})
	go func() {
		select {
		case <-p.signals:
			p.warn("a second signal stops at once", "stopping within %v; what is not done stays owed", engine.Grace)
			close(drain)
		case <-ctx.Done():
			return
		}
		select {
		case <-p.signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, drain, cancel
}

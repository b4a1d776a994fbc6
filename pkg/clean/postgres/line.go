package postgres

import (
	"context"
	"sync"
)

// line is a server together with one connection that is kept from one use to
// the next: to log in costs more than all that is done then. Uses at the same
// time have connections of their own.
type line struct {
	server

	mu     sync.Mutex
	idle   *session // nil while it is used, or when there is none
	closed bool     // nothing is kept any more
}

// use runs do on the kept connection or on a new one. Its errors are
// *residue.Error. One that broke while nobody used it is made anew, unless
// something was already begun on it.
func (l *line) use(ctx context.Context, do func(*session) error) error {
	if s := l.take(); s != nil {
		err := do(s)
		if stale := s.conn.IsClosed() && !s.begun && ctx.Err() == nil; !stale {
			l.put(s)
			return l.failed(err)
		}
	}
	s, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer l.put(s)
	return l.failed(do(s))
}

// take returns the kept connection, nil when there is none to be had.
func (l *line) take() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.idle
	l.idle = nil
	if s != nil {
		s.begun = false
	}
	return s
}

// txIdle is the server's word for a connection without a transaction.
const txIdle = 'I'

// put keeps a connection after its use, or ends it: when it broke, when a
// transaction is left open on it, or when there is one already.
func (l *line) put(s *session) {
	if !l.keep(s) {
		disconnect(s.conn)
	}
}

func (l *line) keep(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.idle != nil || s.conn.IsClosed() || s.conn.TxStatus() != txIdle {
		return false
	}
	l.idle = s
	return true
}

// close ends the kept connection. One that is used now ends after that use.
func (l *line) close() error {
	l.mu.Lock()
	s := l.idle
	l.idle, l.closed = nil, true
	l.mu.Unlock()
	if s != nil {
		disconnect(s.conn)
	}
	return nil
}

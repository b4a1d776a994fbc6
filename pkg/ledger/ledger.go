package ledger

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Ledger is what one invocation owes. It is safe for concurrent use, and for
// several processes at once.
//
// It remembers what it read and wrote. When another process settled the file
// meanwhile, or wrote it anew, a debt that is then recorded comes with the
// spec it belongs to, so that no line is left without its meaning.
type Ledger struct {
	store            *Store
	unit, invocation string
	turn             chan struct{} // held by whoever uses what is below

	memory    memory
	compacted int64 // size after we last wrote it anew
}

// Unit is the unit's name.
func (l *Ledger) Unit() string { return l.unit }

// Invocation is the invocation's name.
func (l *Ledger) Invocation() string { return l.invocation }

func (l *Ledger) name() string { return l.invocation + ledgerSuffix }

// begin waits for the handle's turn.
func (l *Ledger) begin(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ledger of %q: %w: %w", l.unit, ErrBusy, ctx.Err())
	}
}

func (l *Ledger) end() { <-l.turn }

// Replay reads what the ledger says, without a lock and without changing
// anything. A ledger that is not there is an error that wraps fs.ErrNotExist.
func (l *Ledger) Replay(ctx context.Context) (*State, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.end()
	dir, err := l.store.folder(l.unit, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := openRegular(dir, l.name(), unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return l.read(f)
}

// read replays an open file.
func (l *Ledger) read(f *os.File) (*State, error) {
	id, err := identify(f)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s, err := Replay(f)
	if err != nil {
		return nil, err
	}
	l.memory.size = info.Size()
	s.Job.Unit, s.Job.Invocation = l.unit, l.invocation // the name is what the folder's owner vouches for
	l.memory.learn(s, id)
	return s, nil
}

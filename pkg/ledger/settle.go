package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Settled is what became of a ledger.
type Settled struct {
	Gone  bool   // nothing was owed: there is no ledger any more
	Aside string // name of the damaged file that was set aside, "" for none
	State *State // what is owed; nil when there was no ledger
}

// Settle records ends and removes the ledger when nothing is owed any more. A
// damaged one is first set aside under the name <invocation>.damaged-<n>, where
// it stays for people to look at, and its good records are carried on in a file
// of the old name.
//
// Ends of a ledger that goes are not written at all, and its removal is not
// synced: a debt that a power cut brings back is looked at once more, without
// harm, and a sync would wait for the disk to hear of all that was removed.
func (l *Ledger) Settle(ctx context.Context, ends ...Record) (Settled, error) {
	if err := l.begin(ctx); err != nil {
		return Settled{}, err
	}
	defer l.end()
	ends = l.normal(ends)
	dir, lock, err := l.store.lock(ctx, l.unit, appendLock, owes(ends))
	if errors.Is(err, fs.ErrNotExist) {
		return Settled{Gone: true}, nil
	}
	if err != nil {
		return Settled{}, fmt.Errorf("settle ledger: %w", err)
	}
	defer dir.Close()
	defer lock.Close()
	result, err := l.settle(dir, ends)
	l.store.tidy(dir, l.unit, appendLock)
	if err != nil {
		return result, fmt.Errorf("settle ledger: %w", err)
	}
	return result, nil
}

func (l *Ledger) settle(dir *os.File, ends []Record) (Settled, error) {
	f, err := openRegular(dir, l.name(), unix.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if !owes(ends) {
			return Settled{Gone: true}, nil
		}
		err := l.write(dir, ends, true)
		return Settled{State: l.memory.known}, err
	}
	if err != nil {
		return Settled{}, err
	}
	defer f.Close()
	s, err := l.read(f)
	if err != nil {
		return Settled{}, err
	}
	result := Settled{State: s}
	if s.damaged > 0 {
		if result.Aside, err = l.setAside(dir, f); err != nil {
			return result, err
		}
	}
	for _, r := range ends {
		s.apply(r)
	}
	if len(s.Owed()) > 0 || len(s.Unknown) > 0 {
		if len(ends) == 0 {
			return result, nil
		}
		return result, l.write(dir, ends, false)
	}
	if err := unix.Unlinkat(int(dir.Fd()), l.name(), 0); err != nil {
		return result, pathError("remove", dir, l.name(), err)
	}
	result.Gone = true
	return result, nil
}

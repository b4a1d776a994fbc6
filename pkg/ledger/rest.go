package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// Rest notes in the file's modification time that nothing in the ledger is to
// be done before then, as it was last read through this handle: a pass over
// very many ledgers need not open those whose Entry.Modified is to come. Any
// append takes the mark away. Where the ledger was written to meanwhile, or is
// gone, nothing is noted, and that is no error.
func (l *Ledger) Rest(ctx context.Context, until time.Time) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.end()
	dir, lock, err := l.store.lock(ctx, l.unit, appendLock, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mark ledger: %w", err)
	}
	defer dir.Close()
	defer lock.Close()
	defer l.store.tidy(dir, l.unit, appendLock)
	f, err := openRegular(dir, l.name(), unix.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mark ledger: %w", err)
	}
	defer f.Close()
	id, err := identify(f)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil || !id.same(l.memory.file) || info.Size() != l.memory.size {
		return err
	}
	stamp := unix.NsecToTimeval(until.UnixNano())
	if err := unix.Futimes(int(f.Fd()), []unix.Timeval{stamp, stamp}); err != nil {
		return pathError("mark", f, "", err)
	}
	return nil
}

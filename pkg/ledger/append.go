package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Append records all of the records or none: one write, synced to the disk
// when it returns nil. It makes the file when something is owed; records that
// only end debts make none. Waiting for another writer ends with the context.
func (l *Ledger) Append(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.end()
	records = l.normal(records)
	create := owes(records)
	dir, lock, err := l.store.lock(ctx, l.unit, appendLock, create)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil
	}
	if err != nil {
		return fmt.Errorf("append to ledger: %w", err)
	}
	defer dir.Close()
	defer lock.Close()
	if err := l.write(dir, records, create); err != nil {
		l.store.tidy(dir, l.unit, appendLock)
		return fmt.Errorf("append to ledger: %w", err)
	}
	return nil
}

func (l *Ledger) normal(records []Record) []Record {
	all, now := make([]Record, len(records)), l.store.now()
	for i, r := range records {
		all[i] = normal(r, now)
	}
	return all
}

// owes reports whether some record makes a debt or tells whose it is.
func owes(records []Record) bool {
	for _, r := range records {
		switch r.Type {
		case TypeJob, TypeSpec, TypeAttempt:
			return true
		case TypeFound:
			if r.Residue != nil {
				return true
			}
		}
	}
	return false
}

// write appends records to the file in dir, whose append lock is held.
func (l *Ledger) write(dir *os.File, records []Record, create bool) error {
	f, made, err := l.open(dir, create)
	if errors.Is(err, fs.ErrNotExist) && !create {
		l.memory.note(records)
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := l.recognise(f); err != nil {
		return err
	}
	all := append(l.memory.missing(records), records...)
	l.memory.note(records)
	size, err := l.add(f, all)
	if err == nil && made {
		err = l.store.syncFolders(dir)
	}
	if err != nil {
		if made {
			_ = unix.Unlinkat(int(dir.Fd()), l.name(), 0)
		}
		return err
	}
	l.memory.present.add(all)
	if size > max(l.store.compactAt, l.compacted+min(l.compacted, MaxFile/8)) {
		_ = l.compact(dir, f) // what is owed is written already
	}
	return nil
}

// recognise reads the file when it may be another one than we remember.
func (l *Ledger) recognise(f *os.File) error {
	if l.memory.known == nil {
		return nil // nothing to remember: our records stand for themselves
	}
	id, err := identify(f)
	if err != nil || id.same(l.memory.file) {
		return err
	}
	_, err = l.read(f)
	return err
}

// open opens the ledger to append to it, and makes it when that is wanted.
func (l *Ledger) open(dir *os.File, create bool) (f *os.File, made bool, err error) {
	const flags = unix.O_RDWR | unix.O_APPEND
	f, err = openRegular(dir, l.name(), flags, 0)
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return f, false, err
	}
	f, err = openRegular(dir, l.name(), flags|unix.O_CREAT|unix.O_EXCL, l.store.fileMode)
	if err != nil {
		return nil, false, err
	}
	if err := own(f, l.store.fileMode, l.store.group); err != nil {
		f.Close()
		_ = unix.Unlinkat(int(dir.Fd()), l.name(), 0)
		return nil, false, err
	}
	return f, true, nil
}

// add writes records at the end of f and syncs it. It returns the file's new
// size.
func (l *Ledger) add(f *os.File, records []Record) (int64, error) {
	batch, err := encode(records)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	if size+int64(len(batch))+1 > MaxFile {
		return 0, fmt.Errorf("%q has %d bytes: %w", f.Name(), size, ErrFull)
	}
	if size > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], size-1); err != nil {
			return 0, err
		}
		if last[0] != '\n' { // a torn line must not spoil ours
			batch = append([]byte{'\n'}, batch...)
		}
	}
	if err := writeOnce(f, batch, size); err != nil {
		return 0, err
	}
	return size + int64(len(batch)), f.Sync()
}

// writeOnce appends batch in one write. Of a write that was cut short, by a
// full disk, nothing stays.
func writeOnce(f *os.File, batch []byte, size int64) error {
	n, err := unix.Write(int(f.Fd()), batch)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Write(int(f.Fd()), batch)
	}
	if err == nil && n == len(batch) {
		return nil
	}
	if err == nil {
		err = unix.ENOSPC
	}
	if n > 0 {
		_ = f.Truncate(size) // else the next append begins a new line
	}
	return pathError("write", f, "", err)
}

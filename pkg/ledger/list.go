package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// batch is how many names are read from a folder at a time.
const batch = 256

// Folder is the folder of one unit and whose it is.
type Folder struct {
	Unit     string
	UID, GID uint32
}

// Entry is one file of a store.
type Entry struct {
	Unit       string
	Invocation string    // the ledger's
	Damaged    int       // the number of a damaged file that was set aside; 0 for a ledger
	Size       int64     // bytes
	Modified   time.Time // last written, or until when it rests; see Rest
}

// Units goes through the unit folders, in no order. It opens none of them, so
// that it may look at folders that jobs own. Errors are about single folders,
// or end the iteration with a zero Folder. A store that is not there is empty.
func (s *Store) Units(ctx context.Context) iter.Seq2[Folder, error] {
	return func(yield func(Folder, error) bool) {
		top, err := s.top(false)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Folder{}, err)
			return
		}
		defer top.Close()
		for name, err := range names(ctx, top) {
			if err != nil {
				yield(Folder{}, err)
				return
			}
			f, err := describe(top, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // settled meanwhile
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

func describe(top *os.File, name string) (Folder, error) {
	f := Folder{Unit: name}
	if err := checkName("unit", name, ""); err != nil {
		return f, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(top.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return f, pathError("stat", top, name, err)
	}
	f.UID, f.GID = st.Uid, st.Gid
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return f, fmt.Errorf("%q is not a folder: %w", name, ErrUntrusted)
	}
	return f, nil
}

// Ledgers goes through the files of one unit, in no order: its ledgers, and
// damaged ones that were set aside. What is neither comes with an error.
func (s *Store) Ledgers(ctx context.Context, unit string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := checkName("unit", unit, ""); err != nil {
			yield(Entry{Unit: unit}, err)
			return
		}
		dir, err := s.folder(unit, false)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Entry{Unit: unit}, err)
			return
		}
		defer dir.Close()
		for name, err := range names(ctx, dir) {
			if err != nil {
				yield(Entry{Unit: unit}, err)
				return
			}
			e, err := entry(dir, unit, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// List goes through all files of all units that we may open, in no order.
func (s *Store) List(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for f, err := range s.Units(ctx) {
			if err != nil {
				if !yield(Entry{Unit: f.Unit}, err) {
					return
				}
				continue
			}
			for e, err := range s.Ledgers(ctx, f.Unit) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

func entry(dir *os.File, unit, name string) (Entry, error) {
	e := Entry{Unit: unit}
	var found bool
	if e.Invocation, found = strings.CutSuffix(name, ledgerSuffix); !found {
		i := strings.LastIndex(name, asideSuffix)
		if i < 0 {
			return e, fmt.Errorf("%q of unit %q is no ledger: %w", name, unit, ErrUntrusted)
		}
		e.Invocation = name[:i]
		n, err := strconv.Atoi(name[i+len(asideSuffix):])
		if err != nil || n < 1 {
			return e, fmt.Errorf("%q of unit %q is no ledger: %w", name, unit, ErrUntrusted)
		}
		e.Damaged = n
	}
	if err := checkName("invocation", e.Invocation, ""); err != nil {
		return e, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return e, pathError("stat", dir, name, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return e, fmt.Errorf("%q of unit %q is not a regular file: %w", name, unit, ErrUntrusted)
	}
	e.Size, e.Modified = st.Size, time.Unix(st.Mtim.Unix())
	return e, nil
}

// names reads a folder's names a batch at a time, without hidden ones. It ends
// with an error when the context does, and with fs.ErrPermission for a folder
// that we may only go through.
func names(ctx context.Context, dir *os.File) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for {
			if err := ctx.Err(); err != nil {
				yield("", err)
				return
			}
			found, err := dir.Readdirnames(batch)
			for _, name := range found {
				if name[0] != '.' && !yield(name, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) { // the folder went meanwhile
				return
			}
			if errors.Is(err, unix.EBADF) {
				err = &fs.PathError{Op: "list", Path: dir.Name(), Err: fs.ErrPermission}
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

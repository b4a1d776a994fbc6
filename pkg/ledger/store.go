// Package ledger keeps the durable record of what jobs owe: one append-only
// file of JSON lines for each invocation of each unit.
//
// Something is owed from the moment it is recorded until a record says that it
// was removed or proven gone. Nothing else ends a debt: not a torn line, not a
// damaged file, not a record that this version can't read. When a ledger owes
// nothing its file goes.
//
// Files lie in a Store, which also says who may read them. A ledger that a job
// can write is hostile input to everybody else, so a store opens only what its
// own user or root owns, never through a link, and never waits for a FIFO.
package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	ledgerSuffix = ".jsonl"
	asideSuffix  = ".damaged-" // and a number
	maxAside     = 99          // damaged files kept of one ledger
	maxName      = 255         // bytes of a file name on Linux
)

// ErrName is wrapped by the errors about a unit or invocation that can't be a
// file name.
var ErrName = errors.New("not usable as a file name")

// ErrUntrusted is wrapped by the errors about a file or folder that is not
// what a ledger must be: of another owner, writable by others, a link, not a
// regular file, with a second name.
var ErrUntrusted = errors.New("not a trusted ledger")

// ErrFull is wrapped by Append's error when the ledger would grow past
// MaxFile.
var ErrFull = errors.New("ledger is full")

// Store is a folder of ledgers: <unit>/<invocation>.jsonl. It opens nothing
// until it is used, and is safe for concurrent use, also by many processes.
type Store struct {
	base      string // trusted: reached through links and mounts
	part      string // folder below base; "" for none
	baseMode  fs.FileMode
	partMode  fs.FileMode
	unitMode  fs.FileMode
	fileMode  fs.FileMode
	group     int // of new unit folders and files; -1 means the creator's
	clock     func() time.Time
	compactAt int64 // size from which a file is worth writing anew
}

// Root is root's own store below the state folder: specs from plans and what
// arm recorded. With a group (-1 for none) the new ledgers can be read by it,
// so that the hook of a User= unit sees its armed specs.
func Root(state string, group int) *Store {
	return &Store{base: state, part: "root", group: group, compactAt: compactAt,
		baseMode: 0o755, partMode: 0o755, unitMode: 0o750, fileMode: 0o640}
}

// Jobs is the store of tracked residue below the state folder. Its unit
// folders are made by root with Give; each is used by a process of its owner
// only.
func Jobs(state string) *Store {
	return &Store{base: state, part: "job", group: -1, compactAt: compactAt,
		baseMode: 0o755, partMode: 0o711, unitMode: 0o700, fileMode: 0o600}
}

// Own is the store of a caller without a share in root's: a user manager, a CI
// job, a laptop.
func Own(state string) *Store {
	return &Store{base: state, group: -1, compactAt: compactAt,
		baseMode: 0o700, unitMode: 0o700, fileMode: 0o600}
}

func (s *Store) now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return time.Now()
}

// Ledger returns the ledger of one invocation. Nothing is opened; names that
// can't be file names are an error that wraps ErrName.
func (s *Store) Ledger(unit, invocation string) (*Ledger, error) {
	if err := checkName("unit", unit, ""); err != nil {
		return nil, err
	}
	if err := checkName("invocation", invocation, asideName("", maxAside)); err != nil {
		return nil, err
	}
	l := &Ledger{store: s, unit: unit, invocation: invocation, turn: make(chan struct{}, 1)}
	return l, nil
}

// checkName accepts one path component that is neither hidden nor able to
// disturb a terminal, with room for a suffix.
func checkName(what, name, suffix string) error {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	switch {
	case name == "":
		return fmt.Errorf("empty %s: %w", what, ErrName)
	case len(name)+len(suffix) > maxName:
		return fmt.Errorf("%s %.32q… of %d bytes: %w", what, name, len(name), ErrName)
	case name[0] == '.', strings.Contains(name, "/"), !utf8.ValidString(name), strings.ContainsFunc(name, control):
		return fmt.Errorf("%s %q: %w", what, name, ErrName)
	}
	return nil
}

func asideName(invocation string, n int) string {
	return fmt.Sprint(invocation, asideSuffix, n)
}

// euid is who we are; what we or root own is trusted.
func euid() uint32 { return uint32(os.Geteuid()) }

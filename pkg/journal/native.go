package journal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	native "github.com/coreos/go-systemd/v22/journal"
)

// Native sends records to journald over its native protocol.
type Native struct {
	objectUnit bool
	send       func(message string, p native.Priority, vars map[string]string) error
	patience   time.Duration // how long one record may take
	turn       chan struct{} // holds one token; who has it may call send
	stuck      atomic.Bool   // a write was given up and has not ended yet
}

// NewNative returns a sender to the machine's journal. With objectUnit each
// record of a unit carries OBJECT_SYSTEMD_UNIT=, so that journalctl -u shows
// it whichever unit it was sent from; journald heeds that from root only.
func NewNative(objectUnit bool) *Native {
	n := &Native{objectUnit: objectUnit, send: native.Send, patience: time.Second, turn: make(chan struct{}, 1)}
	n.turn <- struct{}{}
	return n
}

// Available reports whether there is a journal that can be written to now.
func (n *Native) Available() bool { return native.Enabled() }

// errStuck is the answer while journald takes nothing.
var errStuck = errors.New("the journal does not take records")

// Send sends one record, in about a second at most.
//
// The library's socket is not connected, so its write to a journal whose queue
// is full waits for a wake-up that may never come. The write therefore runs
// aside, and while one hangs there further records fail at once.
func (n *Native) Send(r Record) error {
	limit := time.NewTimer(n.patience)
	defer limit.Stop()
	if !n.take(limit.C) {
		return errStuck
	}
	fields := n.fields(r)
	done := make(chan error, 1)
	go func() {
		err := n.write(fields)
		n.stuck.Store(false)
		n.turn <- struct{}{}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-limit.C:
		n.stuck.Store(true)
		return errStuck
	}
}

// take waits for the token, but not behind a write that was given up.
func (n *Native) take(limit <-chan time.Time) bool {
	if n.stuck.Load() {
		select {
		case <-n.turn:
			return true
		default:
			return false
		}
	}
	select {
	case <-n.turn:
		return true
	case <-limit:
		return false
	}
}

func (n *Native) fields(r Record) map[string]string {
	fields := r.Fields()
	if n.objectUnit && strings.ContainsRune(r.Unit, '.') { // not a CI platform's word
		fields[fieldObjectUnit] = r.Unit
	}
	return fields
}

// Sizes of a record. One datagram holds about 200 KiB; the library passes more
// than that as a file, which needs a /dev/shm that can be written to.
const (
	largeRecord = 64 << 10
	shortValue  = 4 << 10
)

// write sends the fields. A large record that does not go out is cut and sent
// again: what is owed is told even where there is no room for all of it.
func (n *Native) write(fields map[string]string) error {
	err := n.sendFields(fields)
	if err != nil && size(fields) > largeRecord {
		err = n.sendFields(cut(fields))
	}
	if err != nil {
		return fmt.Errorf("send to the journal: %w", err)
	}
	return nil
}

func (n *Native) sendFields(fields map[string]string) error {
	vars := make(map[string]string, len(fields))
	for name, value := range fields {
		if name != fieldMessage && name != fieldPriority {
			vars[name] = value
		}
	}
	level, err := strconv.Atoi(fields[fieldPriority])
	if err != nil {
		return err
	}
	return n.send(fields[fieldMessage], native.Priority(level), vars)
}

func size(fields map[string]string) int {
	sum := 0
	for name, value := range fields {
		sum += len(name) + len(value)
	}
	return sum
}

// cut shortens long values and says so in JOB_CLEANUP_TRUNCATED.
func cut(fields map[string]string) map[string]string {
	short := map[string]string{prefix + "TRUNCATED": "1"}
	for name, value := range fields {
		short[name] = value[:min(len(value), shortValue)]
	}
	return short
}

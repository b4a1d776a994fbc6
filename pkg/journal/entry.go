package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"
)

// Entry is a record that was read back, with all fields as the journal has
// them.
type Entry struct {
	Record
	// Fields are the raw values by name. A field may stand several times.
	Fields map[string][]string
}

// one returns the value of a field that stands exactly once, or "". A second
// value is somebody's attempt to be read differently by different readers.
func (e Entry) one(name string) string {
	if values := e.Fields[name]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// Trusted reports whether the record can be believed: root sent it, or the
// very unit that it is about. Any user can log any of our fields, but fields
// that begin with an underscore are journald's own.
func (e Entry) Trusted() bool {
	unit := e.one(fieldUnit)
	return e.one("_UID") == "0" || unit != "" && e.one("_SYSTEMD_UNIT") == unit
}

// TrustedUser reports the same for a record about a unit of a user manager:
// its user sent it, or root.
func (e Entry) TrustedUser(uid uint32) bool {
	sender := e.one("_UID")
	return sender == "0" || sender == strconv.FormatUint(uint64(uid), 10)
}

// Decode reads records as journalctl -o json prints them, one JSON object
// after the other. Entries of others come too, with an empty Event. The first
// error ends the sequence; a text that just stops is one.
func Decode(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := json.NewDecoder(r)
		for {
			var fields map[string]values
			switch err := in.Decode(&fields); {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Entry{}, fmt.Errorf("read journal records: %w", err))
				return
			}
			if !yield(entry(fields), nil) {
				return
			}
		}
	}
}

// values are one JSON value of journalctl: a string, an array of byte values
// for what is no UTF-8, null for what was too large, or an array of these for
// a field that stands several times.
type values []string

// UnmarshalJSON reads any of the shapes.
func (v *values) UnmarshalJSON(text []byte) error {
	*v = nil
	switch text[0] {
	case 'n': // the decoder does call this for null
		return nil
	case '[':
		return v.array(text)
	}
	var one string
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	*v = values{one}
	return nil
}

func (v *values) array(text []byte) error {
	var bytes []uint8ish
	if json.Unmarshal(text, &bytes) == nil {
		*v = values{asString(bytes)}
		return nil
	}
	var many []values
	if err := json.Unmarshal(text, &many); err != nil {
		return err
	}
	for _, m := range many {
		*v = append(*v, m...)
	}
	return nil
}

// uint8ish is a byte written as a number; a []byte would be read as base64.
type uint8ish uint8

func asString(bytes []uint8ish) string {
	text := make([]byte, len(bytes))
	for i, b := range bytes {
		text[i] = byte(b)
	}
	return string(text)
}

// entry fills in the record from its fields. Numbers that are none count as
// absent: nobody vouches for them.
func entry(raw map[string]values) Entry {
	e := Entry{Fields: map[string][]string{}}
	for name, v := range raw {
		e.Fields[name] = v
	}
	e.Event = Event(e.one(fieldEvent))
	e.Message = e.one(fieldMessage)
	e.Priority = Priority(e.number(fieldPriority))
	e.Duration = time.Duration(e.number(fieldDuration)) * time.Microsecond
	if at := e.number(fieldRealtime); at > 0 {
		e.Time = time.UnixMicro(at)
	}
	for name, text := range e.texts() {
		*text = e.one(name)
	}
	for name, n := range e.numbers() {
		*n = int(e.number(name))
	}
	for _, status := range statuses {
		if n := int(e.number(countField(status))); n > 0 && e.Event == Summary {
			e.count(status, n)
		}
	}
	return e
}

func (e *Entry) count(status Event, n int) {
	if e.Counts == nil {
		e.Counts = map[Event]int{}
	}
	e.Counts[status] = n
}

func (e Entry) number(name string) int64 {
	n, err := strconv.ParseInt(e.one(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// class is what a line of a ledger turned out to be.
type class int

const (
	blank   class = iota
	good          // a record
	newer         // a record with fields that this version does not know
	unknown       // a record of another version or type: kept, never acted on
	torn          // the beginning of a record: its writer died, nobody relied on it
	damaged
)

// encode makes the lines of some records.
func encode(records []Record) ([]byte, error) {
	var b bytes.Buffer
	for _, r := range records {
		start := b.Len()
		e := json.NewEncoder(&b) // ends with a newline
		e.SetEscapeHTML(false)
		if err := e.Encode(escaped(r)); err != nil {
			return nil, fmt.Errorf("encode %s record: %w", r.Type, err)
		}
		if n := b.Len() - start; n > MaxLine {
			return nil, fmt.Errorf("%s record of %d bytes is longer than %d", r.Type, n, MaxLine)
		}
	}
	return b.Bytes(), nil
}

// decode reads one line without its newline. The error says what is wrong with
// a damaged one.
func decode(line []byte) (Record, class, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return Record{}, blank, nil
	}
	var head struct {
		Version *int    `json:"v"`
		Type    *string `json:"t"`
	}
	if err := one(line, &head, false); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) && line[0] == '{' {
			return Record{}, torn, nil
		}
		return Record{}, damaged, err
	}
	if head.Version == nil || head.Type == nil {
		return Record{}, damaged, errors.New("no version or type")
	}
	if *head.Version != version || !known(Type(*head.Type)) {
		return Record{}, unknown, nil
	}
	return decodeKnown(line)
}

func decodeKnown(line []byte) (Record, class, error) {
	var r Record
	c := good
	if one(line, &r, true) != nil {
		r, c = Record{}, newer
		if err := one(line, &r, false); err != nil {
			return Record{}, damaged, err
		}
	}
	if !r.complete() {
		return Record{}, damaged, fmt.Errorf("incomplete %s record", r.Type)
	}
	if bytes.Contains(line, []byte(mark)) || bytes.Contains(line, []byte(`\uf`)) || bytes.Contains(line, []byte(`\uF`)) {
		r = unescaped(r)
	}
	return r, c, nil
}

// one decodes exactly one JSON object.
func one(line []byte, to any, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(line))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the record")
	}
	return nil
}

func known(t Type) bool {
	switch t {
	case TypeJob, TypeSpec, TypeFound, TypeAttempt, TypeClosed, TypeForget, TypeOutcome:
		return true
	}
	return false
}

// normal fills in what a caller may leave out of r.
func normal(r Record, now time.Time) Record {
	r.Version = version
	if r.At.IsZero() {
		r.At = now
	}
	r.At = r.At.Round(0).UTC()
	if r.Spec != nil && r.Spec.ID == "" {
		s := *r.Spec
		s.Identify()
		r.Spec = &s
	}
	if r.Residue != nil && r.Residue.ID == "" {
		x := *r.Residue
		x.Identify()
		r.Residue = &x
	}
	if len(r.Message) > maxMessage {
		r.Message = r.Message[:maxMessage] + "…"
	}
	return r
}

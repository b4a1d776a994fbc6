package journal

import "errors"

// Sender sends records somewhere. Send may be called from several goroutines
// at once, returns within a second or two whatever happens to the other side,
// and does not keep the record.
type Sender interface {
	Send(Record) error
}

// First sends each record to the first of the senders that takes it.
func First(senders ...Sender) Sender { return first(senders) }

type first []Sender

// Send returns the errors of all senders when none took the record.
func (senders first) Send(r Record) error {
	var all []error
	for _, s := range senders {
		err := s.Send(r)
		if err == nil {
			return nil
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// Tee sends each record to all of the senders.
func Tee(senders ...Sender) Sender { return tee(senders) }

type tee []Sender

// Send returns the errors of those that did not take the record.
func (senders tee) Send(r Record) error {
	var all []error
	for _, s := range senders {
		all = append(all, s.Send(r))
	}
	return errors.Join(all...)
}

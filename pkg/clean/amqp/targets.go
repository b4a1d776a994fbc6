package amqp

import (
	"errors"

	"github.com/rabbitmq/amqp091-go"
)

// errNoCondition is the answer for quorum queues and streams, which can't be
// deleted on the condition that nobody uses them. The server ends the
// connection with it.
var errNoCondition = errors.New("this sort of queue knows no condition")

// queue is a queue by its name.
type queue struct{ name string }

func (t queue) look(s *session) (there, used bool, err error) {
	state, there, err := inspect(s, t.name)
	return there, state.Consumers > 0, err
}

// inspect asks for the state of a queue.
func inspect(s *session, name string) (state amqp091.Queue, there bool, err error) {
	err = s.channel(func(ch *amqp091.Channel) error {
		var err error
		state, err = ch.QueueDeclarePassive(name, false, false, false, false, nil)
		return err
	})
	if absent(err) {
		return state, false, nil
	}
	return state, err == nil, err
}

func (t queue) remove(s *session, ifUnused bool) error {
	err := s.channel(func(ch *amqp091.Channel) error {
		_, err := ch.QueueDelete(t.name, ifUnused, false, false)
		return err
	})
	if ifUnused && codeOf(err) == amqp091.NotImplemented {
		return errNoCondition
	}
	return err
}

// messages are the messages of a queue.
type messages struct{ name string }

// look counts the messages that wait. Those that a consumer has not answered
// for yet come back when it ends.
func (t messages) look(s *session) (there, used bool, err error) {
	state, _, err := inspect(s, t.name)
	return state.Messages > 0, state.Consumers > 0, err
}

func (t messages) remove(s *session, _ bool) error {
	return s.channel(func(ch *amqp091.Channel) error {
		_, err := ch.QueuePurge(t.name, false)
		return err
	})
}

// exchange is an exchange by its name.
type exchange struct{ name string }

// look can't tell whether something is bound; the deletion does.
func (t exchange) look(s *session) (there, used bool, err error) {
	err = s.channel(func(ch *amqp091.Channel) error {
		return ch.ExchangeDeclarePassive(t.name, amqp091.ExchangeDirect, false, false, false, false, nil) // of any type
	})
	if absent(err) {
		return false, false, nil
	}
	return err == nil, false, err
}

func (t exchange) remove(s *session, ifUnused bool) error {
	return s.channel(func(ch *amqp091.Channel) error { return ch.ExchangeDelete(t.name, ifUnused, false) })
}

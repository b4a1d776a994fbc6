package amqp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/rabbitmq/amqp091-go"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

func refused(format string, args ...any) error {
	return residue.Errorf(residue.Refused, residue.Other, format, args...)
}

// codeOf is the reply code that the server sent, 0 when it sent none.
func codeOf(err error) int {
	var said *amqp091.Error
	if errors.As(err, &said) {
		return said.Code
	}
	return 0
}

// absent reports whether the server says that there is no such thing. It uses
// the same code for a queue whose node is down, which is not gone.
func absent(err error) bool {
	var said *amqp091.Error
	return errors.As(err, &said) && said.Code == amqp091.NotFound &&
		(strings.Contains(said.Reason, "- no queue '") || strings.Contains(said.Reason, "- no exchange '"))
}

// failed puts an error of the client into the words that the engine acts on.
// Its text may hold the server's words, so it is scrubbed and cut.
func failed(ctx context.Context, err error, hide ...secret.Text) error {
	var own *residue.Error
	if err == nil || errors.Is(err, errNoCondition) || errors.As(err, &own) {
		return err
	}
	class, reason := judge(ctx, err)
	return &residue.Error{Class: class, Reason: reason, Err: errors.New(secret.Excerpt(err.Error(), hide...))}
}

func judge(ctx context.Context, err error) (residue.Class, residue.Reason) {
	var wire net.Error
	var unverified *tls.CertificateVerificationError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return residue.Retry, residue.Cancelled
	case ctx.Err() != nil, errors.As(err, &wire) && wire.Timeout():
		return residue.Unreachable, residue.Timeout
	case errors.As(err, &unverified):
		return residue.Retry, residue.Other
	case errors.Is(err, amqp091.ErrClosed), errors.As(err, &wire), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return residue.Unreachable, residue.NoAnswer
	}
	return judgeCode(codeOf(err))
}

// judgeCode reads a reply code of the protocol.
func judgeCode(code int) (residue.Class, residue.Reason) {
	switch code {
	case amqp091.AccessRefused:
		return residue.Retry, residue.Permission
	case amqp091.ResourceLocked, amqp091.PreconditionFailed:
		return residue.Retry, residue.InUse
	case amqp091.ConnectionForced:
		return residue.Unreachable, residue.NoAnswer
	}
	return residue.Retry, residue.Other
}

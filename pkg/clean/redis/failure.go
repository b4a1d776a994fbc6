package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

func refused(format string, args ...any) error {
	return residue.Errorf(residue.Refused, residue.Other, format, args...)
}

// failed puts an error of the client into the words that the engine acts on.
// Its text may hold the server's words, so it is scrubbed and cut.
func failed(ctx context.Context, err error, hide []secret.Text) error {
	var own *residue.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	class, reason := judge(ctx, err)
	return &residue.Error{Class: class, Reason: reason, Err: errors.New(secret.Excerpt(err.Error(), hide...))}
}

func judge(ctx context.Context, err error) (residue.Class, residue.Reason) {
	var said redis.Error
	var wire net.Error
	switch {
	case errors.As(err, &said):
		return judgeAnswer(said.Error())
	case errors.Is(ctx.Err(), context.Canceled):
		return residue.Retry, residue.Cancelled
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil, errors.As(err, &wire) && wire.Timeout():
		return residue.Unreachable, residue.Timeout
	case errors.As(err, &wire), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return residue.Unreachable, residue.NoAnswer
	}
	return residue.Retry, residue.Other
}

// judgeAnswer reads the first word of an error that the server sent.
func judgeAnswer(text string) (residue.Class, residue.Reason) {
	switch word, _, _ := strings.Cut(text, " "); word {
	case "NOAUTH", "WRONGPASS", "NOPERM":
		return residue.Retry, residue.Permission
	case "WRONGTYPE": // not the plain value that a lock of this sort has
		return residue.Refused, residue.Changed
	case "LOADING":
		return residue.Unreachable, residue.NoAnswer
	}
	return residue.Retry, residue.Other
}

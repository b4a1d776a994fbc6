package s3

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// maxMessage bounds what of a server's words stands in an error, in bytes.
const maxMessage = 300

// code is the service's word for why a request failed, "" when it gave none.
// Types of the client library don't tell: it has none for most codes.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// is reports whether a request failed with one of the codes.
func is(err error, codes ...string) bool {
	got := code(err)
	for _, c := range codes {
		if got == c {
			return true
		}
	}
	return false
}

// unimplemented reports whether the store does not know the request at all.
func unimplemented(err error) bool {
	return is(err, "NotImplemented", "MethodNotAllowed") || status(err) == http.StatusNotImplemented
}

// status is the HTTP status of a failed request, 0 when there was no answer.
func status(err error) int {
	var resp *smithyhttp.ResponseError
	if errors.As(err, &resp) && resp.HTTPResponse() != nil {
		return resp.HTTPStatusCode()
	}
	return 0
}

// failed is the *Error for a request that failed. It never says that something
// is gone: who asked knows what an absent thing means.
func (c *cleaner) failed(ctx context.Context, err error, doing, ref string) error {
	class, reason := classify(ctx, err)
	return residue.Errorf(class, reason, "%s %q: %s", doing, ref, c.words(err))
}

func classify(ctx context.Context, err error) (residue.Class, residue.Reason) {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return residue.Retry, residue.Cancelled
	case ctx.Err() != nil:
		return residue.Retry, residue.Deadline
	case locked(err):
		return residue.Retry, residue.Immutable
	case is(err, "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId"):
		return residue.Retry, residue.NoCredentials
	case status(err) == http.StatusForbidden, status(err) == http.StatusUnauthorized:
		return residue.Retry, residue.Permission
	case status(err) != 0:
		return residue.Retry, residue.Other
	}
	return silent(err)
}

// silent says what it means that there was no answer.
func silent(err error) (residue.Class, residue.Reason) {
	var sent *smithyhttp.RequestSendError
	var wire net.Error
	switch {
	case errors.As(err, &wire) && wire.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		return residue.Unreachable, residue.Timeout
	case errors.As(err, &sent), errors.As(err, &wire):
		return residue.Unreachable, residue.NoAnswer
	}
	return residue.Retry, residue.Other
}

// locked reports whether an object lock keeps a version. Stores say so in
// different codes; Amazon's own is AccessDenied, told apart by its words only.
func locked(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	text := strings.ToLower(api.ErrorCode() + " " + api.ErrorMessage())
	for _, word := range []string{"objectlocked", "object lock", "worm protected", "legal hold"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// words is what people read: code and message, or what the network said.
func (c *cleaner) words(err error) string {
	text := err.Error()
	var api smithy.APIError
	var sent *smithyhttp.RequestSendError
	switch {
	case errors.As(err, &api):
		text = api.ErrorCode() + ": " + api.ErrorMessage()
	case errors.As(err, &sent) && sent.Err != nil:
		text = sent.Err.Error()
	}
	text = secret.Scrub(text, c.secrets...)
	if len(text) > maxMessage {
		text = text[:maxMessage] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

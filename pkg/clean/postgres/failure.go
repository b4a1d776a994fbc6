package postgres

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// SQLSTATE codes, from appendix A of PostgreSQL's manual.
const (
	codeNoLock      = "55P03" // lock_timeout
	codeCancelled   = "57014" // statement_timeout
	codeInUse       = "55006"
	codeDependents  = "2BP01"
	codeReferenced  = "0A000" // truncate of a table that a foreign key points to
	codeDeadlock    = "40P01"
	codeSerialize   = "40001"
	codeNoRight     = "42501"
	codeNoMemory    = "53200" // among others: the lock table is full
	codeNoDatabase  = "3D000"
	codeNoSchema    = "3F000"
	codeNoTable     = "42P01"
	codeNoObject    = "42704"
	codeStarting    = "57P03"
	codeShutdown    = "57P01"
	codeCrash       = "57P02"
	classConnection = "08"
	classCredential = "28"
)

func codeOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// failed puts an error of the client into the words that the engine acts on.
// Its text may hold the server's words, so it is scrubbed and cut.
func failed(err error, hide ...secret.Text) error {
	var own *residue.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	class, reason := judge(err)
	return &residue.Error{Class: class, Reason: reason, Err: errors.New(plain(err, hide))}
}

// plain is the text of an error for people: one line, no secrets, bounded.
func plain(err error, hide []secret.Text) string {
	text := err.Error()
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		text = pg.Message + " (SQLSTATE " + pg.Code + ")"
	}
	return secret.Excerpt(text, hide...)
}

func judge(err error) (residue.Class, residue.Reason) {
	if code := codeOf(err); code != "" {
		return judgeCode(code)
	}
	var wire net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return residue.Retry, residue.Cancelled
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return residue.Unreachable, residue.Timeout
	case errors.As(err, &wire) && wire.Timeout():
		return residue.Unreachable, residue.Timeout
	case errors.As(err, &wire), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return residue.Unreachable, residue.NoAnswer
	}
	return residue.Retry, residue.Other
}

func judgeCode(code string) (residue.Class, residue.Reason) {
	switch code {
	case codeNoLock, codeInUse, codeDependents, codeReferenced, codeDeadlock, codeSerialize:
		return residue.Retry, residue.InUse
	case codeCancelled:
		return residue.Retry, residue.Timeout
	case codeNoRight:
		return residue.Retry, residue.Permission
	case codeStarting, codeShutdown, codeCrash:
		return residue.Unreachable, residue.NoAnswer
	}
	switch code[:min(2, len(code))] {
	case classConnection:
		return residue.Unreachable, residue.NoAnswer
	case classCredential:
		return residue.Retry, residue.Permission
	}
	return residue.Retry, residue.Other
}

// missingName reports whether a statement that names one thing found no such
// thing: somebody else was faster.
func missingName(err error) bool {
	switch codeOf(err) {
	case codeNoDatabase, codeNoSchema, codeNoTable, codeNoObject:
		return true
	}
	return false
}

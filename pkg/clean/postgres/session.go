package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// session is one connection, used by one goroutine.
type session struct {
	server
	conn  *pgconn.PgConn
	begun bool // a transaction of this use has begun
}

// at runs do on a session with another database, or on this one.
func (s *session) at(ctx context.Context, database string, do func(*session) error) error {
	if database == "" || database == s.config.Database {
		return do(s)
	}
	other := s.server
	other.config = s.config.Copy()
	other.config.Database = database
	return other.session(ctx, do)
}

// limits are the settings of a transaction. They are local to it: behind a
// pooler the connection is somebody else's next. The search path keeps
// functions and operators that a job defined from being called with our
// rights.
func (s *session) limits(local string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "SET %s lock_timeout = %d; ", local, s.lock.Milliseconds())
	fmt.Fprintf(&b, "SET %s statement_timeout = %d; ", local, s.each.Milliseconds())
	fmt.Fprintf(&b, "SET %s idle_in_transaction_session_timeout = %d; ", local, s.each.Milliseconds())
	fmt.Fprintf(&b, "SET %s search_path = pg_catalog, pg_temp; ", local)
	return b.String()
}

// read runs do in a transaction that can't write.
func (s *session) read(ctx context.Context, do func() error) error {
	return s.transaction(ctx, "BEGIN READ ONLY; ", do)
}

// write runs do in a transaction and commits it.
func (s *session) write(ctx context.Context, do func() error) error {
	return s.transaction(ctx, "BEGIN READ WRITE; ", do)
}

func (s *session) transaction(ctx context.Context, begin string, do func() error) error {
	if _, err := s.conn.Exec(ctx, begin+s.limits("LOCAL")).ReadAll(); err != nil {
		return err
	}
	s.begun = true
	if err := do(); err != nil {
		if !s.conn.IsClosed() {
			_, _ = s.conn.Exec(ctx, "ROLLBACK").ReadAll()
		}
		return err
	}
	results, err := s.conn.Exec(ctx, "COMMIT").ReadAll()
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.CommandTag.String() != "COMMIT" { // it was aborted, and says so only here
			return fmt.Errorf("the transaction was not committed: %s", r.CommandTag)
		}
	}
	return nil
}

// alone runs one statement that can't stand in a transaction.
func (s *session) alone(ctx context.Context, sql string) error {
	if _, err := s.conn.Exec(ctx, s.limits("SESSION")).ReadAll(); err != nil {
		return err
	}
	_, err := s.exec(ctx, sql)
	return err
}

// rows returns what a query answers, as text, NULL as "". Arguments are
// parameters of the protocol, of the type that the statement expects.
func (s *session) rows(ctx context.Context, sql string, args ...string) ([][]string, error) {
	result := s.conn.ExecParams(ctx, sql, parameters(args), nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	all := make([][]string, 0, len(result.Rows))
	for _, row := range result.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = string(cell)
		}
		all = append(all, cells)
	}
	return all, nil
}

// exec runs one statement and returns how many rows it changed.
func (s *session) exec(ctx context.Context, sql string, args ...string) (int64, error) {
	result := s.conn.ExecParams(ctx, sql, parameters(args), nil, nil, nil).Read()
	return result.CommandTag.RowsAffected(), result.Err
}

func parameters(args []string) [][]byte {
	all := make([][]byte, len(args))
	for i, arg := range args {
		all[i] = []byte(arg)
	}
	return all
}

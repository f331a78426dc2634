package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/sqlite"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// meta is the database: what a registry remembers and does not publish. Losing it loses no
// published data.
type meta struct {
	db  *sql.DB
	now func() time.Time
}

// schema is version 1 of the tables.
const schema = `
CREATE TABLE nonces(nonce TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE counters(scope TEXT NOT NULL, window INTEGER NOT NULL, n INTEGER NOT NULL CHECK(n > 0), PRIMARY KEY(scope, window)) STRICT, WITHOUT ROWID;
CREATE TABLE blocked(key TEXT PRIMARY KEY, reason TEXT NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE reports(id INTEGER PRIMARY KEY, bundle TEXT NOT NULL, version TEXT NOT NULL, text TEXT NOT NULL, address TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE queue(id INTEGER PRIMARY KEY, request TEXT NOT NULL, reply TEXT NOT NULL, done INTEGER NOT NULL CHECK(done IN (0, 1))) STRICT;
`

func openMeta(ctx context.Context, file string, now func() time.Time) (*meta, error) {
	db, err := sqlite.Open(file)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening %s: %w", file, err)
	}
	m := &meta{db: db, now: now}
	if err := m.migrate(ctx); err != nil {
		_ = db.Close()
		return nil, diag.New(diag.FileSystemError, "opening %s: %w", file, err).WithDetail("path", file)
	}
	return m, nil
}

func (m *meta) migrate(ctx context.Context) error {
	var have int
	err := m.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have)
	if err != nil {
		return err
	}
	switch {
	case have == 1:
		return nil
	case have > 1:
		return fmt.Errorf("a later version of rye wrote it (schema %d, this one knows 1)", have)
	}
	if err := sqlite.UseLog(ctx, m.db); err != nil {
		return err
	}
	return m.write(ctx, func(t *sql.Tx) error {
		err := t.QueryRow("PRAGMA user_version").Scan(&have)
		if err != nil || have == 1 {
			return err
		}
		_, err = t.Exec(schema + "PRAGMA user_version = 1;")
		return err
	})
}

func (m *meta) close() error {
	return m.db.Close()
}

func (m *meta) write(ctx context.Context, do func(*sql.Tx) error) error {
	t, err := m.db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if err := do(t); err != nil {
		return err
	}
	return t.Commit()
}

func databasePath(dir string) string {
	return filepath.Join(dir, databaseFile)
}

func noRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// quota is a number of events in windows of time.
type quota struct {
	scope string
	most  int
	every time.Duration
	what  string // for the message
}

// admit takes a nonce and counts an event for every quota, or does neither. An empty nonce
// is ignored.
func (m *meta) admit(ctx context.Context, nonce string, quotas ...quota) error {
	now := m.now()
	return machine(m.write(ctx, func(t *sql.Tx) error {
		_, err := t.Exec("DELETE FROM nonces WHERE until < ?", now.Unix())
		if err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM counters WHERE window < ?", now.Add(-48*time.Hour).Unix()); err != nil {
			return err
		}
		if nonce != "" {
			r, err := t.Exec("INSERT INTO nonces VALUES(?, ?) ON CONFLICT DO NOTHING", nonce, now.Add(wire.NonceAge).Unix())
			if err != nil {
				return err
			}
			if n, err := r.RowsAffected(); err != nil || n == 0 {
				return diag.New(diag.AuthFailed, "verifying the statement: its nonce was used before")
			}
		}
		for _, q := range quotas {
			if err := count(t, q, now); err != nil {
				return err
			}
		}
		return nil
	}))
}

// useOnce notes what may be used once until a time, and reports whether it was not used
// before.
func (m *meta) useOnce(
	ctx context.Context,
	what string,
	until time.Time,
) (ok bool, err error) {
	err = machine(m.write(ctx, func(t *sql.Tx) error {
		r, err := t.Exec("INSERT INTO nonces VALUES(?, ?) ON CONFLICT DO NOTHING", what, until.Unix())
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		ok = n > 0
		return err
	}))
	return ok, err
}

// machine returns an error of the database as one of this machine.
func machine(err error) error {
	var typed *diag.Error
	if err == nil || errors.As(err, &typed) {
		return err
	}
	return rules.Unavailable("storing the request", err)
}

func count(t *sql.Tx, q quota, now time.Time) error {
	window := now.Truncate(q.every).Unix()
	var n int
	err := t.QueryRow("INSERT INTO counters VALUES(?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1 RETURNING n", q.scope, window).Scan(&n)
	if err != nil || n <= q.most {
		return err
	}
	return limited(q, now)
}

// limited returns the error for a used quota, with the time until it is renewed.
func limited(q quota, now time.Time) error {
	e := diag.New(
		diag.LimitExceeded,
		"admitting the request: %s: at most %d in %s are allowed",
		q.what,
		q.most,
		span(q.every),
	).
		WithReason("registry_quota")
	e.Retryable = true
	return e.
		WithDetail("wait", now.Truncate(q.every).Add(q.every).Sub(now))
}

func span(d time.Duration) string {
	if d == time.Hour {
		return "an hour"
	}
	return "a day"
}

// blocked returns why a key may not change the registry, "" if it may.
func (m *meta) blocked(ctx context.Context, key string) (reason string, err error) {
	err = m.db.QueryRowContext(ctx, "SELECT reason FROM blocked WHERE key = ?", key).Scan(&reason)
	return reason, noRows(err)
}

func (m *meta) block(ctx context.Context, key, reason string) error {
	_, err := m.db.ExecContext(
		ctx,
		"INSERT INTO blocked VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET reason = excluded.reason",
		key,
		reason,
		m.now().Unix(),
	)
	return err
}

func (m *meta) unblock(ctx context.Context, key string) (bool, error) {
	r, err := m.db.ExecContext(ctx, "DELETE FROM blocked WHERE key = ?", key)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// maxReports is the number of reports that are kept: an address is limited by a quota, and
// all of them together by this.
const maxReports = 10_000

func (m *meta) report(ctx context.Context, r *wire.Report, address string) error {
	return m.write(ctx, func(t *sql.Tx) error {
		var n int
		if err := t.QueryRow("SELECT count(*) FROM reports").Scan(&n); err != nil {
			return err
		}
		if n >= maxReports {
			return diag.New(diag.LimitExceeded, "storing the report: the registry has %d reports that the operator has not read", n)
		}
		_, err := t.Exec(
			"INSERT INTO reports(bundle, version, text, address, at) VALUES(?, ?, ?, ?, ?)",
			r.ID,
			r.Version,
			r.Text,
			address,
			m.now().Unix(),
		)
		return err
	})
}

// StoredReport is a report to the operator.
type StoredReport struct {
	Number  int64     `json:"number"`
	ID      string    `json:"id"`
	Version string    `json:"version"`
	Text    string    `json:"text"` // of a stranger: escape it before printing
	Address string    `json:"address"`
	At      time.Time `json:"at"`
}

func (m *meta) reports(ctx context.Context) (out []StoredReport, err error) {
	rows, err := m.db.QueryContext(ctx, "SELECT id, bundle, version, text, address, at FROM reports ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r StoredReport
		var at int64
		err := rows.Scan(
			&r.Number,
			&r.ID,
			&r.Version,
			&r.Text,
			&r.Address,
			&at,
		)
		if err != nil {
			return nil, err
		}
		r.At = time.Unix(at, 0).UTC()
		out = append(out, r)
	}
	return out, rows.Err()
}

package store

import (
	"context"
	"database/sql"
)

// reservationQuery reads a reservation by its id.
const reservationQuery = "SELECT " + reservationColumns + " FROM reservations WHERE id = ?"

// The statements that each call of a model needs.
const (
	fenceQuery         = "SELECT fence FROM threads WHERE id = ?"
	accountQuery       = "SELECT max, actual, reserved, overspent, parent, status FROM ledger WHERE thread = ?"
	periodQuery        = "SELECT actual, reserved FROM user_spend WHERE period = ?"
	periodInsert       = "INSERT INTO user_spend(period, actual, reserved) VALUES(?1, 0, 0) ON CONFLICT DO NOTHING"
	periodUpdate       = "UPDATE user_spend SET actual = actual + ?, reserved = reserved + ? WHERE period = ?"
	reservationInsert  = "INSERT INTO reservations(" + reservationColumns + ") VALUES(?, ?, ?, ?, ?, ?, 0, 0, 'open', ?)"
	reservationSettled = "UPDATE reservations SET status = 'settled', settled = ?, assumed = ? WHERE id = ?"
	ledgerReserve      = "UPDATE ledger SET reserved = reserved + ? WHERE thread = ?"
	ledgerSettle       = "UPDATE ledger SET reserved = reserved - ?, actual = actual + ? WHERE thread = ?"
)

// prepare compiles the statements of a call of a model, once for an open store: the owner
// of a thread makes many calls, and compiling a statement takes as long as running it. One
// that is not prepared is compiled each time.
func (s *Store) prepare(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared != nil {
		return
	}
	s.prepared = map[string]*sql.Stmt{}
	for _, q := range []string{fenceQuery, accountQuery, periodQuery, periodInsert, periodUpdate, reservationQuery, reservationInsert, reservationSettled, ledgerReserve, ledgerSettle} {
		if stmt, err := s.db.PrepareContext(ctx, q); err == nil {
			s.prepared[q] = stmt
		}
	}
}

// QueryRow is sql.Tx.QueryRow with a prepared statement if there is one.
func (t *tx) QueryRow(query string, args ...any) *sql.Row {
	if stmt := t.prepared[query]; stmt != nil {
		return t.Stmt(stmt).QueryRow(args...)
	}
	return t.Tx.QueryRow(query, args...)
}

// Exec is sql.Tx.Exec with a prepared statement if there is one.
func (t *tx) Exec(query string, args ...any) (sql.Result, error) {
	if stmt := t.prepared[query]; stmt != nil {
		return t.Stmt(stmt).Exec(args...)
	}
	return t.Tx.Exec(query, args...)
}

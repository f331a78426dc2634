package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/sqlite"
)

// migrations are the versions of the schema: entry n makes version n+1 out of version
// n. A released entry never changes.
func migrations() []string {
	return []string{schema1, schema2, schema3, schema4, schema5}
}

// schema1 has the threads and the ledger. The constraints of the tables state what
// holds for one row; what holds between rows is in package comments of ledger.go.
const schema1 = `
CREATE TABLE threads(
	id TEXT PRIMARY KEY, project TEXT NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL, digest TEXT NOT NULL,
	parent TEXT NOT NULL, root TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, model TEXT NOT NULL,
	created INTEGER NOT NULL, ended INTEGER NOT NULL, fence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX threads_root ON threads(root);
CREATE INDEX threads_project ON threads(project, created);
CREATE TABLE ledger(
	thread TEXT PRIMARY KEY REFERENCES threads(id), parent TEXT NOT NULL, max INTEGER NOT NULL CHECK(max >= 0),
	actual INTEGER NOT NULL CHECK(actual >= 0), reserved INTEGER NOT NULL CHECK(reserved >= 0), overspent INTEGER NOT NULL CHECK(overspent >= 0),
	status TEXT NOT NULL CHECK(status IN ('active', 'released')),
	CHECK(actual + reserved <= max + overspent)
) STRICT, WITHOUT ROWID;
CREATE TABLE reservations(
	id TEXT PRIMARY KEY, thread TEXT NOT NULL REFERENCES ledger(thread), kind TEXT NOT NULL CHECK(kind IN ('call', 'child')),
	child TEXT NOT NULL, model TEXT NOT NULL, amount INTEGER NOT NULL CHECK(amount >= 0), settled INTEGER NOT NULL CHECK(settled >= 0),
	assumed INTEGER NOT NULL CHECK(assumed IN (0, 1)), status TEXT NOT NULL CHECK(status IN ('open', 'settled', 'released')), created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_thread ON reservations(thread, status);
CREATE TABLE user_spend(
	period TEXT PRIMARY KEY, actual INTEGER NOT NULL CHECK(actual >= 0), reserved INTEGER NOT NULL CHECK(reserved >= 0)
) STRICT, WITHOUT ROWID;
`

// schema2 adds the lease of a running thread: its owner, and until when it is believed to
// live.
const schema2 = `
ALTER TABLE threads ADD COLUMN lease_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN pid INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN pid_start INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
CREATE INDEX threads_state ON threads(state);
`

// schema3 adds the tokens of threads: each is used once, and can be revoked.
const schema3 = `
CREATE TABLE tokens(
	token_id TEXT PRIMARY KEY, thread TEXT NOT NULL, parent_id TEXT NOT NULL, exp INTEGER NOT NULL,
	taken INTEGER NOT NULL CHECK(taken IN (0, 1)), revoked INTEGER NOT NULL CHECK(revoked IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_thread ON tokens(thread);
`

// schema4 adds what a thread may start: levels of threads below it, threads below it, and
// how many were started. A thread of an earlier version starts none before it is resumed.
const schema4 = `
ALTER TABLE threads ADD COLUMN depth INTEGER NOT NULL DEFAULT 0 CHECK(depth >= 0);
ALTER TABLE threads ADD COLUMN spawns INTEGER NOT NULL DEFAULT 0 CHECK(spawns >= 0);
ALTER TABLE threads ADD COLUMN spawned INTEGER NOT NULL DEFAULT 0 CHECK(spawned >= 0);
CREATE INDEX threads_parent ON threads(parent);
`

// schema5 adds what persons name threads and runs by, and what these wait for. The threads of
// an earlier version get their numbers from migrateHandles. AUTOINCREMENT keeps a number that a
// removed row had from being used again.
const schema5 = `
CREATE TABLE handles(
	number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, name TEXT, waiting TEXT
) STRICT;
CREATE INDEX handles_project ON handles(project, number);
`

// tx is one transaction, at one time.
type tx struct {
	*sql.Tx
	now      time.Time
	prepared map[string]*sql.Stmt
}

// migrate brings the schema to the version of this program.
func (s *Store) migrate(ctx context.Context) error {
	have, err := s.version(ctx)
	if err != nil || have == len(migrations()) {
		return err
	}
	if have == 0 {
		if err := sqlite.UseLog(ctx, s.db); err != nil {
			return err
		}
	}
	return s.write(ctx, "migrating", func(t *tx) error {
		if err := t.QueryRow("PRAGMA user_version").Scan(&have); err != nil {
			return err
		}
		for ; have < len(migrations()); have++ { // another process may have done it by now
			_, err := t.Exec(migrations()[have])
			if err != nil {
				return fmt.Errorf("version %d of the schema: %w", have+1, err)
			}
			if migrations()[have] == schema5 {
				if err := s.migrateHandles(t); err != nil {
					return err
				}
			}
		}
		_, err := t.Exec(fmt.Sprintf("PRAGMA user_version = %d", have))
		return err
	})
}

// version returns the version of the schema, 0 for a new file. A version of a later
// program is an error: its meaning is not known here.
func (s *Store) version(ctx context.Context) (n int, err error) {
	if err = s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n); err != nil {
		return 0, err
	}
	if known := len(migrations()); n > known {
		return 0, diag.New(diag.VersionMismatch, "opening the store of threads %s: a later version of rye wrote it (schema %d, this one knows %d)", s.path(), n, known).
			WithReason("store_newer").WithDetail("path", s.path())
	}
	return n, nil
}

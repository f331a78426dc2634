// Package sqlite opens SQLite databases in files, with the settings that every database
// of rye has: durable commits, foreign keys, a write-ahead log, and one connection.
//
// It has no schema and takes no lock between processes.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// Busy is how long a statement waits for a lock of SQLite.
const Busy = 10 * time.Second

// Open returns the database in a file, which is created when it is first used. Transactions
// that write take the lock when they begin.
func Open(file string) (*sql.DB, error) {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") { // C:/dir
		path = "/" + path
	}
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "synchronous(full)", "foreign_keys(on)", "trusted_schema(off)"}}
	c, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	return db, nil
}

// Primary result codes of SQLite.
const (
	busy    = 5
	corrupt = 11
	notADB  = 26
)

// IsBusy reports whether another process had a lock for longer than Busy.
func IsBusy(err error) bool {
	return is(err, busy)
}

// IsDamaged reports whether the file is not an intact database.
func IsDamaged(err error) bool {
	return is(err, corrupt, notADB)
}

func is(err error, codes ...int) bool {
	var db *sqlite.Error
	if !errors.As(err, &db) {
		return false
	}
	for _, c := range codes {
		if db.Code()&0xff == c {
			return true
		}
	}
	return false
}

// UseLog sets the journal to WAL, which the file keeps. It is not possible inside of a
// transaction. SQLite does not wait for the locks that this needs, so it is tried again
// while other processes open the database as well.
func UseLog(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, Busy)
	defer cancel()
	for {
		err := useLog(ctx, db)
		if !IsBusy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Millisecond):
		}
	}
}

func useLog(ctx context.Context, db *sql.DB) error {
	var mode string
	err := db.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode)
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system does not support a write-ahead log (the journal is %q)", mode)
	}
	return nil
}

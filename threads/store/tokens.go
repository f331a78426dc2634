package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/ryeos/rye/diag"
)

// AddToken records a token that was made for a thread. parent is the token of the thread
// that starts it, "" for a root. Tokens that have expired are forgotten: they are refused
// as unknown, too.
func (s *Store) AddToken(ctx context.Context, id, thread, parent string, expires time.Time) error {
	return s.write(ctx, "recording a token in", func(t *tx) error {
		_, err := t.Exec("DELETE FROM tokens WHERE exp < ?", t.now.UnixMilli())
		if err != nil {
			return err
		}
		_, err = t.Exec("INSERT INTO tokens(token_id, thread, parent_id, exp, taken, revoked) VALUES(?, ?, ?, ?, 0, 0)", id, thread, parent, expires.UnixMilli())
		return err
	})
}

// TakeToken records that a process begins with a token. The error is TOKEN_INVALID if one
// has begun with it before, if it was revoked, or if it is not of this store.
func (s *Store) TakeToken(ctx context.Context, id, thread string) error {
	return s.write(ctx, "taking a token in", func(t *tx) error {
		taken, err := t.token(id, thread)
		switch {
		case err != nil:
			return err
		case taken:
			return badToken("used before", "used once")
		}
		_, err = t.Exec("UPDATE tokens SET taken = 1 WHERE token_id = ?", id)
		return err
	})
}

// CheckToken returns TOKEN_INVALID if a token was revoked.
// It is called before each call of the model and of a tool. The thread ends with TOKEN_INVALID.
func (s *Store) CheckToken(ctx context.Context, id, thread string) error {
	return s.read(ctx, "checking a token in", func(t *tx) error {
		_, err := t.token(id, thread)
		return err
	})
}

// token returns an error if a token must not be used, and whether a process has it.
func (t *tx) token(id, thread string) (taken bool, err error) {
	var of string
	var revoked bool
	err = t.QueryRow("SELECT thread, taken, revoked FROM tokens WHERE token_id = ?", id).Scan(&of, &taken, &revoked)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, badToken("not known", "one that this user account made")
	case err != nil:
		return false, err
	case of != thread:
		return false, badToken("of "+of, "of "+thread)
	case revoked:
		return false, badToken("revoked", "not revoked")
	}
	return taken, nil
}

func badToken(found, want string) error {
	return diag.New(diag.TokenInvalid, "checking the token of a thread: the token is %s, not %s", found, want).
		WithDetail("claim", "token_id").WithDetail("want", want).WithDetail("found", found)
}

// Revoke revokes the tokens of a thread, and with below the tokens of all threads below it.
func (s *Store) Revoke(ctx context.Context, thread string, below bool) error {
	return s.write(ctx, "revoking tokens in", func(t *tx) error {
		_, err := t.Exec(`WITH RECURSIVE down(id) AS (VALUES(?1) UNION SELECT c.id FROM threads c JOIN down ON c.parent = down.id WHERE ?2),
			tree(id) AS (SELECT token_id FROM tokens WHERE thread IN (SELECT id FROM down) UNION SELECT c.token_id FROM tokens c JOIN tree ON c.parent_id = tree.id WHERE ?2)
			UPDATE tokens SET revoked = 1 WHERE token_id IN (SELECT id FROM tree)`, thread, below)
		return err
	})
}

package project

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/token"
)

// mint makes the token of a thread whose process has the permissions of the caller.
func (p *Project) mint(ctx context.Context, prepared *PreparedThread, thread string, o *ThreadOptions) (token.Token, error) {
	signer, err := p.Keys.RuntimeKey(ctx)
	if err != nil {
		return token.Token{}, err
	}
	dir, err := p.realDir()
	if err != nil {
		return token.Token{}, err
	}
	now := p.Env.Now()
	root, parent := thread, ""
	if up := o.Above; up != nil {
		root = up.root()
		if up.o.Token != nil {
			parent = up.o.Token.ID
		}
	}
	t, claims, err := token.Mint(ctx, token.Grant{
		ID: strings.TrimPrefix(graph.NewID("token", now), "token-"), Thread: thread, Root: root, Parent: parent, Project: dir, Directive: prepared.Item.Digest,
		Depth: prepared.Limits.Depth, Held: o.Held, Now: now, Duration: time.Duration(prepared.Limits.DurationSeconds) * time.Second,
	}, signer)
	if err != nil {
		return token.Token{}, err
	}
	var s *store.Store
	if up := o.Above; up != nil && up.money != nil {
		s = up.money.store // it is open for the life of the thread
	}
	if s == nil {
		if s, _, err = p.ledger(ctx); err != nil {
			return token.Token{}, err
		}
		defer s.Close()
	}
	return t, s.AddToken(ctx, claims.ID, thread, parent, now.Add(token.Longest))
}

// takeToken checks the token that the process of a thread got, and uses it up. It returns the
// ledger, which the process opens once: the caller closes it.
func (p *Project) takeToken(ctx context.Context, thread string, t token.Token) (*token.Claims, *store.Store, error) {
	dir, err := p.realDir()
	if err != nil {
		return nil, nil, err
	}
	claims, err := token.Check(t, token.Want{Thread: thread, Project: dir, Now: p.Env.Now(), Keys: p.Keys.RuntimePublic})
	if err != nil {
		return nil, nil, err
	}
	s, _, err := p.ledger(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := s.TakeToken(ctx, claims.ID, thread); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return claims, s, nil
}

func (p *Project) realDir() (string, error) {
	dir, err := filepath.EvalSymlinks(p.Spaces.ProjectDir)
	if err != nil {
		return "", diag.Doing("reading the project's directory", err)
	}
	return dir, nil
}

// revokeTokens revokes the tokens of a thread, and with below those of all below it.
func (p *Project) revokeTokens(ctx context.Context, thread string, below bool) error {
	return p.withStore(ctx, func(s *store.Store) error { return s.Revoke(ctx, thread, below) })
}

package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/token"
)

// Mint makes a token for a thread. It completes a grant that states the thread, its tree, its
// directive, its permissions and its time. open is the ledger if the caller has it, or nil.
func Mint(
	ctx context.Context,
	p *project.Project,
	g token.Grant,
	open *store.Store,
) (token.Token, error) {
	signer, err := p.Keys.RuntimeKey(ctx)
	if err != nil {
		return token.Token{}, err
	}
	if g.Project, err = realDir(p); err != nil {
		return token.Token{}, err
	}
	g.Now = p.Env.Now()
	g.ID = strings.TrimPrefix(graph.NewID("token", g.Now), "token-")
	t, claims, err := token.Mint(ctx, g, signer)
	if err != nil {
		return token.Token{}, err
	}
	if open == nil {
		if open, _, err = Open(ctx, p); err != nil {
			return token.Token{}, err
		}
		defer open.Close()
	}
	return t, open.AddToken(
		ctx,
		claims.ID,
		g.Thread,
		g.Parent,
		g.Now.Add(token.Longest),
	)
}

// TakeToken checks the token that the process of a thread got, and uses it up. It returns the
// ledger, which the process opens once: the caller closes it.
func TakeToken(
	ctx context.Context,
	p *project.Project,
	thread string,
	t token.Token,
) (*token.Claims, *store.Store, error) {
	dir, err := realDir(p)
	if err != nil {
		return nil, nil, err
	}
	claims, err := token.Check(t, token.Want{
		Thread:  thread,
		Project: dir,
		Now:     p.Env.Now(),
		Keys:    p.Keys.RuntimePublic,
	})
	if err != nil {
		return nil, nil, err
	}
	s, _, err := Open(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if err := s.TakeToken(ctx, claims.ID, thread); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return claims, s, nil
}

func realDir(p *project.Project) (string, error) {
	dir, err := filepath.EvalSymlinks(p.Spaces.ProjectDir)
	if err != nil {
		return "", diag.Doing("reading the project's directory", err)
	}
	return dir, nil
}

// RevokeTokens revokes the tokens of a thread, and with below the tokens of all below it.
func RevokeTokens(ctx context.Context, p *project.Project, thread string, below bool) error {
	return WithStore(ctx, p, func(s *store.Store) error {
		return s.Revoke(ctx, thread, below)
	})
}

package mcp

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// mcpStore is the store of the servers of one space, with the project and the key
// for its items.
type mcpStore struct {
	*mcpclient.Store
	project *project.Project
	root    *space.Root
	key     sign.Signer          // set by loadKey
	reports []primary.SignReport // of the items that Write signed
}

// withStore opens the store of o.space and calls do while no other process changes
// its servers.
func withStore(
	ctx context.Context,
	c *cli.Call,
	o *mcpOptions,
	m project.Mode,
	do func(s *mcpStore) error,
) error {
	p, err := env.WithKey(c, o.key).Open(ctx, m)
	if err != nil {
		return err
	}
	root, err := p.Verbs.Target(o.space)
	if err != nil {
		return err
	}
	s := &mcpStore{project: p, root: root}
	s.Store, err = mcpclient.OpenStore(ctx, mcpclient.StoreParams{
		Resolver: p.Resolver, Root: root,
		Sign: func(ctx context.Context, files map[string][]byte) (signed map[string][]byte, err error) {
			s.reports, signed, err = signing.Files(ctx, p, root, s.key, files)
			return signed, err
		},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

// loadKey asks for the passphrase of the key before a server is started, so that
// the user is not asked after waiting.
func (s *mcpStore) loadKey(ctx context.Context) (err error) {
	if s.key == nil {
		s.key, err = s.project.Keys.Signer(ctx)
	}
	return err
}

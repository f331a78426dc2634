package session

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/handle"
	"github.com/ryeos/rye/threads/inbox"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
)

// Rename names a conversation: in the registry now, and in its log when its process reads the
// inbox.
func Rename(ctx context.Context, p *project.Project, id, name string) error {
	name = handle.Short(name)
	if strings.TrimSpace(name) == "" {
		return diag.New(diag.Usage, "naming %s: the name is empty", id)
	}
	dir := p.Spaces.ProjectDir
	m := &inbox.Message{
		Kind:    inbox.Name,
		Payload: map[string]any{"name": name},
		By:      "person",
	}
	if err := inbox.Send(dir, id, m, p.Env.Now()); err != nil {
		return err
	}
	// The process of the thread reads the message before its next turn; lists have the name now.
	return ledger.WithStore(ctx, p, func(s *store.Store) error {
		return s.Describe(ctx, []store.Handle{
			{ID: control.ChainRoot(dir, id), Project: dir, Name: &name},
			{ID: id, Project: dir, Name: &name},
		})
	})
}

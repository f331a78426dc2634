package session

import (
	"cmp"
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/handle"
	"github.com/ryeos/rye/threads/inbox"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
)

// Rename names a thread, and returns the name as lists have it. The registry has it now, and the
// log when a process of the thread reads its inbox; until then a rebuilt registry reads it there.
func Rename(ctx context.Context, p *project.Project, id, name string) (string, error) {
	name = handle.Short(name)
	if name == "" {
		return "", diag.New(diag.Usage, "naming %s: the name is empty", id)
	}
	if err := sendName(p, id, name); err != nil {
		return "", err
	}
	dir := p.Spaces.ProjectDir
	return name, ledger.WithStore(ctx, p, func(s *store.Store) error {
		return s.Describe(ctx, []store.Handle{
			{ID: control.ChainRoot(dir, id), Project: dir, Name: &name},
			{ID: id, Project: dir, Name: &name},
		})
	})
}

// sendName sends the name, if it is not the newest in the inbox: a command that was killed is run again.
func sendName(p *project.Project, id, name string) error {
	dir := p.Spaces.ProjectDir
	list, err := inbox.List(dir, id)
	if err != nil {
		return err
	}
	newest := ""
	for i := range list {
		newest = cmp.Or(inbox.NameOf(&list[i]), newest)
	}
	if newest == name {
		return nil
	}
	m := &inbox.Message{
		Kind:    inbox.Name,
		Payload: map[string]any{"name": name},
		By:      "person",
	}
	return inbox.Send(dir, id, m, p.Env.Now())
}

package host

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/threadhost"
)

// costReport is the report of rye threads cost.
type costReport = control.CostReport

// costs returns the cost of a thread, with all below it.
func costs(
	ctx context.Context,
	p *project.Project,
	s *store.Store,
	id string,
) (*costReport, error) {
	return control.Costs(ctx, p, s, id, true)
}

// summary returns the summary of a log.
func summary(ctx context.Context, p *project.Project, id string) (*threads.Summary, error) {
	return threadhost.Summary(ctx, p, id)
}

// withStore reads the store of threads. Without a store the error is THREAD_NOT_FOUND.
func withStore(ctx context.Context, p *project.Project, read func(*store.Store) error) error {
	s, err := store.Open(
		ctx,
		store.Dir(p.Dirs.State),
		store.Params{Now: p.Env.Now, Existing: true},
	)
	if store.Missing(err) {
		return diag.New(diag.ThreadNotFound, "reading the registry of threads: no thread has run").
			WithReason("no_thread")
	}
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return read(s)
}

// endOfChain returns the last thread of the chain of a thread.
func endOfChain(p *project.Project, id string) string {
	return control.EndOfChain(p, id)
}

// waitingIn returns the entries of a project that wait for a person.
func waitingIn(ctx context.Context, p *project.Project) ([]control.Entry, error) {
	return control.Waiting(ctx, p, false)
}

// Package agent offers the verbs of primary to models: search, load, execute and
// sign with arguments as JSON, the texts that describe them, replies of bounded
// length, and suggestions that a model can follow.
//
// It narrows what an agent may do to the settings of agent/mcp. It does not know
// the protocol by which calls arrive (see mcpserve), and it never uses a
// person's key.
package agent

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Workspace is an opened project as agents use it: the verbs, the settings and the
// agent's key. What an agent may do is in each call.
type Workspace struct {
	Verbs    *primary.Verbs
	Settings *Settings
	// Cache is shared by the workspaces of a process; it may be nil.
	Cache *Cache
	// Signer returns the agent's key.
	Signer func(ctx context.Context) (sign.Signer, error)
	// May reports whether that key may sign an item. Nil permits nothing.
	May func(fp sign.Fingerprint, ref item.Ref) bool
	// Signed is called with the reports of a sign call, so that the lock can
	// follow. It may be nil.
	Signed func(ctx context.Context, reports []primary.SignReport) error
	// Registry finds items that are not installed. It may be nil.
	Registry Registry
	// InThread states that a model of a thread calls the verbs: they take no other project,
	// and start no thread, which thread_directive does.
	InThread bool
	// AskTimeout is the time in which the user must answer a question. 0: no limit.
	AskTimeout time.Duration
}

// Do executes one call. An error is in the envelope.
func (w *Workspace) Do(ctx context.Context, req Request) *diag.Envelope {
	args, err := w.arguments(ctx, req.Name, req.Args)
	if err != nil {
		return failed(err, nil)
	}
	env, err := w.call(ctx, req, args)
	if err != nil {
		err = w.withSchema(ctx, args, err)
		err = ownDraft(args, w.missing(ctx, req.Name, args, err))
		return failedRun(err, env)
	}
	env.Success = true
	return env
}

// call executes a verb with arguments that fit its schema. The envelope is not
// nil when the error is not.
func (w *Workspace) call(
	ctx context.Context,
	req Request,
	args map[string]any,
) (env *diag.Envelope, err error) {
	env = &diag.Envelope{}
	from, remote, err := inRegistry(args)
	switch verb := policy.Verb(req.Name); {
	case err != nil:
		return env, err
	case remote && verb == policy.Load:
		env.Data, err = w.loadRegistry(ctx, req, from, args)
		return env, err
	case remote && verb == policy.Execute:
		return w.executeRegistry(ctx, req, from, args)
	}
	switch policy.Verb(req.Name) {
	case policy.Search:
		env.Data, err = w.search(ctx, req.Held, args)
	case policy.Load:
		env.Data, err = w.load(ctx, req, args)
	case policy.Execute:
		return w.execute(ctx, req, args)
	case policy.Sign:
		env.Data, err = w.sign(ctx, req, args)
	default:
		err = diag.New(diag.ToolNotFound, "calling %q: the tools are execute, load, search and sign", req.Name)
	}
	return env, err
}

func failed(err error, meta any) *diag.Envelope {
	e := diag.Typed(err)
	return &diag.Envelope{Error: newFailure(e), Metadata: meta}
}

// search answers a search. Descriptions of untrusted items are not shown: a model would read
// them as instructions.
func (w *Workspace) search(
	ctx context.Context,
	held policy.Held,
	args map[string]any,
) (any, error) {
	if text(args, "space") == search.RegistrySpace {
		return w.searchRegistry(ctx, held, args)
	}
	res, err := w.Verbs.Search(ctx, held, search.Query{
		Text:       text(args, "query"),
		Scope:      text(args, "scope"),
		Space:      text(args, "space"),
		Limit:      number(args, "limit"),
		Offset:     number(args, "offset"),
		Executable: true,
	})
	if err != nil {
		return nil, err
	}
	for i := range res.Hits {
		hit := &res.Hits[i]
		if hit.Trust != string(trust.Trusted) &&
			hit.Trust != trust.AgentWord &&
			hit.Trust != trust.RuntimeWord {
			// A model reads descriptions as instructions.
			hit.Title = ""
			hit.Description = "not shown, because the item is not trusted: " + hit.Trust
		}
	}
	return res, nil
}

// text returns a text argument, or "".
func text(args map[string]any, name string) string {
	s, _ := args[name].(string)
	return s
}

// number returns a whole number argument, or 0.
func number(args map[string]any, name string) int {
	switch n := args[name].(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}

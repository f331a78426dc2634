package threadhost

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/once"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/converse"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/steps"
)

// stepItems has the items of the steps, as they were when the thread first called them:
// a thread keeps the items of its start, and a turn calls fourteen of them.
type stepItems struct {
	chains  once.Map[item.Ref, *exec.Chain]
	targets once.Map[item.Ref, graph.Target]
	configs once.Map[string, map[string]any]
}

// chain returns the chain of a step.
func (r *Run) chain(ctx context.Context, ref item.Ref) (*exec.Chain, error) {
	return r.items.chains.Get(ctx, ref, func() (*exec.Chain, error) {
		return r.Project.Executor.Chain(ctx, ref)
	})
}

// config returns settings that a step reads.
func (r *Run) config(ctx context.Context, id string) (map[string]any, error) {
	return r.items.configs.Get(ctx, id, func() (map[string]any, error) {
		s, err := r.Project.Resolver.Config(ctx, id)
		if err != nil {
			return nil, err
		}
		return s.Root, nil
	})
}

// configs returns the settings that a step reads, for a program.
func (r *Run) configs(ctx context.Context, name string) (map[string]any, error) {
	out := map[string]any{}
	for _, id := range steps.Configs(name) {
		root, err := r.config(ctx, id)
		if err != nil {
			return nil, err
		}
		own := maps.Clone(root)
		delete(own, "config_schema") // of its author, and most of its length
		out[id] = own
	}
	return out, nil
}

// loopDispatcher calls the steps of a loop.
type loopDispatcher struct {
	r     *Run
	t     *threads.Thread
	walk  int          // of the loop, from 1
	acted *atomic.Bool // a hook ran an item, and the end of its node may not be on the disk
}

func newLoopDispatcher(r *Run, t *threads.Thread, walk int) loopDispatcher {
	return loopDispatcher{r, t, walk, &r.acted}
}

// Target implements graph.Dispatcher. The start and the end of a step that rye ships need
// not be on the disk by themselves: before a call of the model, of a tool and of the item
// of a hook, the kernel writes all that is before it, and what they returned has lines of
// its own. A step that is a program is any tool.
func (d loopDispatcher) Target(ctx context.Context, ref item.Ref) (graph.Target, error) {
	get := func() (graph.Target, error) {
		return graphhost.Dispatcher{Project: d.r.Project}.Target(ctx, ref)
	}
	if !strings.HasPrefix(ref.ID, steps.Dir) || ref.Kind != item.Tool {
		return get()
	}
	t, err := d.r.items.targets.Get(ctx, ref, get)
	chain, ok := t.Chain.(*exec.Chain)
	if ok && err == nil && chain.Primitive().Ref.ID == exec.NativeStep {
		t.Pure = true
	}
	return t, err
}

// dispatched records what a step that replaces dispatch decided about the calls that it
// did not make, and makes those that no program can: of names that have no item.
func (d loopDispatcher) dispatched(ctx context.Context, within exec.Call, data map[string]any) error {
	var out struct {
		Results []steps.Result `json:"results"`
		Pending []string       `json:"pending"`
		Control any            `json:"control"`
	}
	raw, err := jsonx.Marshal(data)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return diag.New(diag.ExecutionFailed, "running the step dispatch: its results do not have the form of results: %w", err)
	}
	for _, c := range d.t.Pending() {
		i := slices.IndexFunc(out.Results, func(r steps.Result) bool {
			return r.CallID == c.CallID
		})
		switch {
		case i >= 0:
			err = d.t.Answer(
				ctx,
				within.Node,
				c.CallID,
				out.Results[i].Content,
				out.Results[i].IsError,
			)
		case out.Control != nil || slices.Contains(out.Pending, c.CallID):
		case c.Problem != "" || c.Ref == "":
			_, err = d.t.Call(
				ctx,
				within.Node,
				c.CallID,
				d.r.toolWithin(within),
			)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readInbox reads the inbox of the thread.
func (d loopDispatcher) readInbox(ctx context.Context, within exec.Call, params map[string]any) (map[string]any, error) {
	b := converse.Inbox{
		Project:     d.r.Project.Spaces.ProjectDir,
		Thread:      d.t,
		Interactive: d.r.Options.Interactive,
		Awaits:      d.r.awaits,
		Began:       d.r.began,
		Step: func(ctx context.Context, rows []any) (map[string]any, error) {
			p := map[string]any{"inbox": rows}
			maps.Copy(p, params)
			out, err := d.r.Step(ctx, within, d.t, "cancel_checker", p)
			if err == nil {
				err = steps.CheckInbox(out.Data)
			}
			return out.Data, err
		},
	}
	return b.Read(ctx, within.Node)
}

// stepRef returns the item of a step.
func stepRef(name string) item.Ref {
	return item.Ref{Kind: item.Tool, ID: steps.Dir + name}
}

// LoopSteps returns the step items that a loop names, and those that the kernel calls,
// with their digests.
func LoopSteps(
	ctx context.Context,
	p *project.Project,
	loop *resolve.Item,
) ([]threads.Identity, error) {
	g, findings := graphhost.Parse(loop)
	if g == nil {
		return nil, diag.FromFindings("reading the loop "+loop.Ref.String(), findings)
	}
	var out []threads.Identity
	refs := slices.Clone(graphdef.Targets(g))
	for _, name := range steps.Called() {
		if ref := stepRef(name); !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	for _, ref := range refs {
		if !strings.HasPrefix(ref.ID, steps.Dir) {
			continue
		}
		it, err := p.Resolver.Find(ctx, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, prepare.IdentityOf(it))
	}
	return slices.Clip(out), nil
}

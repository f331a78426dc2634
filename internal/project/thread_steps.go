package project

import (
	"context"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/steps"
)

// stepItems has the items of the steps, as they were when the thread first called them:
// a thread keeps the items of its start, and a turn calls fourteen of them.
type stepItems struct {
	mu      sync.Mutex
	chains  map[item.Ref]*exec.Chain
	targets map[item.Ref]graph.Target
	configs map[string]map[string]any
}

// kept returns what get returned the first time for a key. An error is not kept.
func kept[K comparable, V any](s *stepItems, all *map[K]V, key K, get func() (V, error)) (V, error) {
	s.mu.Lock()
	v, ok := (*all)[key]
	s.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := get() // twice at the same time, if two calls begin together
	if err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if *all == nil {
		*all = map[K]V{}
	}
	(*all)[key] = v
	return v, nil
}

// chain returns the chain of a step.
func (r *threadRun) chain(ctx context.Context, ref item.Ref) (*exec.Chain, error) {
	return kept(&r.items, &r.items.chains, ref, func() (*exec.Chain, error) { return r.p.Executor.Chain(ctx, ref) })
}

// config returns settings that a step reads.
func (r *threadRun) config(ctx context.Context, id string) (map[string]any, error) {
	return kept(&r.items, &r.items.configs, id, func() (map[string]any, error) {
		s, err := r.p.Resolver.Config(ctx, id)
		if err != nil {
			return nil, err
		}
		return s.Root, nil
	})
}

// configs returns the settings that a step reads, for a program.
func (r *threadRun) configs(ctx context.Context, name string) (map[string]any, error) {
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
	r     *threadRun
	t     *threads.Thread
	walk  int          // of the loop, from 1
	acted *atomic.Bool // a hook ran an item, and the end of its node may not be on the disk
}

func newLoopDispatcher(r *threadRun, t *threads.Thread, walk int) loopDispatcher {
	return loopDispatcher{r, t, walk, &r.acted}
}

// Target implements graph.Dispatcher. The start and the end of a step that rye ships need
// not be on the disk by themselves: before a call of the model, of a tool and of the item
// of a hook, the kernel writes all that is before it, and what they returned has lines of
// its own. A step that is a program is any tool.
func (d loopDispatcher) Target(ctx context.Context, ref item.Ref) (graph.Target, error) {
	get := func() (graph.Target, error) { return graphDispatcher{p: d.r.p}.Target(ctx, ref) }
	if !strings.HasPrefix(ref.ID, steps.Dir) || ref.Kind != item.Tool {
		return get()
	}
	t, err := kept(&d.r.items, &d.r.items.targets, ref, get)
	if chain, ok := t.Chain.(*exec.Chain); ok && err == nil && chain.Primitive().Ref.ID == exec.NativeStep {
		t.Pure = true
	}
	return t, err
}

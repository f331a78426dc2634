package resolve

import (
	"context"
	"sync"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// maxOnce is how many items one context remembers. A walk over a large project must not
// keep all of it in memory.
const maxOnce = 2000

// Once returns a context in which each target of an edge is read and judged once, for
// commands that follow the chains of many items at one moment. Without it every call
// reads the files again.
func Once(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, &once{m: map[target]*judged{}})
}

type onceKey struct{}

// once are the items that were found in one context.
type once struct {
	mu sync.Mutex
	m  map[target]*judged
}

// target is where an edge leads: a ref, in the roots from one of them on.
type target struct {
	r     *Resolver
	ref   item.Ref
	first *space.Root
	roots int
}

type judged struct {
	once sync.Once
	it   *Item
	err  error
}

// found calls find, unless it was called for the same target.
func (r *Resolver) found(
	ctx context.Context,
	ref item.Ref,
	roots []*space.Root,
	find func() (*Item, error),
) (*Item, error) {
	o, _ := ctx.Value(onceKey{}).(*once)
	if o == nil || len(roots) == 0 {
		return find()
	}
	key := target{r, ref, roots[0], len(roots)}
	o.mu.Lock()
	j := o.m[key]
	if j == nil && len(o.m) < maxOnce {
		j = &judged{}
		o.m[key] = j
	}
	o.mu.Unlock()
	if j == nil {
		return find()
	}
	j.once.Do(func() {
		j.it, j.err = find()
	})
	return j.it, j.err
}

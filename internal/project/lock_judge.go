package project

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// LockJudge compares the items of a project with its lock while a walk reads them, so
// that no item is read and verified a second time.
type LockJudge struct {
	p    *Project
	once context.Context // carries what the chains have in common

	mu    sync.Mutex
	items map[item.Ref]*judgedItem
}

// judgedItem is what the judge knows of a ref.
type judgedItem struct {
	primary.Judged
	files []string // paths of the files of the item
}

// LockJudge returns the judge of the project's lock, nil without one. It keeps what it
// reads for the time of ctx.
func (p *Project) LockJudge(ctx context.Context) *LockJudge {
	if p.Lock == nil {
		return nil
	}
	return &LockJudge{p: p, once: resolve.Once(ctx), items: make(map[item.Ref]*judgedItem, len(p.Lock.Lock.Items))}
}

// Item judges one item. Items that have no entries of their own are ignored.
func (j *LockJudge) Item(ctx context.Context, it *resolve.Item) error {
	if it.Root.Space != space.Project || it.Root.Bundled() || !primary.Lockable(it.Ref) || resolve.Sealed(it.Ref) {
		return nil
	}
	locked := j.p.Lock.Lock.Item(it.Ref)
	found, err := j.p.Verbs.JudgeLock(j.once, it, locked)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	all := &judgedItem{Judged: found, files: []string{it.Path()}}
	if other := j.items[it.Ref]; other != nil {
		all.files = append(other.files, all.files...)
	}
	j.items[it.Ref] = all
	return ctx.Err()
}

// result returns the entries as they are now, sorted, and the findings about them.
func (j *LockJudge) result(ctx context.Context) ([]lock.Item, []diag.Finding) {
	items := make([]lock.Item, 0, len(j.items))
	var fs []diag.Finding
	for _, ref := range j.refs() {
		judged := j.items[ref]
		found := judged.Judged
		if len(judged.files) > 1 {
			if bad := j.p.Verbs.JudgeFiles(ctx, ref, judged.files); bad != nil { // nothing runs it
				found = primary.Judged{Findings: bad}
			}
		}
		if found.Entry != nil {
			items = append(items, *found.Entry)
		}
		fs = append(fs, found.Findings...)
	}
	diag.Sort(fs)
	return items, j.p.Verbs.NotIgnored(ctx, fs)
}

// refs returns the refs of the items that were judged, sorted. Most are in the lock, which
// has that order.
func (j *LockJudge) refs() []item.Ref {
	out := make([]item.Ref, 0, len(j.items))
	for i := range j.p.Lock.Lock.Items {
		if ref := j.p.Lock.Lock.Items[i].Ref; j.items[ref] != nil {
			out = append(out, ref)
		}
	}
	if len(out) < len(j.items) {
		out = slices.SortedFunc(maps.Keys(j.items), lock.CompareRefs)
	}
	return out
}

// differs returns how an item differs from the lock.
func (j *LockJudge) differs(_ context.Context, ref item.Ref) error {
	if found := j.items[ref]; found != nil {
		return found.Differs
	}
	return nil
}

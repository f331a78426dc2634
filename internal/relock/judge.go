package relock

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// Judge compares the items of a project with its lock while a walk reads them, so
// that no item is read and verified a second time.
type Judge struct {
	p    *project.Project
	once context.Context // carries what the chains have in common

	mu     sync.Mutex
	same   []string                 // of each entry of the lock that is as it is now, the file of the item
	others map[item.Ref]*judgedItem // all other items
}

// judgedItem is what the judge knows of an item.
type judgedItem struct {
	primary.Judged
	files []string // paths below .ai of the files with this id
	root  *space.Root
}

// NewJudge returns the judge of the project's lock, nil without one. It keeps what it
// reads for the time of ctx.
func NewJudge(ctx context.Context, p *project.Project) *Judge {
	if p.Lock == nil {
		return nil
	}
	return &Judge{
		p:      p,
		once:   resolve.Once(ctx),
		same:   make([]string, len(p.Lock.Lock.Items)),
		others: map[item.Ref]*judgedItem{},
	}
}

// Item judges one item. Items that have no entries of their own are ignored.
func (j *Judge) Item(ctx context.Context, it *resolve.Item) error {
	if it.Root.Space != space.Project ||
		it.Root.Bundled() ||
		!primary.Lockable(it.Ref) ||
		resolve.Sealed(it.Ref) {
		return nil
	}
	at := j.p.Lock.Lock.ItemAt(it.Ref)
	var locked *lock.Item
	if at >= 0 {
		locked = &j.p.Lock.Lock.Items[at]
	}
	found, err := j.p.Verbs.JudgeLock(j.once, it, locked)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(
		it,
		at,
		found,
		locked != nil && found.Entry == locked && len(found.Findings) == 0 && found.Differs == nil,
	)
	return ctx.Err()
}

// add records what was found of an item whose entry has a position in the lock, -1 if it
// has none. Same states that the entry is as it was.
func (j *Judge) add(it *resolve.Item, at int, found primary.Judged, same bool) {
	x := j.others[it.Ref]
	if x == nil && same && j.same[at] == "" {
		j.same[at] = it.Rel
		return
	}
	if x == nil {
		x = &judgedItem{}
		j.others[it.Ref] = x
	}
	if at >= 0 && j.same[at] != "" { // this is the second file with the id
		x.files = append(x.files, j.same[at])
		j.same[at] = ""
	}
	x.Judged = found
	x.root = it.Root
	x.files = append(x.files, it.Rel)
}

// Result returns the entries as they are now, sorted, and the findings about them.
func (j *Judge) Result(ctx context.Context) ([]lock.Item, []diag.Finding) {
	items := make([]lock.Item, 0, len(j.same)+len(j.others))
	var fs []diag.Finding
	for i, rel := range j.same {
		if rel != "" {
			items = append(items, j.p.Lock.Lock.Items[i])
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(j.others), lock.CompareRefs) {
		x := j.others[ref]
		found := x.Judged
		if len(x.files) > 1 {
			for i, rel := range x.files {
				x.files[i] = x.root.Display(rel)
			}
			bad := j.p.Verbs.JudgeFiles(ctx, ref, x.files)
			if bad != nil { // nothing runs it
				found = primary.Judged{Findings: bad}
			}
		}
		if found.Entry != nil {
			items = append(items, *found.Entry)
		}
		fs = append(fs, found.Findings...)
	}
	if len(j.others) > 0 {
		slices.SortFunc(items, func(a, b lock.Item) int {
			return lock.CompareRefs(a.Ref, b.Ref)
		})
	}
	diag.Sort(fs)
	return items, j.p.Verbs.NotIgnored(ctx, fs)
}

// Differs returns how an item that was judged differs from the lock.
func (j *Judge) Differs(_ context.Context, ref item.Ref) error {
	if x := j.others[ref]; x != nil {
		return x.Differs
	}
	return nil
}

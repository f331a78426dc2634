package relock

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/resolve/space"
)

// itemLock is the lock of a project before and after its tools are recorded in it.
type itemLock struct {
	project *project.Project
	dir     string
	before  []byte
	lock    *lock.Lock
	left    func([]item.Ref) map[item.Ref]bool // which items the work tree leaves out
}

// openItems reads the current lock of the project with its bundles as layers; a
// project without a lock starts an empty one. It reuses p unless a file changed
// since p was opened.
func openItems(ctx context.Context, p *project.Project, changed bool) (*itemLock, error) {
	if changed || !current(ctx, p) {
		var err error
		if p, err = p.Env.Open(ctx, project.Strict); err != nil {
			return nil, err
		}
	}
	x := &itemLock{project: p, dir: p.Spaces.ProjectDir, lock: &lock.Lock{}}
	x.left = func(refs []item.Ref) map[item.Ref]bool {
		return deps.LeftOut(ctx, p, refs)
	}
	if p.Lock != nil {
		x.lock, x.before = p.Lock.Lock, p.Lock.Written()
		return x, nil
	}
	m, err := project.ReadManifest(x.dir)
	if m == nil {
		m = &lock.ProjectFile{}
	}
	x.lock.Manifest, x.lock.Revoked = m.Settings(), p.Revoked()
	return x, err
}

// current reports whether p was opened without errors and rye.lock has not changed
// since.
func current(ctx context.Context, p *project.Project) bool {
	_, err := p.Resolver.Table(ctx)
	if err != nil ||
		p.Lock == nil ||
		len(p.LockErrs)+len(p.Resolver.Notes()) > 0 {
		return false
	}
	return lock.Unchanged(p.Files, lock.LockFile, p.Lock.Text)
}

// relock takes the tools of the project into the lock as they are. While some
// tool does not hold, no entry goes, and none of what a sparse checkout leaves
// out. Two bundles that give one id are an error.
func (x *itemLock) relock(ctx context.Context) ([]lock.Change, []diag.Finding, error) {
	defer x.project.Memo().Batch()()
	clash, err := x.project.Resolver.Collisions(ctx)
	if err == nil {
		err = diag.FromFindings("locking items", clash)
	}
	if err != nil {
		return nil, nil, err
	}
	items, notes, err := x.project.Verbs.LockItems(ctx, x.lock)
	if err != nil {
		return nil, nil, err
	}
	items, late := refuseExpired(ctx, x.project, x.lock, items)
	notes = append(notes, late...)
	if x.before != nil && x.lock.HasItems(items) {
		return nil, notes, nil
	}
	old := *x.lock
	x.lock.SetItems(items)
	gone := slices.DeleteFunc(slices.Clone(old.Items), func(it lock.Item) bool {
		return x.lock.Item(it.Ref) != nil
	})
	left := x.left(refsOf(gone))
	stay := slices.DeleteFunc(gone, func(it lock.Item) bool {
		return !diag.Failed(notes) && !left[it.Ref]
	})
	if len(stay) > 0 {
		x.lock.SetItems(slices.Concat(items, stay))
	}
	if len(x.lock.Items)+len(x.lock.Bundles)+len(x.lock.Adopted)+len(x.lock.Members) == 0 &&
		x.before == nil {
		return nil, notes, nil // there is nothing to lock
	}
	return lock.Compare(&old, x.lock), notes, nil
}

// write writes the lock if it changed, and records that in the result.
func (x *itemLock) write(r *packages.Result) error {
	b := x.lock.Render()
	if bytes.Equal(b, x.before) {
		return nil
	}
	err := atomicfile.Project(x.dir).Write(lock.LockFile, b, 0o644)
	if err != nil {
		return diag.Doing("writing "+lock.LockFile, err)
	}
	if !slices.Contains(r.Wrote, lock.LockFile) {
		r.Wrote = append(r.Wrote, lock.LockFile)
	}
	return nil
}

// LockItems records the project's own tools in the lock as they are now.
func LockItems(ctx context.Context, e *project.Env, x *deps.Packages, r *packages.Result) error {
	if x.Space != space.Project {
		return nil
	}
	release, err := Hold(ctx, x.Project)
	if err != nil {
		return err
	}
	defer release()
	e.Resolving = true
	x.Project.Env.Resolving = true
	it, err := openItems(
		ctx, x.Project,
		len(r.Installed)+len(r.Removed) > 0,
	)
	if err != nil {
		return err
	}
	changes, notes, err := it.relock(ctx)
	if err != nil {
		return err
	}
	left := map[diag.Code]int{}
	for _, f := range notes {
		if f.Code == diag.MissingDependency {
			e.Person.WarnOf(f) // with its hint; the entry is written without packages
			continue
		}
		if left[f.Code]++; e.Person.All || left[f.Code] <= project.LongList {
			e.Person.Warnf("not locked: %s", f)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(left)) {
		more := left[code] - project.LongList
		if more > 0 && !e.Person.All {
			e.Person.Warnf("not locked: %s with %s (-v lists them)", project.Count(more, "more item"), code)
		}
	}
	r.Items = changes
	for _, line := range summarised(changes, e.Person.All) {
		e.Person.Notef("%s", line)
	}
	if len(changes) == 0 {
		return nil
	}
	return it.write(r)
}

// CheckItems is LockItems that writes nothing: what it would change is stale.
func CheckItems(ctx context.Context, e *project.Env, x *deps.Packages) error {
	if x.Space != space.Project {
		return nil
	}
	it, err := openItems(ctx, x.Project, false)
	if err != nil {
		return err
	}
	changes, notes, err := it.relock(ctx)
	if err != nil {
		return err
	}
	fs := slices.DeleteFunc(notes, func(f diag.Finding) bool {
		return f.Code != diag.LockStale
	})
	for _, line := range summarised(changes, e.Person.All) {
		f := diag.Errorf(diag.LockStale, 1, 1, "%s", line)
		f.Path = lock.LockFile
		f.Reason = "relock"
		fs = append(fs, f)
	}
	return diag.FromFindings("checking "+lock.LockFile, fs)
}

// FollowBundles brings the entries of tools up to date whose chains pass
// through bundles that a verb changed. What changed elsewhere stays refused.
func FollowBundles(ctx context.Context, c *project.Env, x *deps.Packages, r *packages.Result) error {
	if x.Space != space.Project || r == nil || len(r.Changes) == 0 {
		return nil
	}
	release, err := Hold(ctx, x.Project)
	if err != nil {
		return err
	}
	defer release()
	it, err := openItems(ctx, x.Project, true)
	if err != nil || it.before == nil {
		return err
	}
	entries, err := it.project.Resolver.All(ctx, item.Tool)
	if err != nil {
		return err
	}
	var refs []item.Ref
	for _, e := range entries {
		if e.Root.Space == space.Project && e.Root.Bundled() {
			refs = append(refs, e.Ref)
		}
	}
	_, notes, err := it.project.Verbs.RefreshLock(ctx, it.lock, refs)
	Warn(c, notes)
	if err != nil {
		return err
	}
	return it.write(r)
}

func refsOf(items []lock.Item) []item.Ref {
	out := make([]item.Ref, len(items))
	for i, it := range items {
		out[i] = it.Ref
	}
	return out
}

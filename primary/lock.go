package primary

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// lockEntry is the lock entry of an item as it is now. The elements and uses are missing in
// one that is the old entry.
type lockEntry struct {
	*lock.Item
	elements, uses []lock.Element
}

// ofSystem reports whether a link of the entry is an item of the system.
func (e *lockEntry) ofSystem(ref item.Ref) bool {
	is := func(x lock.Element) bool {
		return x.Ref == ref && x.Space == string(space.System)
	}
	return slices.ContainsFunc(e.elements, is) || slices.ContainsFunc(e.uses, is)
}

// LockedKinds are the kinds whose items a lock records.
var LockedKinds = []item.Kind{item.Tool, item.Directive, item.Config}

// Lockable reports whether the items of a project with such a ref have lock entries.
// Drafts have none: no user has accepted them.
func Lockable(ref item.Ref) bool {
	return slices.Contains(LockedKinds, ref.Kind) && !strings.HasPrefix(ref.ID, trust.Drafts)
}

// LockItems returns the lock entries of the project's executable tools, directives
// and configurations. An item that cannot be locked is a finding: a warning if it
// needs an item of the user space, which other machines do not have, an error if it
// is invalid. old is the lock before: an entry that did not change is copied from it.
func (v *Verbs) LockItems(ctx context.Context, old *lock.Lock) ([]lock.Item, []diag.Finding, error) {
	entries, fs, err := v.lockEach(
		ctx,
		LockedKinds,
		old,
		func(resolve.Entry) bool { return true },
	)
	out := make([]lock.Item, len(entries))
	for i, e := range entries {
		out[i] = *e.Item
	}
	return out, fs, err
}

// lockEach is LockItems for the wanted items of some kinds. It judges them in parallel, and each
// element of their chains once. Without old, which may be nil, all entries have elements.
func (v *Verbs) lockEach(
	ctx context.Context,
	kinds []item.Kind,
	old *lock.Lock,
	wanted func(resolve.Entry) bool,
) ([]lockEntry, []diag.Finding, error) {
	ctx = resolve.Once(ctx)
	var listed []resolve.Entry
	files := map[item.Ref]int{}
	for _, kind := range kinds {
		entries, err := v.p.Resolver.Own(ctx, kind, ownItem)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			if !e.Shadow && Lockable(e.Ref) && wanted(e) {
				listed = append(listed, e)
				files[e.Ref]++
			}
		}
	}
	found := make([]lockEntry, len(listed))
	bad := make([][]diag.Finding, len(listed))
	var next atomic.Int64
	g, each := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) { // few goroutines: the stack of each grows once
		g.Go(func() error {
			reader := v.p.Resolver.Walker()
			for i := next.Add(1) - 1; int(i) < len(listed); i = next.Add(1) - 1 {
				entry, fs, err := v.lockItem(
					each,
					reader,
					listed[i],
					old.Item(listed[i].Ref),
					files[listed[i].Ref] > 1,
				)
				if err != nil {
					return err
				}
				if bad[i] = fs; entry != nil {
					found[i] = *entry
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	out := slices.DeleteFunc(found, func(e lockEntry) bool {
		return e.Item == nil
	})
	return out, v.NotIgnored(ctx, slices.Concat(bad...)), ctx.Err()
}

// NotIgnored returns the findings about files that git does not ignore.
func (v *Verbs) NotIgnored(ctx context.Context, fs []diag.Finding) []diag.Finding {
	if v.p.Ignored == nil || len(fs) == 0 {
		return fs
	}
	var paths []string
	for _, f := range fs {
		paths = append(paths, f.Path)
	}
	ignored, _ := v.p.Ignored(ctx, paths) // the finding about a file that git does not judge stays
	return slices.DeleteFunc(fs, func(f diag.Finding) bool {
		return ignored[f.Path]
	})
}

// ownItem reports whether a root contains the project's own items.
func ownItem(root *space.Root) bool {
	return root.Space == space.Project && !root.Bundled()
}

// lockItem returns the entry of one item, or nil if it is a tool that is not
// executable or if it cannot be locked. locked is its entry before, or nil; twice states that
// another file has the same id.
func (v *Verbs) lockItem(
	ctx context.Context,
	reader *resolve.Walker,
	e resolve.Entry,
	locked *lock.Item,
	twice bool,
) (*lockEntry, []diag.Finding, error) {
	it, err := reader.OpenPlain(ctx, e)
	if err != nil {
		return nil, []diag.Finding{signFinding(
			e.Root.Display(e.Rel),
			err,
		)}, ctx.Err()
	}
	if twice && e.Ref.Kind == item.Tool {
		_, err = v.p.Resolver.Inspect(ctx, e.Ref)
	}
	if err != nil {
		return nil, findingsOf(it, err), ctx.Err()
	}
	if v.asLocked(ctx, it, locked) {
		return &lockEntry{Item: locked}, nil, ctx.Err()
	}
	out, _, fs, err := v.entryOf(ctx, it)
	return out, fs, err
}

// asLocked reports whether it is known that the entry of an item, which may be nil, is the
// one that the item has now.
func (v *Verbs) asLocked(ctx context.Context, it *resolve.Item, locked *lock.Item) bool {
	return locked != nil &&
		it.Skipped &&
		v.p.Chains != nil &&
		records(locked, it, v.p.Chains.Known(ctx, it, locked))
}

// Chains knows the chains of items that need nothing but their elements: no
// configuration, no wheels. It knows no verdicts.
type Chains interface {
	// Known returns the elements of the chain of an item, judged now, nil if they are not
	// known. locked is the entry of the item in the lock, nil if the caller has not looked it up.
	Known(ctx context.Context, it *resolve.Item, locked *lock.Item) []*resolve.Item
	// Add is called for the elements of each such chain that has no fault.
	Add(elements []*resolve.Item)
}

// entryOf returns the entry of an item that was read, and the elements of its chain.
func (v *Verbs) entryOf(ctx context.Context, it *resolve.Item) (*lockEntry, []*resolve.Item, []diag.Finding, error) {
	if it.Skipped {
		if entry, chain := v.knownEntry(ctx, it); entry != nil {
			return entry, chain, nil, ctx.Err()
		}
		v.p.Resolver.Complete(it)
	}
	chain, err := v.lockedChain(ctx, it)
	if err != nil || chain == nil {
		return nil, chain, findingsOf(it, err), ctx.Err()
	}
	used, missing, err := v.p.Executor.Uses(ctx, chain)
	if err != nil {
		return nil, chain, findingsOf(it, err), ctx.Err()
	}
	out, err := newEntry(it, chain, used)
	if err != nil {
		f := signFinding(it.Path(), err)
		f.Severity = diag.SeverityWarning
		return nil, chain, []diag.Finding{f}, nil
	}
	if v.p.Dependencies == nil || it.Ref.Kind != item.Tool {
		return out, chain, missing, nil
	}
	v.deps.Lock() // it may start programs that share a directory
	out.Deps, err = v.p.Dependencies(ctx, &exec.Chain{Elements: chain})
	v.deps.Unlock()
	if err == nil {
		if v.p.Chains != nil &&
			out.Deps == nil &&
			len(missing) == 0 &&
			!exec.Reads(chain) {
			v.p.Chains.Add(chain)
		}
		return out, chain, missing, nil
	}
	f := signFinding(it.Path(), err)
	if f.Code != diag.LockStale { // as a warning: the entry is written without wheels, and a run is refused
		f.Severity = diag.SeverityWarning
	}
	return out, chain, append(missing, f), ctx.Err()
}

// knownEntry returns the entry of an item without its metadata, nil if that is not enough.
func (v *Verbs) knownEntry(ctx context.Context, it *resolve.Item) (*lockEntry, []*resolve.Item) {
	if v.p.Chains == nil {
		return nil, nil
	}
	chain := v.p.Chains.Known(ctx, it, nil)
	if chain == nil {
		return nil, nil
	}
	entry, err := newEntry(it, chain, nil)
	if err != nil {
		return nil, nil
	}
	return entry, chain
}

// newEntry returns the entry of an item with the chain and the items that it uses.
func newEntry(it *resolve.Item, chain, used []*resolve.Item) (*lockEntry, error) {
	elements := exec.Elements(chain...)
	uses := exec.Elements(used...)
	links := elements
	if it.Ref.Kind != item.Tool {
		links = nil
	}
	entry, err := lock.NewItem(elements[0], links, uses)
	if err != nil {
		return nil, err
	}
	return &lockEntry{Item: &entry, elements: elements, uses: uses}, nil
}

// JudgeFiles returns a finding for each of several files that define one item, nil if the
// item is found nevertheless.
func (v *Verbs) JudgeFiles(
	ctx context.Context,
	ref item.Ref,
	files []string,
) []diag.Finding {
	if ref.Kind != item.Tool {
		return nil
	}
	_, err := v.p.Resolver.Inspect(ctx, ref)
	if err == nil {
		return nil
	}
	var out []diag.Finding
	for _, path := range files {
		out = append(out, signFinding(path, err))
	}
	return out
}

// Judged is what verify needs to compare one item of the project with the lock.
type Judged struct {
	Entry    *lock.Item // as it is now; nil if the item has none
	Findings []diag.Finding
	Differs  error // from the lock, as for a run; other system items are an error too
}

// JudgeLock returns the entry of an item that was read, and compares its chain with the
// lock. locked is its entry in the lock, or nil; an entry that did not change is returned
// itself, so that it is in memory once.
func (v *Verbs) JudgeLock(
	ctx context.Context,
	it *resolve.Item,
	locked *lock.Item,
) (Judged, error) {
	if v.asLocked(ctx, it, locked) {
		return Judged{Entry: locked}, ctx.Err()
	}
	entry, chain, fs, err := v.entryOf(ctx, it)
	out := Judged{Findings: fs}
	if err != nil || entry == nil {
		return out, err
	}
	if out.Entry = entry.Item; locked != nil {
		if locked.Equal(out.Entry) {
			out.Entry = locked
		}
		out.Differs = v.p.Executor.CompareLock(ctx, chain)
	}
	return out, ctx.Err()
}

// records reports whether an entry is the one of a known chain, whose elements use no
// other items.
func records(entry *lock.Item, it *resolve.Item, chain []*resolve.Item) bool {
	links := entry.Chain
	if it.Ref.Kind != item.Tool && len(links) == 0 {
		links = []lock.Link{{Ref: entry.Ref, Digest: entry.Digest}}
	}
	if chain == nil ||
		entry.Ref != it.Ref ||
		entry.Digest != it.Digest ||
		len(entry.Uses)+len(entry.Deps)+len(entry.Extra) > 0 {
		return false
	}
	return slices.EqualFunc(links, chain, func(l lock.Link, e *resolve.Item) bool {
		return l.Ref == e.Ref &&
			l.Digest == e.Digest &&
			e.Root.Space != space.User
	})
}

// lockedChain returns the verified elements of an item: of a tool its chain, nil if it
// is not executable, else the item alone.
func (v *Verbs) lockedChain(ctx context.Context, it *resolve.Item) ([]*resolve.Item, error) {
	if it.Ref.Kind != item.Tool {
		return []*resolve.Item{it}, it.Usable()
	}
	if it.Support() {
		// A file that looks like a tool to a person must not leave the lock unnoticed.
		return nil, diag.FromFindings("reading "+it.Ref.String(), it.Findings)
	}
	if it.Meta.ExecutorID == "" {
		return nil, nil
	}
	chain, err := v.p.Executor.WalkFrom(ctx, it)
	if err != nil {
		return nil, err
	}
	return chain.Elements, nil
}

// findingsOf returns an error about an item as findings.
func findingsOf(it *resolve.Item, err error) []diag.Finding {
	if err == nil {
		return nil
	}
	return []diag.Finding{signFinding(it.Path(), err)}
}

// RefreshLock updates the entries of items that were just signed, and of the items
// whose chains or uses contain them, and reports whether the lock changed. An entry
// that differs in anything else is kept, with a warning: signing an item must not
// accept other changes. Other items of the system than the locked ones stay a
// difference, too.
func (v *Verbs) RefreshLock(
	ctx context.Context,
	l *lock.Lock,
	signed []item.Ref,
) (bool, []diag.Finding, error) {
	if len(signed) == 0 {
		return false, nil, nil
	}
	now, fs, err := v.reached(ctx, l, signed)
	if err != nil {
		return false, nil, err
	}
	changed := false
	for _, it := range now {
		old := l.Item(it.Ref)
		switch {
		case !slices.ContainsFunc(signed, it.Contains):
		case old == nil:
			if slices.Contains(signed, it.Ref) {
				l.SetItem(*it.Item)
				changed = true
			}
		default:
			if fresh, ok := refreshed(*old, it, signed); ok {
				changed = changed || !old.SameText(&fresh)
				l.SetItem(fresh)
			} else {
				f := diag.Warnf(diag.LockMismatch, 0, 0, "%s differs from its lock entry in more than the signed item; the entry is kept", it.Ref)
				f.Path = lock.LockFile
				fs = append(fs, f.WithReason("entry_kept"))
			}
		}
	}
	return changed, fs, nil
}

// AddToLock adds the entries of items that have none. Existing entries stay.
func (v *Verbs) AddToLock(
	ctx context.Context,
	l *lock.Lock,
	refs []item.Ref,
) (bool, error) {
	missing := map[item.Ref]bool{}
	for _, ref := range refs {
		if Lockable(ref) && l.Item(ref) == nil {
			missing[ref] = true
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	now, _, err := v.lockEach(ctx, LockedKinds, nil, func(e resolve.Entry) bool {
		return missing[e.Ref]
	})
	for _, it := range now {
		l.SetItem(*it.Item)
	}
	return len(now) > 0, err
}

// reached returns the entries that signing these items can change: their own, and
// those that contain one of them. Invalid chains are not reported: they were invalid
// before.
func (v *Verbs) reached(
	ctx context.Context,
	l *lock.Lock,
	signed []item.Ref,
) ([]lockEntry, []diag.Finding, error) {
	now := map[item.Ref]bool{}
	isNew := false
	for _, ref := range signed {
		now[ref], isNew = true, isNew || l.Item(ref) == nil
	}
	wanted := maps.Clone(now)
	for _, ref := range l.Naming(now) {
		wanted[ref] = true
	}
	if isNew { // an item that does not run may name one that was missing before
		for ref := range l.Refs() {
			if ref.Kind != item.Tool {
				wanted[ref] = true
			}
		}
	}
	kinds := slices.DeleteFunc(slices.Clone(LockedKinds), func(k item.Kind) bool {
		for ref := range wanted {
			if ref.Kind == k {
				return false
			}
		}
		return true
	})
	out, fs, err := v.lockEach(ctx, kinds, nil, func(e resolve.Entry) bool {
		return wanted[e.Ref]
	})
	return out, slices.DeleteFunc(fs, func(f diag.Finding) bool {
		return f.Severity == diag.SeverityError
	}), err
}

// refreshed returns the old entry with the links of the found item that were signed
// or are new. Every other link must be equal in both, or ok is false; the old link of
// a system item is kept.
func refreshed(old lock.Item, found lockEntry, signed []item.Ref) (lock.Item, bool) {
	out := lock.Item{
		Ref:    found.Ref,
		Digest: found.Digest,
		Deps:   found.Deps,
		Extra:  old.Extra,
	}
	ok := true
	update := func(was, is []lock.Link) (links []lock.Link) {
		for _, link := range is {
			i := slices.IndexFunc(was, func(x lock.Link) bool {
				return x.Ref == link.Ref
			})
			if !slices.Contains(signed, link.Ref) && i >= 0 && was[i] != link {
				ok = ok && found.ofSystem(link.Ref)
				link = was[i]
			}
			links = append(links, link)
		}
		return links
	}
	out.Chain, out.Uses = update(old.Chain, found.Chain), update(old.Uses, found.Uses)
	if old.Digest == found.Digest && found.Deps == nil {
		out.Deps = old.Deps
	}
	if !slices.Contains(signed, old.Ref) && old.Digest != found.Digest {
		ok = false
	}
	return out, ok
}

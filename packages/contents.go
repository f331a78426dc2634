package packages

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// Content is one file of a bundle, and the item that it is.
type Content struct {
	Path  string
	Ref   item.Ref    // zero for a file that is not an item
	Signs item.Ref    // what a signature in it names: Ref, or the id of a support file
	Type  string      // of a tool: its tool_type
	Asks  []string    // capabilities, and hosts as net:HOST, that the item asks for
	Body  item.Digest // of the file without its signature line
	Style sign.Style  // of that line
}

// name returns the ref of an item, or the path of a file.
func (c Content) name() string {
	if c.Ref.IsZero() {
		return c.Path
	}
	return c.Ref.String()
}

// Holder is a space, or another bundle in one, that has an item.
type Holder struct {
	Label  string // user, project:github.com/acme/core@v1.0.0
	Bundle string // its id if it is a bundle of the same space, else ""
	Nearer bool   // it comes before bundles of this space, so its item is used
}

// ItemChange is the difference of one item or file between two versions of a
// bundle. Changed signatures alone are not a difference.
type ItemChange struct {
	Name     string   `json:"name"` // kind:id, or the path of a file that is not an item
	Op       lock.Op  `json:"op"`
	Type     string   `json:"type,omitempty"`        // of a tool
	Over     []string `json:"shadows,omitempty"`     // whose item of the same id is not used any more
	Under    []string `json:"shadowed_by,omitempty"` // whose item is used instead of this one
	Reserved bool     `json:"reserved,omitempty"`    // not used: a reserved id that the project file does not prefer
	Consent  string   `json:"consent,omitempty"`     // what a user has to accept: shadows, system, prefer, tool, directive; "" for nothing
}

// describeItems adds the differences of items to the changes of a solution, and
// what a user has to accept.
func (e *Engine) describeItems(
	ctx context.Context,
	st *state,
	s *solver,
	l *lock.Lock,
	changes []Change,
) error {
	others := newOffers(s.project, l, changes)
	errs := each(ctx, len(changes), func(i int) error {
		c := &changes[i]
		now := l.BundleNamed(c.ID)
		if now == nil {
			return nil
		}
		was := st.lock.BundleNamed(c.ID)
		c.fresh = was == nil || !installs(*was)
		same := was != nil && was.Sum == now.Sum
		c.same = same
		wider := same && !slices.Equal(was.Use, now.Use) // use may contain items that it did not
		c.accepted = same && !wider || st.mergedWith(*now)
		c.pulled = c.From == "" &&
			!c.Direct &&
			st.pulledIn(l, now.ID)
		snap := s.snaps[now.Module()]
		if snap == nil || e.p.Contents == nil || same && !wider {
			return nil
		}
		return e.itemsOf(ctx, s, c, was, *now, snap, others)
	})
	return joinErrors("comparing items", append(errs, others.collisions()))
}

// offers are the bundles that provide each item with which a change could collide.
// Two bundles with one id are refused before anything is written: the lock would be one that rye
// lock --check refuses.
type offers struct {
	mu      sync.Mutex
	project *lock.ProjectFile
	lock    *lock.Lock
	changed map[string]bool // bundles whose items come from their new version
	of      map[item.Ref][]string
}

func newOffers(project *lock.ProjectFile, l *lock.Lock, changes []Change) *offers {
	o := &offers{
		project: project,
		lock:    l,
		changed: map[string]bool{},
		of:      map[item.Ref][]string{},
	}
	for _, c := range changes {
		o.changed[c.ID] = true
	}
	return o
}

// add records the bundle that has a new item, and the unchanged bundles that have
// it too.
func (o *offers) add(ref item.Ref, id string, holders []Holder) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ids := []string{id}
	for _, h := range holders {
		if h.Bundle != "" &&
			!o.changed[h.Bundle] &&
			o.lock.BundleNamed(h.Bundle) != nil {
			ids = append(ids, h.Bundle)
		}
	}
	for _, id := range ids {
		if !slices.Contains(o.of[ref], id) {
			o.of[ref] = append(o.of[ref], id)
		}
	}
}

// collisions returns an error for items that two bundles provide and for which
// prefer names neither.
func (o *offers) collisions() error {
	var errs []error
	for ref, ids := range o.of {
		slices.Sort(ids)
		if len(ids) < 2 ||
			slices.Contains(ids, preferredFor(o.project, ref).String()) {
			continue
		}
		errs = append(errs, diag.New(
			diag.AmbiguousItem,
			"locking items: the bundles %s have %s",
			strings.Join(ids, " and "),
			ref,
		).
			WithReason("prefer_first").
			WithDetail("ref", ref.String()).
			WithDetail("bundle", ids[0]))
	}
	slices.SortFunc(errs, func(a, b error) int {
		return cmp.Compare(a.Error(), b.Error())
	})
	return joinErrors("locking items", errs)
}

// preferredFor returns the bundle that the project file prefers for an item, or zero.
func preferredFor(project *lock.ProjectFile, ref item.Ref) lock.ID {
	return project.Replacing(lock.Module{ID: project.Prefer[ref.String()]}).ID
}

// mergedWith reports whether the other side of a merge has exactly this release:
// the user who locked it accepted it.
func (st *state) mergedWith(b lock.Bundle) bool {
	theirs := st.theirs.Bundle(b.ID)
	return theirs != nil && theirs.Version == b.Version && theirs.Sum == b.Sum
}

// pulledIn reports whether a bundle that was locked before now requires id: no
// user named it.
func (st *state) pulledIn(l *lock.Lock, id lock.ID) bool {
	return slices.ContainsFunc(l.Bundles, func(b lock.Bundle) bool {
		return st.lock.Bundle(b.ID) != nil &&
			slices.ContainsFunc(b.Needs, func(m lock.Module) bool {
				return m.ID == id
			})
	})
}

// itemsOf fills in the items of one change. If the files of the version before
// are not available, every item is new.
func (e *Engine) itemsOf(
	ctx context.Context,
	s *solver,
	c *Change,
	was *lock.Bundle,
	now lock.Bundle,
	snap *source.Snapshot,
	others *offers,
) error {
	after, err := e.p.Contents(ctx, snap)
	if err != nil {
		return err
	}
	var before []Content
	if !c.fresh {
		old, err := e.lockedSnapshot(ctx, s.src, *was)
		if err == nil {
			before, err = e.p.Contents(ctx, old)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			c.Unknown = err.Error()
		}
	}
	if was != nil && len(was.Use) > 0 {
		before = slices.DeleteFunc(before, func(x Content) bool {
			return !x.Ref.IsZero() && !lock.Uses(was.Use, x.Ref)
		})
	}
	for _, d := range compareContents(before, after) {
		if d.op == lock.Added &&
			!d.Ref.IsZero() &&
			!lock.Uses(now.Use, d.Ref) {
			continue // not used before and not used now
		}
		x := ItemChange{Name: d.name(), Op: d.op, Type: d.Type}
		if d.op != lock.Removed && !d.Ref.IsZero() {
			err := e.weigh(ctx, others, c, now, d, &x)
			if err != nil {
				return err
			}
		}
		c.Items = append(c.Items, x)
	}
	return nil
}

// weigh states which items a new or changed one replaces, and whether a user has to
// accept that.
func (e *Engine) weigh(
	ctx context.Context,
	all *offers,
	c *Change,
	now lock.Bundle,
	d difference,
	x *ItemChange,
) error {
	if x.Reserved = space.Reserved(d.Ref) &&
		preferredFor(all.project, d.Ref) != now.ID; x.Reserved ||
		!lock.Uses(now.Use, d.Ref) {
		return nil
	}
	if e.p.Others != nil { // a configuration is merged with nearer ones, not hidden by them
		others, err := e.p.Others(ctx, d.Ref, now.ID.String())
		if err != nil {
			return err
		}
		if d.op == lock.Added {
			all.add(d.Ref, now.ID.String(), others)
		}
		for _, o := range others {
			switch {
			case o.Bundle != "":
			case !o.Nearer:
				x.Over = append(x.Over, o.Label)
			case d.Ref.Kind != item.Config:
				x.Under = append(x.Under, o.Label)
			}
		}
	}
	// An item that a nearer one hides today is used once that one is removed or renamed, and
	// nothing asks then. So it needs the same consent.
	switch {
	case len(x.Over) > 0:
		x.Consent = "shadows"
	case space.Reserved(d.Ref):
		x.Consent = "system" // settings of the system, which no other space has
	case instructs(d.Ref.Kind) && d.op == lock.Added && !c.fresh && !c.same && c.Unknown == "":
		x.Consent = string(d.Ref.Kind)
	}
	return nil
}

// instructs reports whether items of a kind decide what a run or a model does.
func instructs(k item.Kind) bool {
	return k == item.Tool || k == item.Directive
}

// overrides returns the items of an installed bundle that Audited lists. A bundle
// that is not on this machine has none.
func (e *Engine) overrides(
	ctx context.Context,
	st *state,
	b lock.Bundle,
) ([]ItemChange, error) {
	snap := e.localSnapshot(b)
	if snap == nil || e.p.Contents == nil {
		return nil, nil
	}
	list, err := e.p.Contents(ctx, snap)
	if err != nil {
		return nil, err
	}
	var out []ItemChange
	all := newOffers(st.project, st.lock, nil)
	for _, d := range compareContents(nil, list) {
		if d.Ref.IsZero() {
			continue
		}
		x := ItemChange{Name: d.name(), Op: d.op, Type: d.Type}
		err := e.weigh(ctx, all, &Change{fresh: true}, b, d, &x)
		if err != nil {
			return nil, err
		}
		if x.Reserved || x.Consent != "" {
			out = append(out, x)
		}
	}
	return out, nil
}

// localSnapshot returns the files of a locked bundle from its install directory or
// the cache, or nil.
func (e *Engine) localSnapshot(b lock.Bundle) *source.Snapshot {
	if snap := e.installedSnapshot(b); snap != nil {
		return snap
	}
	snap, err := e.p.Cache.Open(b.Sum)
	if err != nil {
		return nil
	}
	snap.Origin = originOf(b)
	return snap
}

// lockedSnapshot returns the files of a locked bundle: installed, cached, or
// fetched.
func (e *Engine) lockedSnapshot(
	ctx context.Context,
	src source.Source,
	b lock.Bundle,
) (*source.Snapshot, error) {
	if snap := e.localSnapshot(b); snap != nil {
		return snap, nil
	}
	return e.fetchLocked(ctx, src, b)
}

// difference is a content that differs between two versions.
type difference struct {
	Content // of the new version, or of the old one if it was removed
	op      lock.Op
	old     Content
}

// compareContents returns the differences: tools first, then other items, then
// files, each by name.
func compareContents(before, after []Content) []difference {
	old := map[string]Content{}
	for _, c := range before {
		old[c.name()] = c
	}
	var out []difference
	for _, c := range after {
		was, had := old[c.name()]
		delete(old, c.name())
		switch {
		case !had:
			out = append(out, difference{c, lock.Added, Content{}})
		case was.Body != c.Body || was.Type != c.Type || was.Path != c.Path:
			out = append(out, difference{c, lock.Changed, was})
		}
	}
	for _, c := range old {
		out = append(out, difference{c, lock.Removed, c})
	}
	rank := func(d difference) int {
		switch d.Ref.Kind {
		case item.Tool:
			return 0
		case "":
			return 2
		}
		return 1
	}
	slices.SortFunc(out, func(a, b difference) int {
		return cmp.Or(
			rank(a)-rank(b),
			cmp.Compare(a.name(), b.name()),
		)
	})
	return out
}

// releaseScope returns the kinds and the patterns of ids that a key needs to sign a
// release: its manifest and its items, without those that are not used.
func (e *Engine) releaseScope(
	ctx context.Context,
	rs Rules,
	id lock.ID,
	manifest string,
	snap *source.Snapshot,
) (kinds, ids []string) {
	kinds = []string{bundle.Subject(manifest).Kind}
	ids = []string{manifest}
	if e.p.Contents == nil {
		return kinds, ids
	}
	list, err := e.p.Contents(ctx, snap)
	if err != nil {
		return nil, nil
	}
	project := rs[len(rs)-1].ProjectFile // rye.yaml is the last of the rules
	for _, c := range list {
		if c.Signs.IsZero() ||
			space.Reserved(c.Signs) && preferredFor(project, c.Signs) != id {
			continue
		}
		kinds = append(kinds, string(c.Signs.Kind))
		first, _, nested := strings.Cut(c.Signs.ID, "/")
		if nested {
			ids = append(ids, first+"/**")
		} else {
			ids = append(ids, first)
		}
	}
	slices.Sort(kinds)
	slices.Sort(ids)
	return slices.Compact(kinds), slices.Compact(ids)
}

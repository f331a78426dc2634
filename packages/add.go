package packages

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// AddParams says what to add.
type AddParams struct {
	Queries []Query
	// Approve is asked before bundles that were there, and that nobody named, may
	// do more than before. Nil approves nothing of the kind.
	Approve func(changes []Change) error
}

// Add requires bundles, or single items of them, and locks and installs what
// they need. Several are one change: all of them or none.
func (e *Engine) Add(ctx context.Context, p AddParams) (*Result, error) {
	queries := p.Queries
	if e.p.Locked {
		return nil, lockedVerb("add")
	}
	return e.edit(ctx, func(st *state) ([]lock.Edit, error) {
		s, err := e.solver(st, st.manifest)
		if err != nil {
			return nil, err
		}
		found := make([]string, len(queries))
		at := make([]int, len(queries))
		for i := range at {
			at[i] = i
		}
		errs := each(ctx, at, func(i int) (err error) {
			found[i], err = s.wanted(ctx, queries[i])
			return err
		})
		if err := together("adding", errs); err != nil {
			return nil, err
		}
		return additions(st.manifest, queries, found), nil
	}, func(changes []Change) error {
		return approve("adding", p.Approve, slices.DeleteFunc(changes, func(c Change) bool { return named(queries, c.ID) }))
	})
}

// named reports whether a person named the bundle.
func named(queries []Query, id string) bool {
	return slices.ContainsFunc(queries, func(q Query) bool { return q.ID.String() == id })
}

func lockedVerb(verb string) error {
	return diag.New(diag.LockStale, "running %s: it changes %s, and --locked lets nothing change it", verb, lock.LockFile).
		WithHint("run it without --locked where the project is worked on")
}

// wanted returns what to write into require for a query.
func (s *solver) wanted(ctx context.Context, q Query) (string, error) {
	id := q.ID.String()
	if err := s.rules().Source(lock.Module{ID: id, Version: q.Version}, q.ID); err != nil {
		return "", err
	}
	for _, r := range s.m.Requires() {
		if other, err := lock.ParseID(r.ID); err == nil && lock.LookOf(q.ID).Same(lock.LookOf(other)) {
			return "", diag.New(diag.Usage, "adding %s: it is %s, which is required already", id, r.ID).
				WithHint("rye add %s@VERSION takes another version; rye remove %s first changes the address", r.ID, r.ID)
		}
	}
	switch {
	case q.ID.Kind == lock.PathID:
		return lock.LocalVersion, nil
	case q.Version == "" && s.m.Require[id] != "":
		return s.m.Require[id], nil
	case lock.IsCommit(q.Version):
		o, err := s.src.Resolve(ctx, q.ID, q.Version)
		return o.Commit, err
	}
	s.e.tell(Resolving, lock.Module{ID: id, Version: q.Version})
	if q.Version == "" || q.Version == source.Latest {
		if b := s.st.previous(id); b != nil && q.Version == "" {
			return b.Version, nil
		}
		l, err := s.src.Versions(ctx, q.ID)
		if err != nil {
			return "", err
		}
		if v := lock.Newest(q.ID, "", l.Names(), s.m.Exclude[id]); v != "" {
			return v, nil
		}
	}
	o, err := s.src.Resolve(ctx, q.ID, q.Version)
	if lock.IsPseudo(o.Version) {
		return o.Commit, err
	}
	return o.Version, err
}

// additions returns the edits for queries. Naming a bundle without an item
// takes all of it; naming items narrows a bundle that is new or narrowed.
func additions(m *lock.Manifest, queries []Query, versions []string) []lock.Edit {
	var edits []lock.Edit
	use := map[string][]string{}
	whole := map[string]bool{}
	var order []string
	for i, q := range queries {
		id := q.ID.String()
		if m.Require[id] != versions[i] {
			edits = append(edits, lock.SetRequire(id, versions[i]))
		}
		if _, seen := use[id]; !seen {
			use[id] = slices.Clone(m.Use[id])
			order = append(order, id)
			whole[id] = m.Require[id] != "" && len(m.Use[id]) == 0
		}
		if q.Item == "" {
			whole[id] = true
		} else if !slices.Contains(use[id], q.Item) {
			use[id] = append(use[id], q.Item)
		}
	}
	for _, id := range order {
		if whole[id] {
			use[id] = nil
		}
		if !slices.Equal(use[id], m.Use[id]) {
			edits = append(edits, lock.SetUse(id, use[id]))
		}
	}
	return edits
}

// Remove takes bundles out of the manifest, and out of the lock and the space
// what nothing needs any more.
func (e *Engine) Remove(ctx context.Context, ids []string) (*Result, error) {
	if e.p.Locked {
		return nil, lockedVerb("remove")
	}
	return e.edit(ctx, func(st *state) ([]lock.Edit, error) {
		var edits []lock.Edit
		var errs []error
		for _, word := range ids {
			id, err := requiredID(st.manifest, word)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			edits = append(edits, lock.Remove(st.manifest, id)...)
		}
		return edits, together("removing", errs)
	}, func([]Change) error { return nil })
}

// requiredID returns the id that a word names among what is required: the id
// itself, or its last elements when only one ends so.
func requiredID(m *lock.Manifest, word string) (string, error) {
	var all []string
	for _, r := range m.Requires() {
		all = append(all, r.ID)
	}
	return pick(word, all, "required in "+lock.ManifestFile)
}

// pick returns the id that a word names among ids.
func pick(word string, ids []string, where string) (string, error) {
	if id, err := lock.ParseID(word); err == nil && slices.Contains(ids, id.String()) {
		return id.String(), nil
	}
	var ends []string
	for _, id := range ids {
		if len(word) > 0 && len(id) > len(word) && id[len(id)-len(word)-1] == '/' && id[len(id)-len(word):] == word {
			ends = append(ends, id)
		}
	}
	switch len(ends) {
	case 1:
		return ends[0], nil
	case 0:
		err := diag.New(diag.SourceNotFound, "looking for %q: it is not %s", word, where)
		if near := suggest.List(word, ids, 3); len(near) > 0 {
			return "", err.WithHint("there is %s", join(near))
		}
		return "", err.WithHint("rye list --bundles shows what there is")
	}
	return "", diag.New(diag.AmbiguousItem, "looking for %q: %s end so", word, join(ends)).WithHint("write the whole id")
}

func join(list []string) string {
	out := ""
	for i, s := range list {
		if i > 0 {
			out += ", "
		}
		out += s
	}
	return out
}

// edit changes the manifest, solves it and, when agreed says nothing against what
// that changes, makes the solution true.
func (e *Engine) edit(ctx context.Context, edits func(*state) ([]lock.Edit, error), agreed func([]Change) error) (*Result, error) {
	st, release, err := e.holdState(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	list, err := edits(st)
	if err != nil {
		return nil, err
	}
	text, sol, err := e.solveEdited(ctx, st, list)
	if err != nil {
		return nil, err
	}
	if err := agreed(changesOf(st.lock, sol.lock)); err != nil {
		return nil, err
	}
	return e.commit(ctx, st, text, sol)
}

// solveEdited solves the manifest as edits leave it and returns its text.
func (e *Engine) solveEdited(ctx context.Context, st *state, edits []lock.Edit) ([]byte, *solution, error) {
	text, m := st.manifestText, st.manifest
	if len(edits) > 0 {
		var err error
		if text, err = lock.EditManifest(text, edits...); err != nil {
			return nil, nil, err
		}
		if m, err = parseManifest(lock.ManifestFile, text); err != nil {
			return nil, nil, err
		}
	}
	sol, err := e.solveFor(ctx, st, m)
	return text, sol, err
}

func (e *Engine) solveFor(ctx context.Context, st *state, m *lock.Manifest) (*solution, error) {
	s, err := e.solver(st, m)
	if err != nil {
		return nil, err
	}
	return s.solve(ctx)
}

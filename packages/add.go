package packages

import (
	"context"
	"fmt"
	"github.com/ryeos/rye/lock/edit"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// AddParams configures Add.
type AddParams struct {
	Queries []Query
	Approve Approve
	// Review is called with all changes after Approve, before anything is written. An
	// error of it stops the call. It may be nil.
	Review Approve
}

// Add requires bundles, or single items of them, and locks and installs their
// requirements. Several queries are one change: all of them or none.
func (e *Engine) Add(ctx context.Context, p AddParams) (*Result, error) {
	if e.p.Locked {
		return nil, lockedError("add")
	}
	queries := p.Queries
	var notes []string
	r, err := e.edit(ctx, func(st *state) ([]edit.Edit, error) {
		s, err := e.solver(st, st.project)
		if err != nil {
			return nil, err
		}
		versions := make([]string, len(queries))
		misnamed := make([]string, len(queries))
		errs := each(ctx, len(queries), func(i int) (err error) {
			versions[i], misnamed[i], err = s.requirement(ctx, queries[i])
			return err
		})
		notes = slices.DeleteFunc(misnamed, func(s string) bool { return s == "" })
		if err := joinErrors("adding", errs); err != nil {
			return nil, err
		}
		return additions(st.project, queries, versions), nil
	}, func(changes []Change) error {
		err := approve("adding", p.Approve, changes)
		if err == nil && p.Review != nil {
			err = p.Review(changes)
		}
		return err
	})
	if r != nil {
		r.Notes = append(notes, r.Notes...)
	}
	return r, err
}

func lockedError(verb string) error {
	return diag.New(diag.LockStale, "running %s: it changes %s, which --locked forbids", verb, lock.LockFile).WithReason("locked_flag")
}

// requirement returns the version to write into require for a query, and a note if the
// repository has tags that look like releases and do not begin with v.
func (s *solver) requirement(ctx context.Context, q Query) (version, note string, err error) {
	id := q.ID
	asked := lock.Module{ID: id, Version: q.Version}
	if err := s.rules().Source(asked); err != nil {
		return "", "", err
	}
	for _, r := range s.project.Requires() {
		if lock.LookOf(id).Same(lock.LookOf(r.ID)) {
			return "", "", diag.New(diag.Usage, "adding %s: it is %s, which is required already", id, r.ID).
				WithReason("required_already").WithDetail("required", r.ID.String())
		}
	}
	switch {
	case id.Kind == lock.PathID:
		return lock.LocalVersion, "", nil
	case q.Version == "" && s.project.Require[id] != "":
		return s.project.Require[id], "", nil
	case lock.IsCommit(q.Version):
		o, err := s.src.Resolve(ctx, id, q.Version)
		return o.Commit, "", err
	}
	s.e.report(Resolving, asked)
	if q.Version == "" || q.Version == source.Latest {
		b := s.st.previous(id)
		if b != nil && q.Version == "" {
			return b.Version, "", nil
		}
		l, err := s.src.Versions(ctx, id)
		if err != nil {
			return "", "", err
		}
		v := lock.Newest(id, "", l.Names(), s.project.Exclude[id])
		if v != "" {
			return v, "", nil
		}
		if n := len(l.Misnamed); n > 0 {
			tag := l.Misnamed[n-1]
			note = fmt.Sprintf("%s: its tag %s is not a release, because releases begin with v: the newest commit is required instead", id, tag)
		}
	}
	o, err := s.src.Resolve(ctx, id, q.Version)
	if lock.IsPseudo(o.Version) {
		return o.Commit, note, err
	}
	return o.Version, note, err
}

// additions returns the edits for queries. A query without an item uses the
// whole bundle. A query with an item adds to the items in use, unless the bundle
// is used as a whole already.
func additions(m *lock.ProjectFile, queries []Query, versions []string) []edit.Edit {
	var edits []edit.Edit
	var order []lock.ID
	use := map[lock.ID][]string{}
	whole := map[lock.ID]bool{}
	for i, q := range queries {
		id := q.ID
		if m.Require[id] != versions[i] {
			edits = append(edits, edit.SetRequire(id, versions[i]))
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
			edits = append(edits, edit.SetUse(id, use[id]))
		}
	}
	return edits
}

// Remove removes requirements from rye.yaml, and from the lock and the space
// every bundle that is not required any more.
func (e *Engine) Remove(ctx context.Context, names []string) (*Result, error) {
	if e.p.Locked {
		return nil, lockedError("remove")
	}
	return e.edit(ctx, func(st *state) ([]edit.Edit, error) {
		var edits []edit.Edit
		var errs []error
		for _, name := range names {
			id, err := pick(name, st.requiredIDs(), "required in "+lock.ProjectFileName)
			if err != nil && e.halfRemoved(st, name) {
				continue // the rest of the removal needs no edit
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			edits = append(edits, edit.Remove(st.project, id)...)
		}
		return edits, joinErrors("removing", errs)
	}, func(changes []Change) error {
		return approve("locking", nil, onlyPrefers(changes))
	})
}

// halfRemoved reports whether a bundle is not required any more but still locked as
// required, or installed: a removal of it was killed.
func (e *Engine) halfRemoved(st *state, name string) bool {
	if st.lock != nil {
		var ids []lock.ID
		for _, b := range st.lock.Bundles {
			if b.Require != "" {
				ids = append(ids, b.ID)
			}
		}
		if _, err := pick(name, ids, "locked"); err == nil {
			return true
		}
	}
	dirs, err := e.unlocked(st.lock)
	if err != nil {
		return false
	}
	id, notID := lock.ParseID(name)
	return slices.ContainsFunc(e.relative(dirs), func(dir string) bool {
		at := strings.LastIndex(dir, "@") // an address may contain an earlier "@"
		if notID == nil {
			want, err := id.Dir(dir[at+1:])
			return err == nil && want == dir
		}
		return name != "" && strings.HasSuffix("/"+dir[:at], "/"+name)
	})
}

// requiredIDs returns the ids below require of rye.yaml.
func (st *state) requiredIDs() []lock.ID {
	var out []lock.ID
	for _, r := range st.project.Requires() {
		out = append(out, r.ID)
	}
	return out
}

// pick returns the id that a name means: the id itself, or its last elements if
// one id only ends with them. Where describes the ids in the error.
func pick(name string, ids []lock.ID, where string) (lock.ID, error) {
	id, err := lock.ParseID(name)
	if err == nil && slices.Contains(ids, id) {
		return id, nil
	}
	var all, matching []string
	var found []lock.ID
	for _, id := range ids {
		text := id.String()
		all = append(all, text)
		if name != "" && strings.HasSuffix(text, "/"+name) {
			matching = append(matching, text)
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		err := diag.New(diag.SourceNotFound, "looking for %q: it is not %s", name, where)
		near := suggest.List(name, all, 3)
		if len(near) > 0 {
			return lock.ID{}, err.WithReason("nearest").WithDetail("nearest", near)
		}
		return lock.ID{}, err.WithReason("not_listed")
	}
	return lock.ID{}, diag.New(
		diag.AmbiguousItem,
		"looking for %q: %s end with it",
		name,
		strings.Join(matching, ", "),
	).
		WithReason("whole_id")
}

// edit applies edits to rye.yaml, solves the result and, if approve returns nil
// for the changes of the lock, commits it.
func (e *Engine) edit(
	ctx context.Context,
	edits func(*state) ([]edit.Edit, error),
	approve func([]Change) error,
) (*Result, error) {
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
	if err := approve(sol.changes); err != nil {
		return nil, err
	}
	return e.commit(ctx, st, text, sol)
}

// solveEdited solves the project file with the edits and returns its new text.
func (e *Engine) solveEdited(
	ctx context.Context,
	st *state,
	edits []edit.Edit,
) ([]byte, *solution, error) {
	text := st.projectText
	project := st.project
	if len(edits) > 0 {
		var err error
		if text, err = edit.ProjectFile(text, edits...); err != nil {
			return nil, nil, err
		}
		if project, err = parseProject(lock.ProjectFileName, text); err != nil {
			return nil, nil, err
		}
	}
	sol, err := e.solveFor(ctx, st, project)
	return text, sol, err
}

func (e *Engine) solveFor(
	ctx context.Context,
	st *state,
	project *lock.ProjectFile,
) (*solution, error) {
	s, err := e.solver(st, project)
	if err != nil {
		return nil, err
	}
	return s.solution(ctx)
}

// solution solves and describes what the result changes.
func (s *solver) solution(ctx context.Context) (*solution, error) {
	sol, err := s.solve(ctx)
	if err != nil {
		return nil, err
	}
	sol.changes = changesOf(s.st.lock, sol.lock)
	if err := s.e.describeItems(ctx, s.st, s, sol.lock, sol.changes); err != nil {
		return nil, err
	}
	if sol.changes, err = s.describePrefers(ctx, sol.lock, sol.changes); err != nil {
		return nil, err
	}
	slices.Sort(s.notes)
	sol.notes = s.notes
	return sol, nil
}

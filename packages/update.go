package packages

import (
	"cmp"
	"context"
	"github.com/ryeos/rye/lock/edit"
	"slices"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// UpdateParams configures Update.
type UpdateParams struct {
	Names   []string // required or locked bundles; none means everything required
	Plan    bool     // write nothing
	Approve Approve
}

// Update raises requirements to the newest allowed version: not excluded, a
// pre-release only if one is required already, and old enough for the policy.
// Indirect bundles follow from the rye.yaml files of those that require them.
func (e *Engine) Update(ctx context.Context, p UpdateParams) (*Result, error) {
	if e.p.Locked && !p.Plan {
		return nil, lockedError("update")
	}
	st, release, err := e.holdState(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if st.lock != nil {
		if _, err := e.revalidate(ctx, st.lock); err != nil {
			return nil, err
		}
	}
	edits, notes, err := e.raise(ctx, st, p.Names)
	if err != nil {
		return nil, err
	}
	text, sol, err := e.solveEdited(ctx, st, edits)
	if err != nil {
		return nil, err
	}
	r := emptyResult()
	r.Changes = sol.changes
	r.Notes = notes
	if p.Plan {
		return r, nil
	}
	if err := approve("updating", p.Approve, r.Changes); err != nil {
		return nil, err
	}
	if r, err = e.commit(ctx, st, text, sol); r != nil {
		r.Notes = append(r.Notes, notes...)
	}
	return r, err
}

// Approve asks a user to accept changes. It is called before anything is written;
// nil refuses.
type Approve func(changes []Change) error

// approve calls ask with the changes that a user has to accept, if there are any.
func approve(doing string, ask Approve, changes []Change) error {
	wider := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return !c.Widens()
	})
	switch {
	case len(wider) == 0:
		return nil
	case ask == nil:
		return NotApproved(doing, wider)
	}
	return ask(wider)
}

// NotApproved is the error for changes that a user has to accept and did not.
// Doing is "adding", "updating" or "locking".
func NotApproved(doing string, wider []Change) error {
	var fs []diag.Finding
	for _, c := range wider {
		for _, why := range c.reasons() {
			fs = append(fs, diag.Errorf(
				diag.ConsentRequired,
				0,
				0,
				"%s %s %s",
				c.ID,
				c.To,
				why,
			))
		}
	}
	e := diag.New(diag.ConsentRequired, "%s: no user accepted what the bundles bring", doing).WithReason(doing)
	if e.Findings = fs; len(fs) == 1 {
		e.Message += ": " + fs[0].Message
	}
	return e
}

// raise returns the edits that raise requirements, and notes about those that
// stay.
func (e *Engine) raise(
	ctx context.Context,
	st *state,
	names []string,
) ([]edit.Edit, []string, error) {
	ids, err := st.targets(names)
	if err != nil {
		return nil, nil, err
	}
	src := source.Memo(e.p.Source)
	var mu sync.Mutex
	var edits []edit.Edit
	var notes []string
	errs := each(ctx, len(ids), func(i int) error {
		edit, note, err := e.raiseOne(ctx, src, st, ids[i])
		mu.Lock()
		defer mu.Unlock()
		if edit != nil {
			edits = append(edits, *edit)
		}
		if note != "" {
			notes = append(notes, note)
		}
		return err
	})
	slices.SortFunc(edits, func(a, b edit.Edit) int {
		return cmp.Compare(a.Key, b.Key)
	})
	slices.Sort(notes)
	return edits, notes, joinErrors("updating", errs)
}

// targets returns the ids to update.
func (st *state) targets(names []string) ([]lock.ID, error) {
	all := st.requiredIDs()
	if len(names) == 0 {
		return all, nil
	}
	if st.lock != nil {
		for _, b := range st.lock.Bundles {
			all = append(all, b.ID)
		}
	}
	slices.SortFunc(all, lock.ID.Compare)
	all = slices.Compact(all)
	out := make([]lock.ID, len(names))
	errs := make([]error, len(names))
	for i, name := range names {
		out[i], errs[i] = pick(name, all, "required or locked")
	}
	return out, joinErrors("updating", errs)
}

// raiseOne returns the edit that raises one bundle, nil if it stays, and a note if
// there is a reason to name.
func (e *Engine) raiseOne(
	ctx context.Context,
	src source.Source,
	st *state,
	id lock.ID,
) (*edit.Edit, string, error) {
	required := st.project.Require[id]
	_, replaced := st.project.Replace[id]
	switch {
	case id.Kind == lock.PathID || replaced:
		return nil, "", nil
	case lock.IsAdopted(id, st.locks()...):
		return nil, id.String() + " stays: a newer version needs a review", nil
	case lock.IsCommit(required):
		return nil, id.String() + " stays at the commit that is required", nil
	}
	current := required
	if b := st.previous(id); b != nil {
		current = lock.MaxVersion(required, b.Version)
	}
	e.report(Resolving, lock.Module{ID: id})
	l, err := src.Versions(ctx, id)
	if err != nil {
		return nil, "", err
	}
	young, err := e.tooYoung(ctx, st, l)
	if err != nil {
		return nil, "", err
	}
	newest := lock.Newest(id, current, l.Names(), st.project.Exclude[id])
	allowed := lock.Newest(
		id,
		current,
		l.Names(),
		append(young, st.project.Exclude[id]...),
	)
	note := ""
	if allowed != newest {
		note = id.String() + " " + newest + " is younger than policy.min-age allows"
	}
	if allowed == current || allowed == required {
		return nil, note, nil
	}
	edit := edit.SetRequire(id, allowed)
	return &edit, note, nil
}

// tooYoung returns the versions of a listing that the policy refuses by their age,
// and records those that are seen for the first time.
func (e *Engine) tooYoung(
	ctx context.Context,
	st *state,
	l *source.Listing,
) ([]string, error) {
	id := l.ID
	var keys []string
	for _, v := range l.Versions {
		keys = append(keys, sightKey(lock.Bundle{ID: id, Version: v.Version, Commit: v.Commit}))
	}
	seen, err := e.sights(ctx, keys)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, v := range l.Versions {
		m := lock.Module{ID: id, Version: v.Version}
		// A version in rye.sum was accepted before and is not judged again.
		if st.sum.Hash(m) == "" &&
			checkAge(e.rules(st.project), e.p.Now(), seen[keys[i]], m) != nil {
			out = append(out, v.Version)
		}
	}
	return out, nil
}

// Outdated is one locked bundle and the newest version of its remote.
type Outdated struct {
	ID     string    `json:"id"`
	Locked string    `json:"locked"`
	Newest string    `json:"newest"`         // "" if the remote did not list its versions
	Held   string    `json:"held,omitempty"` // newer, but too young for the policy
	Direct bool      `json:"direct"`
	State  string    `json:"state,omitempty"`  // of the locked release in its registry, unless it is ok
	Reason string    `json:"reason,omitempty"` // of that state, as the publisher wrote it
	Alarm  diag.Code `json:"alarm,omitempty"`  // why the remote contradicts the lock, or did not answer
}

// Outdated asks each remote once for newer versions, and whether the locked one is
// unchanged. The list is complete even if the error reports an alarm or a remote
// that did not answer.
func (e *Engine) Outdated(ctx context.Context) ([]Outdated, error) {
	st, err := e.loadLocked()
	if err != nil {
		return nil, err
	}
	src := source.Memo(e.p.Source)
	bundles := slices.DeleteFunc(
		slices.Clone(st.lock.Bundles),
		func(b lock.Bundle) bool { return !installs(b) },
	)
	out := make([]Outdated, len(bundles))
	errs := each(ctx, len(bundles), func(i int) (err error) {
		out[i], err = e.newest(ctx, src, st, bundles[i])
		return err
	})
	return out, joinErrors("asking the remotes", append(errs, e.learnRevocations(ctx)))
}

func (e *Engine) newest(
	ctx context.Context,
	src source.Source,
	st *state,
	b lock.Bundle,
) (Outdated, error) {
	x := Outdated{ID: b.ID.String(), Locked: b.Version, Direct: b.Require != ""}
	l, err := src.Versions(ctx, b.ID)
	if err != nil {
		x.Alarm = diag.CodeOf(err)
		return x, err
	}
	young, err := e.tooYoung(ctx, st, l)
	if err != nil {
		x.Alarm = diag.CodeOf(err)
		return x, err
	}
	excluded := st.project.Exclude[b.ID]
	x.Newest = lock.Newest(
		b.ID,
		b.Version,
		l.Names(),
		append(young, excluded...),
	)
	newest := lock.Newest(b.ID, b.Version, l.Names(), excluded)
	if newest != x.Newest {
		x.Held = newest
	}
	if err = checkEntry(b); err == nil {
		err = src.Revalidate(ctx, originOf(b))
	}
	if err == nil && b.Log != "" {
		x.State, x.Reason, err = source.StateOf(ctx, e.p.Source, originOf(b))
		if x.State == "ok" {
			x.State = ""
		}
	}
	x.Alarm = diag.CodeOf(err)
	return x, err
}

package packages

import (
	"context"
	"slices"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// UpdateParams says what to update.
type UpdateParams struct {
	Names []string // bundles that are required or locked; none: everything required
	Plan  bool     // write nothing
	// Approve is asked before bundles that were there may do more than before.
	// Nil approves nothing of the kind.
	Approve func(changes []Change) error
}

// Update raises what is required to the newest version allowed: not excluded,
// no pre-release unless one is required, and old enough for the policy. What
// others require follows by their own manifests.
func (e *Engine) Update(ctx context.Context, p UpdateParams) (*Result, error) {
	if e.p.Locked && !p.Plan {
		return nil, lockedVerb("update")
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
	r.Changes, r.Notes = changesOf(st.lock, sol.lock), notes
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

// approve asks about the bundles that may do more than before.
func approve(doing string, ask func([]Change) error, changes []Change) error {
	var wider []Change
	for _, c := range changes {
		if c.Widens() {
			wider = append(wider, c)
		}
	}
	if len(wider) == 0 {
		return nil
	}
	if ask != nil {
		return ask(wider)
	}
	return NotApproved(doing, wider)
}

// NotApproved is the error for changes that nobody agreed to.
func NotApproved(doing string, wider []Change) error {
	read := "rye update --plan"
	if doing != "updating" {
		read = "what is listed"
	}
	var fs []diag.Finding
	for _, c := range wider {
		for _, more := range []struct {
			what string
			list []string
		}{{"asks for", c.NewCaps}, {"brings the executable", c.NewExec}, {"is signed by", c.NewSigners}} {
			for _, x := range more.list {
				f := diag.Errorf(diag.ConsentRequired, 0, 0, "%s %s %s, which %s did not", c.ID, c.To, more.what+" "+x, c.From)
				f.Fix = "read " + read + "; --yes agrees"
				fs = append(fs, f)
			}
		}
	}
	e := diag.New(diag.ConsentRequired, "%s: bundles may do more than before, and nobody agreed to it", doing)
	if e.Findings = fs; len(fs) == 1 {
		e.Message += ": " + fs[0].Message
	}
	return e.WithHint("read %s, then run it at a terminal or with --yes; nothing was changed", read)
}

// raise returns the edits that raise requirements, and what stays and why.
func (e *Engine) raise(ctx context.Context, st *state, words []string) ([]lock.Edit, []string, error) {
	ids, err := st.targets(words)
	if err != nil {
		return nil, nil, err
	}
	src := source.Memo(e.p.Source)
	var mu sync.Mutex
	var edits []lock.Edit
	var notes []string
	errs := each(ctx, ids, func(id string) error {
		edit, note, err := e.raiseOne(ctx, src, st, id)
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
	slices.SortFunc(edits, func(a, b lock.Edit) int { return compare(a.Key, b.Key) })
	slices.Sort(notes)
	return edits, notes, together("updating", errs)
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// targets returns the ids to update.
func (st *state) targets(words []string) ([]string, error) {
	var all []string
	for _, m := range st.manifest.Requires() {
		all = append(all, m.ID)
	}
	if len(words) == 0 {
		return all, nil
	}
	if st.lock != nil {
		for _, b := range st.lock.Bundles {
			all = append(all, b.ID)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	var out []string
	var errs []error
	for _, w := range words {
		id, err := pick(w, all, "required or locked")
		if err != nil {
			errs = append(errs, err)
		}
		out = append(out, id)
	}
	return out, together("updating", errs)
}

func (e *Engine) raiseOne(ctx context.Context, src source.Source, st *state, word string) (*lock.Edit, string, error) {
	id, err := lock.ParseID(word)
	if err != nil {
		return nil, "", err
	}
	asked := st.manifest.Require[word]
	_, replaced := st.manifest.Replace[word]
	switch {
	case id.Kind == lock.PathID || replaced:
		return nil, "", nil
	case lock.IsCommit(asked):
		return nil, word + " stays at the commit that is required", nil
	}
	at := asked
	if b := st.previous(word); b != nil {
		at = lock.MaxVersion(asked, b.Version)
	}
	e.tell(Resolving, lock.Module{ID: word})
	l, err := src.Versions(ctx, id)
	if err != nil {
		return nil, "", err
	}
	young, err := e.young(ctx, st, l)
	if err != nil {
		return nil, "", err
	}
	newest := lock.Newest(id, at, l.Names(), st.manifest.Exclude[word])
	v := lock.Newest(id, at, l.Names(), append(young, st.manifest.Exclude[word]...))
	note := ""
	if v != newest {
		note = word + " " + newest + " is younger than policy.min-age allows"
	}
	if v == at || v == asked {
		return nil, note, nil
	}
	edit := lock.SetRequire(word, v)
	return &edit, note, nil
}

// young returns the versions that were not seen for long enough, and notes
// those that are new.
func (e *Engine) young(ctx context.Context, st *state, l *source.Listing) ([]string, error) {
	id := l.ID.String()
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
		if st.sum.Hash(m) == "" && cooled(e.rules(st.manifest), e.p.Now(), seen[keys[i]], m) != nil {
			out = append(out, v.Version)
		}
	}
	return out, nil
}

// Outdated is one locked bundle and what its remote has.
type Outdated struct {
	ID     string    `json:"id"`
	Locked string    `json:"locked"`
	Newest string    `json:"newest"`
	Held   string    `json:"held,omitempty"` // newer still, but too young for the policy
	Direct bool      `json:"direct"`
	Alarm  diag.Code `json:"alarm,omitempty"` // the remote denies what is locked
}

// Outdated asks each remote once for newer versions and whether what is locked
// still stands. The list is whole even when the error tells of an alarm.
func (e *Engine) Outdated(ctx context.Context) ([]Outdated, error) {
	st, err := e.read()
	if err != nil {
		return nil, err
	}
	src := source.Memo(e.p.Source)
	bundles := slices.DeleteFunc(slices.Clone(st.lock.Bundles), func(b lock.Bundle) bool { return !installs(b) })
	out := make([]Outdated, len(bundles))
	at := make([]int, len(bundles))
	for i := range at {
		at[i] = i
	}
	errs := each(ctx, at, func(i int) (err error) {
		out[i], err = e.outdated(ctx, src, st, bundles[i])
		return err
	})
	return out, together("asking the remotes", errs)
}

func (e *Engine) outdated(ctx context.Context, src source.Source, st *state, b lock.Bundle) (Outdated, error) {
	x := Outdated{ID: b.ID, Locked: b.Version, Newest: b.Version, Direct: b.Require != ""}
	id, err := lock.ParseID(b.ID)
	if err != nil {
		return x, err
	}
	l, err := src.Versions(ctx, id)
	if err != nil {
		return x, err
	}
	young, err := e.young(ctx, st, l)
	if err != nil {
		return x, err
	}
	excluded := st.manifest.Exclude[b.ID]
	x.Newest = lock.Newest(id, b.Version, l.Names(), append(young, excluded...))
	if newest := lock.Newest(id, b.Version, l.Names(), excluded); newest != x.Newest {
		x.Held = newest
	}
	if err = consistent(id, b); err == nil {
		err = src.Revalidate(ctx, originOf(id, b))
	}
	x.Alarm = diag.CodeOf(err)
	return x, err
}

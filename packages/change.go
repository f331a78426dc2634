package packages

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// Result lists what a call changed.
type Result struct {
	Changes   []Change `json:"changes"`   // of the lock
	Installed []string `json:"installed"` // "id version", written to the space
	Removed   []string `json:"removed"`   // install directories removed from the space
	Wrote     []string `json:"wrote"`     // files that changed
	Notes     []string `json:"notes,omitempty"`
	// Items are the changes of the entries of the project's own items.
	Items []lock.Change `json:"items,omitempty"`
}

func emptyResult() *Result {
	return &Result{
		Changes:   []Change{},
		Installed: []string{},
		Removed:   []string{},
		Wrote:     []string{},
	}
}

// Change is the change of one lock entry.
type Change struct {
	ID         string   `json:"id"`
	From       string   `json:"from,omitempty"` // "" if the entry is new
	To         string   `json:"to,omitempty"`   // "" if the entry is removed
	Direct     bool     `json:"direct,omitempty"`
	Commit     string   `json:"commit,omitempty"`
	Signers    []string `json:"signers,omitempty"`
	Caps       []string `json:"caps,omitempty"`
	NewCaps    []string `json:"new_caps,omitempty"`  // not asked for by the version before
	NewHosts   []string `json:"new_hosts,omitempty"` // the network hosts among NewCaps
	NewExec    []string `json:"new_exec,omitempty"`
	GoneCaps   []string `json:"gone_caps,omitempty"`
	NewSigners []string `json:"new_signers,omitempty"`

	Items   []ItemChange `json:"items,omitempty"`
	Unknown string       `json:"unknown,omitempty"` // why the items before are unknown; all are listed as added

	accepted bool // the same files were locked before, here or on the other side of a merge
	fresh    bool // no release of it was locked before
	same     bool // the locked version has the same files
	pulled   bool // new, and required by a bundle that was locked before
}

// Widens reports whether a user has to accept the change: a bundle that was locked
// before may do more now, or an item replaces one of another space.
func (c Change) Widens() bool {
	return len(c.reasons()) > 0
}

// reasons returns the changes that a user has to accept, as predicates of the bundle.
func (c Change) reasons() []string {
	var out []string
	for _, x := range c.Items {
		if x.Consent == "prefer" {
			out = append(out, "is preferred for "+x.Name+", which is "+preferredAs(x))
		}
	}
	if c.accepted || c.To == "" {
		return out
	}
	if c.pulled {
		out = append(out, "is new, and a bundle that was locked before requires it")
	}
	if c.Unknown != "" {
		out = append(out, "cannot be compared with "+c.From+": "+c.Unknown)
	}
	if c.From != "" && !c.fresh {
		for _, more := range []struct {
			what string
			list []string
		}{{"asks for", c.NewCaps}, {"has the executable", c.NewExec}, {"is signed by", c.NewSigners}} {
			for _, x := range more.list {
				out = append(out, more.what+" "+x+", which "+c.From+" did not")
			}
		}
	}
	for _, x := range c.Items {
		switch x.Consent {
		case "shadows":
			out = append(
				out,
				"has "+x.Name+", which is used instead of the item of "+strings.Join(x.Over, ", ")+x.hidden(),
			)
		case "system":
			out = append(out, "has "+x.Name+", which changes settings of the system")
		case string(item.Tool), string(item.Directive):
			out = append(out, "has the new "+x.Consent+" "+x.Name+x.hidden())
		}
	}
	return out
}

// hidden states that an item is not used today, and by which it is hidden; "" if it is used.
func (x ItemChange) hidden() string {
	if len(x.Under) == 0 {
		return ""
	}
	return " (today hidden by the item of " + strings.Join(x.Under, ", ") + ")"
}

// changesOf compares two locks, bundle by bundle. A nil old lock is empty.
func changesOf(old, new *lock.Lock) []Change {
	out := []Change{}
	if old == nil {
		old = &lock.Lock{}
	}
	for _, c := range lock.Compare(old, new) {
		if c.Kind != "bundle" {
			continue
		}
		x := Change{ID: c.Name}
		was := old.BundleNamed(c.Name)
		now := new.BundleNamed(c.Name)
		if was != nil {
			x.From = was.Version
		}
		if now != nil {
			x.To = now.Version
			x.Direct = now.Require != ""
			x.Commit = now.Commit
			x.Signers = now.Signers
			x.Caps = now.Caps
		}
		if was != nil && now != nil {
			x.NewCaps = c.Field("caps").Added()
			x.GoneCaps = c.Field("caps").Removed()
			x.NewExec = c.Field("exec").Added()
			x.NewSigners = slices.DeleteFunc(slices.Clone(now.Signers), func(s string) bool {
				return slices.Contains(was.Signers, s)
			})
			for _, capability := range x.NewCaps {
				if host, ok := strings.CutPrefix(capability, "net:"); ok {
					x.NewHosts = append(x.NewHosts, host)
				}
			}
		}
		out = append(out, x)
	}
	return out
}

// commit installs a solution and writes rye.yaml (project is its text), rye.sum
// and rye.lock. If a step fails, it takes back those before it.
func (e *Engine) commit(
	ctx context.Context,
	st *state,
	project []byte,
	sol *solution,
) (*Result, error) {
	sums, err := lock.AppendSum(st.sumText, sol.lock.SumLines()...)
	if err != nil {
		return nil, err
	}
	todo, err := e.outdated(ctx, sol.lock, sol.verified...)
	if err != nil {
		return nil, err
	}
	pins, err := st.pins()
	if err != nil {
		return nil, err
	}
	stage, err := e.stage(ctx, todo, func(b lock.Bundle) (*source.Snapshot, error) {
		m := b.Module()
		// The lock may come from another machine: a version that is locked and not
		// installed here was not linted here. The solver lints new versions.
		if _, pinned := pins[m]; pinned {
			_, err := lint(ctx, sol.snaps[m], m)
			if err != nil {
				return nil, err
			}
		}
		return sol.snaps[m], nil
	})
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	// Order: bundles are used only once the lock names them, so they come first.
	// The lock is last: until it is written, everything before it can be undone
	// and a killed process leaves the old lock valid.
	if err := e.commitStage(stage, todo); err != nil {
		return nil, err
	}
	text := sol.lock.Render()
	if st.lock == nil &&
		len(sol.lock.Bundles)+len(sol.lock.Adopted)+len(sol.lock.Members)+len(sol.lock.Items) == 0 {
		text = nil // an empty lock is not created
	}
	w := &writer{e: e}
	w.write(lock.SumFile, st.sumFile, sums)
	w.write(lock.ProjectFileName, st.projectText, project)
	w.write(lock.LockFile, st.lockText, text)
	if w.err != nil {
		w.restore()
		stage.Undo()
		return nil, w.err
	}
	r := emptyResult()
	r.Changes = sol.changes
	r.Notes = sol.notes
	r.Installed = e.reportInstalled(todo)
	r.Wrote = w.names()
	r.Removed, err = e.removeUnlocked(sol.lock)
	return r, err
}

// reportInstalled reports bundles as installed and returns their names.
func (e *Engine) reportInstalled(bundles []lock.Bundle) []string {
	names := []string{}
	for _, b := range bundles {
		e.report(Installed, b.Module())
		names = append(names, b.Module().String())
	}
	return names
}

// writer writes the files of the project one after the other. After the first
// error it writes nothing.
type writer struct {
	e    *Engine
	done []written
	err  error
}

type written struct {
	name string
	old  []byte
}

// write replaces a file unless its text is the same or nil.
func (w *writer) write(name string, old, text []byte) {
	if w.err != nil || bytes.Equal(old, text) || text == nil {
		return
	}
	err := w.e.files().Write(name, text, 0)
	if err != nil {
		w.err = unwritable(err)
		return
	}
	w.done = append(w.done, written{name, old})
}

func (w *writer) names() []string {
	out := []string{}
	for _, x := range w.done {
		out = append(out, x.name)
	}
	return out
}

// restore writes the old text of the files that were written before one failed.
// rye.sum keeps its new lines: they record hashes and require nothing.
func (w *writer) restore() {
	for _, x := range w.done {
		switch {
		case x.name == lock.SumFile:
		case x.old == nil:
			_ = w.e.files().Remove(x.name)
		default:
			_ = w.e.files().Write(x.name, x.old, 0)
		}
	}
}

package packages

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Result is what a call did.
type Result struct {
	Changes   []Change `json:"changes"`   // of the lock
	Installed []string `json:"installed"` // "id version", written to the space
	Removed   []string `json:"removed"`   // folders taken out of the space
	Wrote     []string `json:"wrote"`     // files that changed
	Notes     []string `json:"notes,omitempty"`
}

// Change is what becomes of one bundle.
type Change struct {
	ID         string   `json:"id"`
	From       string   `json:"from,omitempty"` // "" when it is new
	To         string   `json:"to,omitempty"`   // "" when it goes
	Direct     bool     `json:"direct,omitempty"`
	Commit     string   `json:"commit,omitempty"`
	Signers    []string `json:"signers,omitempty"`
	Caps       []string `json:"caps,omitempty"`
	NewCaps    []string `json:"new_caps,omitempty"`  // that the version before did not ask for
	NewHosts   []string `json:"new_hosts,omitempty"` // among them, those of the network
	NewExec    []string `json:"new_exec,omitempty"`
	GoneCaps   []string `json:"gone_caps,omitempty"`
	NewSigners []string `json:"new_signers,omitempty"`
}

// Widens reports whether a bundle that was there may do more than before.
func (c Change) Widens() bool {
	return c.From != "" && c.To != "" && len(c.NewCaps)+len(c.NewExec)+len(c.NewSigners) > 0
}

// changesOf compares two locks, bundle by bundle.
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
		was, now := old.Bundle(c.Name), new.Bundle(c.Name)
		if was != nil {
			x.From = was.Version
		}
		if now != nil {
			x.To, x.Direct, x.Commit = now.Version, now.Require != "", now.Commit
			x.Signers, x.Caps = now.Signers, now.Caps
		}
		if was != nil && now != nil {
			x.NewCaps, x.GoneCaps, x.NewExec = c.Field("caps").Added(), c.Field("caps").Removed(), c.Field("exec").Added()
			x.NewSigners = less(now.Signers, was.Signers)
			x.NewHosts = hosts(x.NewCaps)
		}
		out = append(out, x)
	}
	return out
}

func less(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func hosts(caps []string) []string {
	var out []string
	for _, c := range caps {
		if host, ok := strings.CutPrefix(c, "net:"); ok {
			out = append(out, host)
		}
	}
	return out
}

// commit makes a solution true: bundles first, which count for nothing until
// the lock names them, then the sum, the manifest and last the lock. Whatever
// fails takes back what was done.
func (e *Engine) commit(ctx context.Context, st *state, manifest []byte, sol *solution) (*Result, error) {
	r := &Result{Changes: changesOf(st.lock, sol.lock), Installed: []string{}, Removed: []string{}, Wrote: []string{}, Notes: sol.notes}
	sums, err := lock.AppendSum(st.sumText, sol.lock.SumLines()...)
	if err != nil {
		return nil, err
	}
	todo, err := e.lacking(ctx, sol.lock, sol.read...)
	if err != nil {
		return nil, err
	}
	pins, err := st.pins()
	if err != nil {
		return nil, err
	}
	t, err := e.stage(ctx, todo, func(b lock.Bundle) (*source.Snapshot, error) {
		m := b.Module()
		if _, pinned := pins[m]; pinned { // nobody here looked into it: the lock may be another's
			if _, err := lint(ctx, sol.snaps[m], m); err != nil {
				return nil, err
			}
		}
		return sol.snaps[m], nil
	})
	if err != nil {
		return nil, err
	}
	if err := t.place(); err != nil {
		t.undo()
		return nil, err
	}
	text := sol.lock.Render()
	if st.lock == nil && len(sol.lock.Bundles)+len(sol.lock.Members)+len(sol.lock.Items) == 0 {
		text = nil // nothing to lock, and nothing was
	}
	w := &writer{e: e}
	w.write(lock.SumFile, st.sumFile, sums)
	w.write(lock.ManifestFile, st.manifestText, manifest)
	w.write(lock.LockFile, st.lockText, text)
	if w.err != nil {
		w.restore()
		t.undo()
		return nil, w.err
	}
	t.end()
	for _, b := range todo {
		e.tell(Installed, b.Module())
		r.Installed = append(r.Installed, b.Module().String())
	}
	r.Wrote = w.names()
	r.Removed, err = e.clear(sol.lock)
	return r, err
}

// clear removes the installed folders that the lock does not name.
func (e *Engine) clear(l *lock.Lock) ([]string, error) {
	dirs, err := e.extra(l)
	if err != nil {
		return []string{}, err
	}
	if err := e.removeInstalled(dirs); err != nil {
		return []string{}, err
	}
	return e.shown(dirs), nil
}

// shown returns folders as they stand below the folder of bundles.
func (e *Engine) shown(dirs []string) []string {
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(d, e.bundles()), "/"), "\\", "/")
	}
	return out
}

// writer writes the files of the project one after the other.
type writer struct {
	e    *Engine
	done []written
	err  error
}

type written struct {
	name string
	old  []byte
}

func (w *writer) write(name string, old, text []byte) {
	if w.err != nil || bytes.Equal(old, text) || text == nil {
		return
	}
	if w.err = atomicfile.Write(w.e.file(name), text, 0); w.err == nil {
		w.done = append(w.done, written{name, old})
	} else {
		w.err = unwritable(w.e.file(name), w.err)
	}
}

func (w *writer) names() []string {
	out := []string{}
	for _, x := range w.done {
		out = append(out, x.name)
	}
	return out
}

// restore puts back the files that were written before one failed. rye.sum
// stays: a line in it is a memory and asks for nothing.
func (w *writer) restore() {
	for _, x := range w.done {
		switch {
		case x.name == lock.SumFile:
		case x.old == nil:
			_ = os.Remove(w.e.file(x.name))
		default:
			_ = atomicfile.Write(w.e.file(x.name), x.old, 0)
		}
	}
}

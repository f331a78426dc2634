package packages

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/lock/edit"
)

// Info describes one bundle.
type Info struct {
	ID       string        `json:"id"`
	URL      string        `json:"url,omitempty"`
	Versions []string      `json:"versions"` // oldest first
	Head     string        `json:"head,omitempty"`
	Require  string        `json:"require,omitempty"`
	Locked   string        `json:"locked,omitempty"`
	State    string        `json:"state,omitempty"`
	Path     string        `json:"path,omitempty"`
	Ref      string        `json:"ref,omitempty"`
	Commit   string        `json:"commit,omitempty"`
	Sum      string        `json:"sum,omitempty"`
	Signers  []string      `json:"signers,omitempty"`
	Caps     []string      `json:"caps,omitempty"`
	Exec     []string      `json:"exec,omitempty"`
	Needs    []lock.Module `json:"needs,omitempty"`
	Rules    []Rule        `json:"rules,omitempty"` // that apply to it
}

// Info returns the lock entry and the versions of a bundle. If the remote of a
// locked bundle does not answer, Versions is empty and there is no error.
func (e *Engine) Info(ctx context.Context, name string) (*Info, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	q, err := parseBundle(name)
	if st.lock != nil {
		if id, notLocked := st.lockedID(name); notLocked == nil {
			q = Query{ID: id}
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	in := &Info{ID: q.ID.String(), Versions: []string{}, Require: st.project.Require[q.ID]}
	in.Rules = e.rules(st.project).About(in.ID)
	b := st.previous(q.ID)
	if b != nil {
		e.lockedInfo(in, b)
	}
	l, err := e.p.Source.Versions(ctx, q.ID)
	if err == nil {
		in.URL, in.Head, in.Versions = l.URL, l.Head, l.Names()
	} else if b != nil && ctx.Err() == nil {
		err = nil
	}
	return in, err
}

func (e *Engine) lockedInfo(in *Info, b *lock.Bundle) {
	in.Locked = b.Version
	in.URL = b.URL
	in.Ref = b.Ref
	in.Commit = b.Commit
	in.Sum = b.Sum
	in.Signers = b.Signers
	in.Caps = b.Caps
	in.Exec = b.Exec
	in.Needs = b.Needs
	in.State = StateFolder
	dir, err := e.installDir(*b)
	if err != nil || !installs(*b) {
		return
	}
	in.State = stateOf(e.checkInstalled(*b) != nil, exists(dir))
	rel, err := filepath.Rel(e.p.Base, dir)
	if err == nil {
		in.Path = filepath.ToSlash(rel)
	}
}

// Vendored reports whether rye.yaml has vendor: true, installed bundles in git.
func (e *Engine) Vendored() (bool, error) {
	m, _, err := lock.ReadProjectFile(lock.Dir(e.p.Files), "")
	return m != nil && m.Vendor, err
}

// Vendor sets vendor in rye.yaml and installs the locked bundles.
func (e *Engine) Vendor(ctx context.Context, on bool, ask Approve) (*Result, error) {
	wrote, err := e.setVendor(ctx, on)
	if err != nil {
		return nil, err
	}
	r, err := e.Sync(ctx, false, ask)
	if r != nil && err == nil {
		r.Wrote = append(r.Wrote, wrote...)
		r.Notes = append(r.Notes, fmt.Sprintf("%s has vendor: %t", lock.ProjectFileName, on))
	}
	return r, err
}

// setVendor writes vendor into rye.yaml and returns the names of the files that changed.
func (e *Engine) setVendor(ctx context.Context, on bool) (wrote []string, err error) {
	release, err := e.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	was, old, err := lock.ReadProjectFile(lock.Dir(e.p.Files), "")
	if err != nil {
		return nil, err
	}
	if was == nil {
		was = &lock.ProjectFile{}
	}
	if was.Vendor == on {
		return nil, nil
	}
	text := edit.Vendor(old, on)
	now, err := parseProject(lock.ProjectFileName, text)
	if err != nil {
		return nil, err
	}
	if now.Vendor != on || now.Hash() != was.Hash() {
		return nil, diag.New(diag.ValidationFailed, "editing %s: vendor is not on a line of its own", lock.ProjectFileName).WithReason("vendor_line")
	}
	w := &writer{e: e}
	w.write(lock.ProjectFileName, old, text)
	return w.names(), w.err
}

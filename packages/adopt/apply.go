package adopt

import (
	"bytes"
	"context"
	"github.com/ryeos/rye/lock/edit"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/stagedir"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/lock/treehash"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/review"
	"github.com/ryeos/rye/sign"
)

// Apply installs the components of a proposal that the signed review accepts, and locks
// them. Components without enough reviews are locked too: they are not usable until other
// people have reviewed them.
func (e *Engine) Apply(
	ctx context.Context,
	p *Proposal,
	signed []byte,
) (*packages.Result, error) {
	if e.p.Locked {
		return nil, diag.New(
			diag.LockStale,
			"running add: it changes %s, which --locked forbids",
			lock.LockFile,
		).WithReason("locked_flag")
	}
	key, list, err := e.accepts(p, signed)
	if err != nil {
		return nil, err
	}
	release, err := packages.Hold(ctx, e.p.Base)
	if err != nil {
		return nil, err
	}
	defer release()
	st, err := lock.ReadState(lock.Dir(e.p.Base), nil)
	if err != nil {
		return nil, err
	}
	// Which of both sides the person saw is not known.
	if st.Theirs != nil {
		return nil, diag.New(
			diag.LockStale,
			"reading %s: it has the conflict markers of a merge",
			lock.LockFile,
		)
	}
	// The first read of the project was before the question.
	err = e.permits(st.ProjectFile, lock.Module{ID: p.ID, Version: p.Origin.Version})
	if err != nil {
		return nil, err
	}
	entry, err := p.entry(list)
	if err != nil {
		return nil, err
	}
	w := &change{
		e:     e,
		p:     p,
		st:    st,
		entry: entry,
		list:  list,
	}
	err = w.reviews(key, signed)
	if err != nil {
		return nil, err
	}
	return w.write(ctx)
}

// accepts checks that the review is one of a trusted person about exactly the proposal.
func (e *Engine) accepts(p *Proposal, signed []byte) (sign.Fingerprint, []review.Component, error) {
	sp, err := sign.SplitFile(signed, sign.Hash())
	if err != nil {
		return sign.Fingerprint{}, nil, err
	}
	key := sp.Line.Key
	list := make([]review.Component, len(p.Components))
	for i, c := range p.Components {
		list[i] = c.Component
	}
	// The rules about several reviews come later: this review alone must be usable.
	results := review.Judge(review.Params{
		Trust:      e.p.Trust,
		Source:     p.ID.String(),
		Components: list,
		Reviews: []review.File{{
			Path:  review.FileName(key),
			Bytes: signed,
		}},
	})
	for _, r := range results {
		err := r.Verdict.Err(r.Component.ID())
		if err != nil {
			return key, nil, err
		}
	}
	return key, list, nil
}

// entry returns the lock entry of a proposal, without reviews.
func (p *Proposal) entry(list []review.Component) (lock.Adopted, error) {
	o := p.Origin
	a := lock.Adopted{
		ID:      p.ID,
		Version: o.Version,
		Require: p.Require,
		Use:     p.Use,
		URL:     o.URL,
		Ref:     o.Ref,
		Tag:     o.TagObject,
		Commit:  o.Commit,
		Tree:    o.Tree,
	}
	return describe(a, list)
}

// describe fills in the hash of the install directory and its executables.
func describe(a lock.Adopted, list []review.Component) (lock.Adopted, error) {
	all := tree(list)
	sum, err := treehash.Of(all)
	a.Sum = sum
	a.Exec = nil
	for _, f := range all {
		if f.Mode == treehash.Executable {
			a.Exec = append(a.Exec, f.Path)
		}
	}
	slices.Sort(a.Exec)
	return a, err
}

// change is the state of one change of a project.
type change struct {
	e     *Engine
	p     *Proposal
	st    *lock.State
	entry lock.Adopted
	list  []review.Component
	files map[string][]byte // of the directory of the source's reviews, by name
	gone  []string          // names that are removed there
}

// reviews collects the files of the directory of reviews. Reviews by other people stay while
// they accept one of the components as it is now.
func (w *change) reviews(key sign.Fingerprint, signed []byte) error {
	text, err := review.RenderFiles(w.list)
	if err != nil {
		return err
	}
	w.files = map[string][]byte{
		review.FilesName:     text,
		review.FileName(key): signed,
	}
	if name, licence := w.p.licence(); name != "" {
		w.files["LICENSE"] = licence
	}
	others, err := readReviews(lock.Dir(w.e.p.Base), w.entry)
	if err != nil {
		return err
	}
	for _, f := range others {
		name := path.Base(f.Path)
		switch {
		case name == review.FileName(key):
		case stillAccepts(f.Bytes, w.list):
			w.files[name] = f.Bytes
		default:
			w.gone = append(w.gone, name)
		}
	}
	for name, b := range w.files {
		if fp, ok := review.ParseFileName(name); ok {
			w.entry.Reviews = append(w.entry.Reviews, lock.Reviewed{
				Key:    packages.SignerText(fp),
				Digest: item.DigestOf(b),
			})
		}
	}
	return nil
}

func stillAccepts(b []byte, list []review.Component) bool {
	r, _ := review.Parse(b)
	return r != nil && slices.ContainsFunc(list, func(c review.Component) bool {
		a := r.Find(c.ID())
		return a != nil && a.Sum == c.Sum && a.From == c.From
	})
}

// licence returns the licence file at the top of the source, "" if it has none.
func (p *Proposal) licence() (string, []byte) {
	for _, f := range p.Snapshot.Files {
		name := strings.ToUpper(f.Path)
		if strings.Contains(f.Path, "/") ||
			!strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "LICENCE") {
			continue
		}
		b, err := p.Snapshot.Read(f.Path)
		if err == nil {
			return f.Path, b
		}
	}
	return "", nil
}

// write installs the components and writes reviews, rye.yaml and rye.lock, in this order:
// until the lock names them, nothing of the source is used, and the next call completes
// or replaces all of it.
func (w *change) write(ctx context.Context) (*packages.Result, error) {
	base := atomicfile.Project(w.e.p.Base)
	project, err := edit.ProjectFile(
		w.st.ProjectText,
		edit.SetRequire(w.p.ID, w.p.Require),
		edit.SetUse(w.p.ID, w.p.Use),
	)
	if err != nil {
		return nil, err
	}
	parsed, fs := lock.ParseProjectFile(project)
	if parsed == nil {
		return nil, diag.FromFindings("editing "+lock.ProjectFileName, fs)
	}
	l := w.st.Lock
	// A project that required nothing has no lock.
	if l == nil {
		l = &lock.Lock{}
	}
	l = l.Clone()
	l.Manifest = parsed.Settings()
	lock.SetAdopted(l, w.entry)
	err = w.install(ctx)
	if err != nil {
		return nil, err
	}
	err = w.writeReviews(base)
	if err != nil {
		return nil, err
	}
	r := &packages.Result{
		Changes:   []packages.Change{w.described()},
		Installed: []string{w.entry.Module().String()},
		Removed:   []string{},
		Wrote:     []string{},
		Notes:     w.p.Notes,
	}
	for _, f := range []struct {
		name      string
		old, text []byte
	}{{lock.ProjectFileName, w.st.ProjectText, project}, {lock.LockFile, w.st.LockText, l.Render()}} {
		// Another program may watch the time of the file.
		if bytes.Equal(f.old, f.text) {
			continue
		}
		err := base.Write(f.name, f.text, 0o644)
		if err != nil {
			return nil, diag.Doing("writing "+f.name, err)
		}
		r.Wrote = append(r.Wrote, f.name)
	}
	return r, nil
}

func (w *change) described() packages.Change {
	c := packages.Change{
		ID:     w.p.ID.String(),
		To:     w.entry.Version,
		Direct: true,
		Commit: w.entry.Commit,
	}
	if w.p.Before != nil {
		c.From = w.p.Before.Version
	}
	return c
}

func (w *change) writeReviews(base atomicfile.Base) error {
	dir, err := Dir(w.entry)
	if err != nil {
		return err
	}
	for name, b := range w.files {
		err := base.Write(path.Join(dir, name), b, 0o644)
		if err != nil {
			return diag.Doing("writing the review of "+w.p.ID.String(), err)
		}
	}
	for _, name := range w.gone {
		err := base.Remove(path.Join(dir, name))
		if err != nil {
			return diag.Doing("removing a review of other files of "+w.p.ID.String(), err)
		}
	}
	return nil
}

// install writes the install directory of the components.
func (w *change) install(ctx context.Context) error {
	return w.e.installAs(ctx, w.entry, w.list, w.p.Snapshot)
}

// installAs writes the install directory of an entry from the files of its commit.
func (e *Engine) installAs(
	ctx context.Context,
	a lock.Adopted,
	list []review.Component,
	snap *source.Snapshot,
) error {
	dir, err := a.ID.Dir(a.Version)
	if err != nil {
		return err
	}
	if e.p.Ignore != nil {
		err = e.p.Ignore()
		if err != nil {
			return err
		}
	}
	st, err := stagedir.New(atomicfile.Project(e.p.Base).Below(space.Dir))
	if err != nil {
		return diag.Doing("installing "+a.ID.String(), err)
	}
	defer st.Close()
	staged := st.Replace(path.Join(space.BundlesFolder, dir))
	for _, c := range list {
		for _, f := range c.Files {
			if ctx.Err() != nil {
				return diag.New(diag.Cancelled, "installing %s: %w", a.ID, context.Cause(ctx))
			}
			b, err := snap.Read(path.Join(c.From, f.Path))
			if err != nil {
				return err
			}
			// The list of files is what was reviewed: bytes that differ are never installed.
			if item.DigestOf(b) != f.Digest {
				return diag.New(
					diag.HashMismatch,
					"installing %s: %s of %s has other bytes than were reviewed",
					a.ID,
					f.Path,
					c.ID(),
				)
			}
			mode := fs.FileMode(0o444)
			if f.Mode == treehash.Executable {
				mode = 0o555
			}
			err = st.WriteFile(staged, installed(c, f.Path), b, mode)
			if err != nil {
				return diag.Doing("installing "+a.ID.String(), err)
			}
		}
	}
	err = st.Commit()
	if err != nil {
		return diag.Doing("installing "+a.ID.String(), err)
	}
	return nil
}

package relock

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// Refresh brings the entries of the project's items that were signed up to
// date. It makes no lock and accepts nothing that was not signed just now.
func Refresh(ctx context.Context, p *project.Project, reports []primary.SignReport) error {
	return refresh(ctx, p, lockUpdate{signed: signedRefs(reports), unchanged: unchangedOwn(p, reports), reports: reports})
}

// RefreshWhole is Refresh that also removes the entries of items whose files
// were deleted.
func RefreshWhole(ctx context.Context, p *project.Project, reports []primary.SignReport) error {
	return refresh(ctx, p, lockUpdate{
		signed:    signedRefs(reports),
		unchanged: unchangedOwn(p, reports),
		reports:   reports,
		deleted:   true,
	})
}

// RefreshCopied is Refresh for an item that was copied into the project with its
// signature.
func RefreshCopied(ctx context.Context, p *project.Project, ref item.Ref) error {
	return refresh(ctx, p, lockUpdate{signed: []item.Ref{ref}})
}

// Complete writes the entries of items that a command signed before it was killed.
// It adds none for an item that another key signed.
func Complete(ctx context.Context, p *project.Project, refs ...item.Ref) error {
	var reports []primary.SignReport
	for _, ref := range refs {
		it, err := p.Resolver.Find(ctx, ref)
		if err != nil {
			continue // verify reports it
		}
		reports = append(reports, primary.SignReport{
			Ref:    ref.String(),
			Path:   it.Path(),
			Status: primary.Unchanged,
			Signer: it.Verdict.Signer.String(),
			Digest: it.Digest,
		})
	}
	return Refresh(ctx, p, reports)
}

// lockUpdate is what a command changed.
type lockUpdate struct {
	signed    []item.Ref // their entries are updated, and those that contain them
	unchanged []item.Ref // signed before by the user: missing entries are added, after a kill
	reports   []primary.SignReport
	deleted   bool // entries of deleted files are removed
}

func refresh(ctx context.Context, p *project.Project, u lockUpdate) error {
	if len(u.signed)+len(u.unchanged) == 0 && !u.deleted {
		return nil
	}
	for _, err := range p.LockErrs {
		p.Env.Person.Warnf("%s was not brought up to date: %s", lock.LockFile, err)
	}
	if p.Lock == nil || len(p.LockErrs) > 0 {
		return nil
	}
	release, err := Hold(ctx, p)
	if err != nil {
		return err
	}
	defer release()
	root := p.Spaces.Of(space.Project)
	sl, err := project.ReadSpaceLock(root) // as it is now
	if err != nil || sl == nil {
		return err
	}
	p.Env.Resolving = !p.Env.KeepsLock()
	signed, err := interrupted(ctx, p, sl.Lock, u)
	if err != nil {
		return err
	}
	changed, notes, err := p.Verbs.RefreshLock(
		ctx,
		sl.Lock,
		append(signed, u.signed...),
	)
	Warn(p.Env, notes)
	if err != nil {
		return err
	}
	added, err := p.Verbs.AddToLock(ctx, sl.Lock, u.unchanged)
	if err != nil {
		return err
	}
	changed = changed || added
	if u.deleted {
		removed, err := dropDeleted(ctx, p, sl.Lock, root)
		if err != nil {
			return err
		}
		changed = changed || removed
	}
	if !changed {
		return nil
	}
	err = atomicfile.Project(sl.Dir).Write(lock.LockFile, sl.Lock.Render(), 0o644)
	if err != nil {
		return diag.Doing("writing "+lock.LockFile, err)
	}
	p.Env.Person.Notef("%s is up to date", lock.LockFile)
	return nil
}

// interrupted returns the unchanged items whose entries a killed command did not
// update any more: the file has the newest signature of the user, and the lock
// has an earlier one. An older file that was put back does not qualify.
func interrupted(
	ctx context.Context,
	p *project.Project,
	l *lock.Lock,
	u lockUpdate,
) ([]item.Ref, error) {
	type file struct{ now, locked string }
	differ := map[item.Ref]file{}
	for _, r := range u.reports {
		ref, err := item.ParseRef(r.Ref, "")
		if err != nil || !slices.Contains(u.unchanged, ref) {
			continue
		}
		entry := l.Item(ref)
		if entry != nil && entry.Digest != r.Digest {
			differ[ref] = file{r.Digest.String(), entry.Digest.String()}
		}
	}
	if len(differ) == 0 {
		return nil, nil
	}
	history, err := p.Recorder().Log.Read(ctx, 0)
	if err != nil {
		return nil, err
	}
	newest := map[item.Ref]string{}
	before := map[item.Ref]bool{}
	for _, e := range history.Entries {
		ref := item.Ref{Kind: item.Kind(e.Kind), ID: e.ID}
		f, asked := differ[ref]
		if !asked ||
			e.Use != "sign" ||
			e.Space != string(space.Project) ||
			e.Project != p.Spaces.ProjectDir {
			continue
		}
		newest[ref] = e.Digest
		before[ref] = before[ref] || e.Digest == f.locked
	}
	var out []item.Ref
	for ref, f := range differ {
		if newest[ref] == f.now && before[ref] {
			out = append(out, ref)
		}
	}
	return out, nil
}

// dropDeleted removes the entries of items that have no file in root, and reports
// whether there were any. An item that a sparse checkout leaves out keeps its entry.
func dropDeleted(
	ctx context.Context,
	p *project.Project,
	l *lock.Lock,
	root *space.Root,
) (bool, error) {
	gone, err := WithoutFile(ctx, p, l.Refs(), root)
	if err != nil {
		return false, err
	}
	left := map[item.Ref]bool{}
	if root.OnDisk() {
		left = deps.LeftOut(ctx, p, gone)
	}
	gone = slices.DeleteFunc(gone, func(ref item.Ref) bool {
		return left[ref]
	})
	return RemoveItems(l, gone), nil
}

// RemoveItems reports whether there was an entry of one of the items.
func RemoveItems(l *lock.Lock, gone []item.Ref) (removed bool) {
	for _, ref := range gone {
		removed = l.RemoveItem(ref) || removed
	}
	return removed
}

// WithoutFile selects the items that have no file in root.
func WithoutFile(
	ctx context.Context,
	p *project.Project,
	refs iter.Seq[item.Ref],
	root *space.Root,
) (gone []item.Ref, err error) {
	gone, _, err = MissingIn(ctx, p.Resolver, refs, root)
	return gone, err
}

// MissingIn selects the items that have no file in root, and returns also the extractors of
// their kinds, which have the paths.
func MissingIn(
	ctx context.Context,
	r *resolve.Resolver,
	refs iter.Seq[item.Ref],
	root *space.Root,
) (gone []item.Ref, exts []*extract.Extractor, err error) {
	var ext *extract.Extractor
	for ref := range refs { // items of a kind follow each other
		if ext == nil || ext.Kind != ref.Kind {
			if ext, err = r.Extractor(ctx, ref.Kind); err != nil {
				return nil, nil, err
			}
			exts = append(exts, ext)
		}
		exists := false
		for rel := range ext.EachPath(ref.ID) {
			if exists = root.Exists(rel); exists {
				break
			}
		}
		if !exists {
			gone = append(gone, ref)
		}
	}
	return gone, exts, nil
}

// Warn warns of entries that were not updated.
func Warn(e *project.Env, notes []diag.Finding) {
	for _, f := range notes {
		e.Person.WarnOf(f)
	}
}

// signedRefs returns the items of the project that were signed again.
func signedRefs(reports []primary.SignReport) []item.Ref {
	var out []item.Ref
	for _, r := range reports {
		if r.Status != primary.Signed && r.Status != primary.Upgraded ||
			!strings.HasPrefix(r.Path, space.Dir+"/") {
			continue
		}
		if ref, err := item.ParseRef(r.Ref, ""); err == nil {
			out = append(out, ref)
		}
	}
	return out
}

// unchangedOwn returns the items that keep a signature of the user.
func unchangedOwn(p *project.Project, reports []primary.SignReport) []item.Ref {
	var out []item.Ref
	for _, r := range reports {
		if r.Status != primary.Unchanged ||
			!strings.HasPrefix(r.Path, space.Dir+"/") ||
			!ownSigner(p, r.Signer) {
			continue
		}
		if ref, err := item.ParseRef(r.Ref, ""); err == nil {
			out = append(out, ref)
		}
	}
	return out
}

// ownSigner reports whether a fingerprint belongs to a person's key of the user.
func ownSigner(p *project.Project, fingerprint string) bool {
	fp, err := sign.ParseFingerprint(fingerprint)
	if err != nil {
		return false
	}
	k, known := p.Trust.Key(fp)
	return known && k.Own && !k.Agent() && !k.Compromised
}

// Hold waits until no other process changes the lock of the project, and keeps
// others from it until release is called.
func Hold(ctx context.Context, p *project.Project) (release func(), err error) {
	return packages.Hold(ctx, p.Spaces.Of(space.Project).Base)
}

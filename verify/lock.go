package verify

import (
	"context"
	"errors"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// LockParams is the state that a lock is compared with.
type LockParams struct {
	Params
	Lock  *lock.Lock
	Sum   *lock.Sum      // nil: no rye.sum
	Items []lock.Item    // the entries of the project's items as they are now, sorted
	Stale []diag.Finding // differences between the project file and the lock
	// Check compares an item with the lock, as a run does.
	Check   func(ctx context.Context, ref item.Ref) error
	Lenient bool // staleness is a warning, not an error: --locked=false
	// Sparse returns the items that a sparse checkout leaves out: their entries
	// are valid without them. Nil: none.
	Sparse func([]item.Ref) map[item.Ref]bool
	// Vendored reports that installed bundles are committed.
	Vendored bool
	// Partial reports that some bundles are not installed: of an entry whose chain
	// leads there only the project's own items are compared.
	Partial bool
	// Caps returns the capabilities that an item requests. Nil: not compared.
	Caps func(at extract.Match, text []byte) []string

	table *extract.Table // maps paths to items
}

// Lock compares a lock with the project: entries of items with their current
// chains, installed bundles with their manifests and hashes, hashes with rye.sum.
// Of a project in git objects it verifies only vendored bundles.
func Lock(ctx context.Context, p LockParams) (*Report, error) {
	r := &Report{}
	for _, f := range p.Stale {
		r.add(p.soften(f))
	}
	p.items(ctx, r)
	p.alike(r)
	var err error
	if p.table, err = p.Resolver.Table(ctx); err != nil {
		return nil, err
	}
	inGit := !p.onDisk()
	for _, root := range p.Resolver.Roots() {
		if root.Space != space.Project ||
			!root.Bundled() ||
			inGit && (root.OnDisk() || p.elsewhere(root)) {
			continue
		}
		if err := p.layer(ctx, r, root); err != nil {
			return nil, err
		}
	}
	for _, b := range p.Lock.Bundles {
		if p.Sum == nil || b.Sum == "" {
			continue
		}
		err := p.Sum.Check(b.Module(), b.Sum)
		if err != nil {
			r.Fail(lock.SumFile, err)
		}
	}
	diag.Sort(r.Findings)
	return r, ctx.Err()
}

func (r *Report) add(f diag.Finding) {
	r.Findings = append(r.Findings, f)
}

// Fail adds the findings of an error about a file, or the error as a finding.
func (r *Report) Fail(path string, err error) {
	if fs := diag.FindingsOf(err); len(fs) > 0 {
		r.Findings = append(r.Findings, fs...)
		return
	}
	r.add(failure(path, err))
}

// failure returns an error about a file as a finding.
func failure(path string, err error) diag.Finding {
	f := diag.Errorf(codeOf(err), 0, 0, "%s", err)
	f.Path = path
	var e *diag.Error
	if errors.As(err, &e) {
		f.Reason = e.Reason
		f.Facts = e.Details
		want := e.Details["expected"]
		got := e.Details["found"]
		if want != nil && got != nil {
			f.Message += fmt.Sprintf(" (expected %v, found %v)", want, got)
		}
	}
	return f
}

// Unlocked warns about bundles that are installed in the project and not in its
// lock. They are not used. The install directories in others are locked in another way.
func Unlocked(roots []*space.Root, others ...string) []diag.Finding {
	var out []diag.Finding
	for _, root := range roots {
		if root.Space != space.Project || root.Bundled() {
			continue
		}
		for _, dir := range root.Installs() {
			if slices.Contains(others, dir) {
				continue
			}
			if slices.ContainsFunc(roots, func(r *space.Root) bool {
				return r.Space == root.Space &&
					r.Install() == dir
			}) {
				continue
			}
			f := diag.Warnf(diag.BundleFileExtra, 0, 0, "the bundle is not in the lock, so it is not used")
			f.Path = root.Display(space.BundlesFolder + "/" + dir)
			out = append(out, f.WithReason("not_locked"))
		}
	}
	return out
}

// soften turns a finding into a warning if --locked=false is set.
func (p LockParams) soften(f diag.Finding) diag.Finding {
	if p.Lenient {
		f.Severity = diag.SeverityWarning
	}
	return f
}

// items compares the entries with the current chains.
func (p LockParams) items(ctx context.Context, r *Report) {
	stale := func(format string, args ...any) {
		f := diag.Errorf(diag.LockStale, 1, 1, format, args...)
		f.Path = lock.LockFile
		r.add(p.soften(f.WithReason("relock")))
	}
	// gone are the locked items that the project no longer has
	locked := p.Lock.Items
	gone := []lock.Item(nil)
	for _, it := range p.Items {
		n := 0
		for n < len(locked) && lock.CompareRefs(locked[n].Ref, it.Ref) < 0 {
			n++
		}
		gone = append(gone, locked[:n]...)
		locked = locked[n:]
		if len(locked) == 0 || locked[0].Ref != it.Ref {
			stale("%s is not in the lock", it.Ref)
			continue
		}
		locked = locked[1:]
		switch err := p.Check(ctx, it.Ref); {
		case diag.CodeOf(err) == diag.LockMismatch:
			r.Fail(lock.LockFile, err)
		case diag.CodeOf(err) == diag.LockStale:
			f := failure(lock.LockFile, err)
			f.Line = 1
			f.Column = 1
			r.add(p.soften(f))
		}
	}
	gone = append(gone, locked...)
	sparse := p.sparse(gone)
	for _, it := range gone {
		switch {
		case sparse[it.Ref]:
		case p.Partial:
			p.own(ctx, r, it)
		case p.refused(ctx, it.Ref): // reported with its file
		default:
			stale("%s is in the lock and is not an item of the project that can be locked", it.Ref)
		}
	}
}

// refused reports whether the file of an item exists and may not be used.
func (p LockParams) refused(ctx context.Context, ref item.Ref) bool {
	it, err := p.Resolver.Inspect(ctx, ref)
	return err == nil &&
		it.Root.Space == space.Project &&
		!it.Root.Bundled() &&
		!it.Support() &&
		it.Usable() != nil
}

// sparse returns the items that do not exist because a sparse checkout leaves them out.
func (p LockParams) sparse(gone []lock.Item) map[item.Ref]bool {
	if p.Sparse == nil {
		return nil
	}
	var refs []item.Ref
	for _, it := range gone {
		refs = append(refs, it.Ref)
	}
	return p.Sparse(refs)
}

// own compares the elements of an entry that are the project's own items with
// the files.
func (p LockParams) own(ctx context.Context, r *Report, entry lock.Item) {
	links := append(
		[]lock.Link{{Ref: entry.Ref, Digest: entry.Digest}},
		entry.Uses...,
	)
	if len(entry.Chain) > 0 {
		links = append(
			entry.Chain[:len(entry.Chain):len(entry.Chain)],
			entry.Uses...,
		)
	}
	for i, link := range links {
		it, err := p.Resolver.Inspect(ctx, link.Ref)
		switch {
		case err != nil && i == 0:
			r.Fail(lock.LockFile, err)
		case err == nil && it.Root.Space == space.Project && !it.Root.Bundled() && it.Digest != link.Digest:
			f := diag.Errorf(
				diag.LockMismatch,
				0,
				0,
				"checking %s: %s has other bytes than were locked (expected %s, found %s)",
				entry.Ref,
				link.Ref,
				link.Digest,
				it.Digest,
			)
			f.Path = lock.LockFile
			r.add(f)
		}
	}
}

// onDisk reports whether the project's own items are files of this machine.
func (p LockParams) onDisk() bool {
	return slices.ContainsFunc(p.Resolver.Roots(), func(r *space.Root) bool {
		return r.Space == space.Project && !r.Bundled() && r.OnDisk()
	})
}

// elsewhere reports whether a bundle is not installed and does not have to be.
func (p LockParams) elsewhere(root *space.Root) bool {
	return !p.Vendored && root.ReadOnly() && root.Ready() != nil
}

// layer verifies one bundle: its directory, each file, the manifest that the lock
// names, and the hash of all files.
func (p LockParams) layer(ctx context.Context, r *Report, root *space.Root) error {
	if err := root.Ready(); err != nil {
		r.Fail(lock.LockFile, err)
		return nil
	}
	files, err := Root(ctx, p.Params, root)
	if err != nil {
		r.Fail(root.Display("."), err)
		return ctx.Err()
	}
	r.Merge(files)
	if !root.ReadOnly() {
		return nil
	}
	f := p.manifestOf(root)
	if f != nil {
		r.add(*f)
	}
	b := p.Lock.BundleNamed(root.Layer)
	if b != nil && b.Sum != "" {
		if f == nil {
			p.signers(r, root, *b)
		}
		p.sum(r, root, *b)
	}
	return nil
}

// manifestOf compares the manifest of a bundle with the one that is locked.
func (p LockParams) manifestOf(root *space.Root) *diag.Finding {
	want := root.Manifest()
	if want == (item.Digest{}) {
		return nil
	}
	manifests, _ := resolve.Manifests(root)
	var found item.Digest
	for _, m := range manifests {
		if m.Digest == want {
			return nil
		}
		if m.Err == nil {
			found = m.Digest
		}
	}
	f := diag.Errorf(diag.LockMismatch, 0, 0, "its manifest is %s, the lock names %s", found, want)
	if len(manifests) == 0 {
		f.Message = "it has no manifest, the lock names " + want.String()
	}
	f.Path = root.Display(".")
	f = f.WithReason("installed")
	return &f
}

// signers reports signers in the entry of a bundle that did not sign its manifest:
// a later version by one of them would pass for one by the same signer.
func (p LockParams) signers(r *Report, root *space.Root, b lock.Bundle) {
	_, keys, err := Signers(p.Trust, root, b.Manifest)
	if err != nil || len(keys) == 0 {
		return // the manifest is reported for its signature
	}
	for _, s := range b.Signers {
		if !slices.ContainsFunc(keys, func(fp sign.Fingerprint) bool { return strings.HasSuffix(s, ":"+fp.String()) }) {
			f := diag.Errorf(diag.LockMismatch, 0, 0, "the entry of %s names the signer %s, whose signature of its manifest is not trusted", b.Module(), s)
			f.Path = lock.LockFile
			r.add(f.WithReason("lock_edited"))
		}
	}
}

// sum compares the files of an installed bundle with the hash that is locked.
func (p LockParams) sum(r *Report, root *space.Root, b lock.Bundle) {
	modes := true
	if t, done, err := BundleTree(root); err == nil {
		modes = t.Modes()
		done()
	}
	var files []treehash.File
	var caps []string
	err := root.Tree(treehash.MaxFile, func(rel string, data []byte, executable bool) error {
		p.hidden(r, root, hidden.Blob{Path: rel, Bytes: data, Executable: executable})
		caps = append(caps, p.capsOf(rel, data)...)
		f := treehash.File{
			Path:   rel,
			Mode:   treehash.Regular,
			Size:   int64(len(data)),
			Digest: item.DigestOf(data),
		}
		if modes && executable || !modes && slices.Contains(b.Exec, rel) {
			f.Mode = treehash.Executable
		}
		files = append(files, f)
		return nil
	})
	p.undeclaredCaps(r, b, caps)
	got := ""
	if err == nil {
		got, err = treehash.Of(files)
	}
	switch {
	case err != nil:
		r.Fail(root.Display("."), err)
	case got != b.Sum:
		f := diag.Errorf(
			diag.HashMismatch,
			0,
			0,
			"the files of %s have the hash %s, the lock names %s",
			root.Label(),
			got,
			b.Sum,
		)
		f.Path = root.Display(".")
		r.add(f.WithReason("installed"))
	}
}

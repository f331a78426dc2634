package trust

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/trust/doc"
)

// Limits of what is remembered. A stranger's project could contain thousands of
// revocations of unknown keys, which must not fill the directory.
const (
	maxSeen        = 2048
	maxSeenUnknown = 512 // of keys that are not trusted here
)

func (p Params) seenDir() string {
	if p.StateDir == "" {
		return ""
	}
	return filepath.Join(p.StateDir, "seen")
}

// readSeen reads the revocations, rotations and publishers that earlier calls
// remembered. Their files are named STEM.DIGEST.toml, so that there can be two
// documents with the same stem.
func (b *builder) readSeen() {
	dir := b.p.seenDir()
	if dir == "" {
		return
	}
	names, err := documentNames(TierUser, dir)
	if err != nil {
		b.unreadable(TierUser, dir, err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		data, err := readDocument(TierUser, path)
		if err != nil {
			if !gone(path) {
				b.unreadable(TierUser, path, err)
			}
			continue
		}
		stem, _, _ := strings.Cut(name, ".")
		d, fs := doc.Read(stem+".toml", data)
		h := d.Head()
		h.Path = path
		switch d.(type) {
		case *doc.Revocation, *doc.Rotation, *doc.ReleaseRevocation, *doc.PublisherCopy:
			if !diag.Failed(fs) {
				b.docs.add(d, origin{tier: TierUser, seen: true})
				b.remembered[h.Digest] = true
			}
		default: // Remember writes no other kind, so another kind is not used
		}
	}
}

// remember collects the documents of the project that stay in force when they
// are removed from the project.
func (b *builder) remember() {
	if b.p.StateDir == "" {
		return
	}
	free := maxSeen - len(b.remembered)
	freeUnknown := maxSeenUnknown - len(b.remembered)
	keep := func(h *doc.Header, o origin, trusted bool) {
		if o.seen || o.tier != TierProject && !o.root || b.remembered[h.Digest] || free <= 0 || !trusted && freeUnknown <= 0 {
			return
		}
		b.remembered[h.Digest] = true
		free--
		freeUnknown--
		b.store.unseen = append(b.store.unseen, File{Name: h.Stem + "." + h.Digest.Hex()[:16] + ".toml", Data: h.Data()})
	}
	for _, d := range b.kept {
		keep(&d.Header, d.origin, true)
	}
	for _, e := range b.sorted() {
		trusted := len(e.bases) > 0
		for _, d := range e.revocations {
			keep(&d.Header, d.origin, trusted)
		}
		for _, d := range e.rotations {
			keep(&d.Header, d.origin, trusted)
		}
		for _, d := range b.releasesRevokedBy(e) {
			keep(&d.Header, d.origin, trusted)
		}
	}
}

// releasesRevokedBy returns the revocations of releases that a key signed, by
// name.
func (b *builder) releasesRevokedBy(e *entry) []*releaseRevocation {
	out := slices.DeleteFunc(b.store.withdrawn.all(), func(d *releaseRevocation) bool { return d.Signer != e.key })
	slices.SortFunc(out, func(x, y *releaseRevocation) int { return strings.Compare(x.Stem, y.Stem) })
	return out
}

// Remember writes the revocations, rotations and publishers that the store read
// for the first time into the user's state directory, so that removing them from
// the project does not undo them. It returns what could not be written.
func Remember(p Params, s *Store) error {
	dir := p.seenDir()
	if dir == "" || len(s.unseen) == 0 {
		return nil
	}
	base := atomicfile.Private(p.StateDir)
	var all []error
	for _, f := range s.unseen {
		err := base.Create(path.Join(filepath.Base(dir), f.Name), f.Data, 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			all = append(all, err)
		}
	}
	if err := errors.Join(all...); err != nil {
		return diag.New(diag.FileSystemError, "remembering revocations: %w", err)
	}
	return nil
}

// RememberRevocations writes revocations and rotations that a registry served into the
// user's state directory, as Remember does with those of a project, and reports whether one
// of them is new. A text that is not one is an error.
func RememberRevocations(p Params, texts [][]byte) (changed bool, err error) {
	dir := p.seenDir()
	if dir == "" {
		return false, nil
	}
	names, err := documentNames(TierUser, dir)
	if err != nil {
		return false, diag.New(diag.FileSystemError, "remembering revocations: %w", err)
	}
	base := atomicfile.Private(p.StateDir)
	for _, text := range texts {
		d, found := doc.ParseAnyName(text)
		switch d.(type) {
		case *doc.Revocation, *doc.Rotation, *doc.ReleaseRevocation:
		case nil:
			return changed, diag.FromFindings("reading a revocation", found)
		default:
			return changed, diag.New(diag.ValidationFailed, "reading a revocation: a document of kind %s revokes nothing", d.Head().Kind)
		}
		h := d.Head()
		name := h.Stem + "." + h.Digest.Hex()[:16] + ".toml"
		if slices.Contains(names, name) {
			continue
		}
		if len(names) >= maxSeen {
			return changed, diag.New(diag.LimitExceeded, "remembering revocations: %s has %d documents, at most %d are kept", dir, len(names), maxSeen)
		}
		if err := base.Create(path.Join(filepath.Base(dir), name), text, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
			return changed, diag.New(diag.FileSystemError, "remembering revocations: %w", err)
		}
		names, changed = append(names, name), true
	}
	return changed, nil
}

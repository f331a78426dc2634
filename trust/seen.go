package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// Limits of what is remembered. A stranger's project could contain thousands of
// revocations of unknown keys, which must not fill the directory.
const (
	maxSeen        = 2048 // of keys that are trusted here
	maxSeenUnknown = 512  // of other keys
)

// servedExt ends the name of a revocation that a registry served and that another key than
// the revoked one signed. Load verifies it each time, until Remember writes it again.
const servedExt = ".served.toml"

// seenCount counts the documents in the state directory.
type seenCount struct{ all, unknown int }

// free returns how many documents more may be remembered.
func (n seenCount) free() (trusted, unknown int) {
	return maxSeen - (n.all - n.unknown), maxSeenUnknown - n.unknown
}

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
		d, fs := doc.Read(stem+".toml", data, b.p.Proofs)
		h := d.Head()
		h.Path = path
		switch d.(type) {
		case *doc.Revocation, *doc.Rotation, *doc.ReleaseRevocation, *doc.PublisherCopy:
			if !diag.Failed(fs) {
				served := strings.HasSuffix(name, servedExt)
				b.docs.add(d, origin{tier: TierUser, seen: !served, served: served})
				b.seen = append(b.seen, d)
				b.remembered[h.Digest] = b.remembered[h.Digest] || !served
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
	b.countSeen()
	free, freeUnknown := b.store.seen.free()
	keep := func(h *doc.Header, o origin, trusted bool) {
		left := &free
		if !trusted {
			left = &freeUnknown
		}
		if o.seen ||
			o.tier != TierProject && !o.root && !o.served ||
			b.remembered[h.Digest] ||
			*left <= 0 {
			return
		}
		b.remembered[h.Digest] = true
		*left--
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

// countSeen counts the remembered documents. Those that a trusted key signed were verified
// before they were written.
func (b *builder) countSeen() {
	for _, d := range b.seen {
		b.store.seen.all++
		_, publisher := d.(*doc.PublisherCopy)
		if !publisher && !b.store.trustedRevoker(d.Head().Signer) {
			b.store.seen.unknown++
		}
	}
}

// trustedRevoker reports whether a key is trusted, or one that a publisher names in its
// role revoke.
func (s *Store) trustedRevoker(fp sign.Fingerprint) bool {
	e := s.keys[fp]
	return e != nil && len(e.bases) > 0 || s.revokerOf(fp) != nil
}

// forged returns an error if d is known not to be signed by the key that its signature
// line names.
func (s *Store) forged(d doc.Document) error {
	h := d.Head()
	if err := errors.Join(h.Invalid, h.Weak); err != nil {
		return err
	}
	pub := s.revokerOf(h.Signer)
	if e := s.keys[h.Signer]; pub == nil && e != nil {
		pub = e.public
	}
	if pub == nil {
		return nil
	}
	return h.SignedBy(pub)
}

// releasesRevokedBy returns the revocations of releases that a key signed, by
// name.
func (b *builder) releasesRevokedBy(e *entry) []*releaseRevocation {
	out := slices.DeleteFunc(
		b.store.withdrawn.all(),
		func(d *releaseRevocation) bool { return d.Signer != e.key },
	)
	slices.SortFunc(out, func(x, y *releaseRevocation) int {
		return strings.Compare(x.Stem, y.Stem)
	})
	return out
}

// Remember writes the revocations, rotations and publishers that the store read
// for the first time into the user's state directory, so that removing them from
// the project does not undo them. The error names the files that could not be written.
func Remember(p Params, s *Store) error {
	dir := p.seenDir()
	if dir == "" || len(s.unseen) == 0 {
		return nil
	}
	base := atomicfile.Private(p.StateDir)
	var all []error
	for _, f := range s.unseen {
		err := base.Create(
			path.Join(filepath.Base(dir), f.Name),
			f.Data,
			0o600,
		)
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
// user's state directory, as Remember does with revocations of a project, and reports whether the
// store lacks one of the directory: a new one, or one that another process wrote. The store states which keys are trusted: documents of other keys are
// bounded, so that a registry or a namespace cannot displace those that matter. The note
// states how many were left out, "" for none. A text that is not a revocation is an error.
func RememberRevocations(p Params, s *Store, texts [][]byte) (changed bool, note string, err error) {
	dir := p.seenDir()
	if dir == "" {
		return false, "", nil
	}
	names, err := documentNames(TierUser, dir)
	if err != nil {
		return false, "", diag.New(diag.FileSystemError, "remembering revocations: %w", err)
	}
	have := s.seen
	if later := len(names) - have.all; later > 0 { // since the store was loaded
		have = seenCount{len(names), have.unknown + later}
		changed = true
	}
	free, freeUnknown := have.free()
	base := atomicfile.Private(p.StateDir)
	forged := 0
	unknown := 0
	for _, text := range texts {
		d, name, err := servedRevocation(text)
		left := &freeUnknown
		switch {
		case err != nil:
			return changed, "", err
		case slices.Contains(names, name):
			continue
		case s.forged(d) != nil:
			forged++
			continue
		case s.trustedRevoker(d.Head().Signer):
			if left = &free; free <= 0 {
				return changed, "", diag.New(diag.LimitExceeded, "remembering revocations: %s has %d documents of trusted keys, at most %d are kept", dir, maxSeen-free, maxSeen)
			}
		case freeUnknown <= 0:
			unknown++
			continue
		}
		err = base.Create(path.Join(filepath.Base(dir), name), text, 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return changed, "", diag.New(diag.FileSystemError, "remembering revocations: %w", err)
		}
		*left--
		names = append(names, name)
		changed = true
	}
	return changed, leftOut(forged, unknown), nil
}

// servedRevocation parses a document of a registry and returns the name of its file.
func servedRevocation(text []byte) (d doc.Document, name string, err error) {
	d, found := doc.ParseAnyName(text)
	ext := ".toml"
	switch d := d.(type) {
	case *doc.Revocation:
		if d.Public == nil {
			ext = servedExt
		}
	case *doc.Rotation, *doc.ReleaseRevocation:
	case nil:
		return nil, "", diag.FromFindings("reading a revocation", found)
	default:
		return nil, "", diag.New(diag.ValidationFailed, "reading a revocation: a document of kind %s revokes nothing", d.Head().Kind)
	}
	h := d.Head()
	return d, h.Stem + "." + h.Digest.Hex()[:16] + ext, nil
}

func leftOut(forged, unknown int) string {
	var out []string
	if forged > 0 {
		out = append(out, fmt.Sprintf("%d revocations of registries are ignored: the keys that they name have not signed them", forged))
	}
	if unknown > 0 {
		out = append(out, fmt.Sprintf("%d revocations of registries are not remembered: their keys are not trusted, and %d such documents are kept", unknown, maxSeenUnknown))
	}
	return strings.Join(out, "; ")
}

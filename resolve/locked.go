package resolve

import (
	"sync"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// lockedFiles are the files of a bundle whose manifest the lock names.
type lockedFiles struct {
	digests map[string]item.Digest // by path below .ai
	refused *trust.Verdict         // on every file of the bundle, nil to compare each
}

// lockedVerdict returns the verdict on a trusted file after comparing it with
// the manifest that the lock names. A trusted signature is not enough: it may be
// on another version than the locked one.
func (r *Resolver) lockedVerdict(it *Item) trust.Verdict {
	if !it.Verdict.OK() {
		return it.Verdict
	}
	if err := it.Root.Allowed(); err != nil {
		return it.Verdict.Refuse(diag.CodeOf(err), err.Error())
	}
	if it.Root.Manifest() == (item.Digest{}) {
		return it.Verdict
	}
	locked := r.lockedFiles(it.Root)
	if locked.refused != nil {
		return *locked.refused
	}
	want, listed := locked.digests[it.Rel]
	switch {
	case !listed:
		return differs(
			it.Verdict,
			diag.BundleFileExtra,
			"",
			it.Digest.Hex(),
			"the manifest of "+it.Root.Label()+" does not list it",
		)
	case want != it.Digest:
		return differs(
			it.Verdict,
			diag.HashMismatch,
			want.Hex(),
			it.Digest.Hex(),
			"the content differs from the locked manifest of "+it.Root.Label(),
		)
	}
	return it.Verdict
}

// recorded returns whether the lock records exactly the bytes of the item as signed
// by a key: in an entry, or in the manifest of its bundle if that key signed the
// manifest too. A key that only signed the item was not accepted with the bundle.
func (r *Resolver) recorded(it *Item) func(sign.Fingerprint) bool {
	return func(signer sign.Fingerprint) bool {
		if it.Root.Manifest() != (item.Digest{}) {
			return r.lockedFiles(it.Root).digests[it.Rel] == it.Digest &&
				it.Root.LockedSigner(signer)
		}
		return r.p.Locked != nil && r.p.Locked(it.Root, it.Ref, it.Digest)
	}
}

// differs turns a verdict into a refusal that still names the signer.
func differs(v trust.Verdict, code diag.Code, want, got, reason string) trust.Verdict {
	if v.Owner != "" {
		reason += "; the existing file is signed by " + v.Owner + " (" + v.Signer.Short() + ")"
	}
	v.Expected = want
	v.Found = got
	v = v.Refuse(code, reason)
	f := diag.Errorf(code, 0, 0, "%s", reason).WithReason("locked")
	v.Findings = append([]diag.Finding{f}, v.Findings...)
	return v
}

// lockedFiles reads the locked manifest of a bundle, once.
func (r *Resolver) lockedFiles(root *space.Root) *lockedFiles {
	r.manifestMu.Lock()
	read, ok := r.locked[root]
	if !ok {
		read = sync.OnceValue(func() *lockedFiles {
			return r.readLocked(root)
		})
		r.locked[root] = read
	}
	r.manifestMu.Unlock()
	return read()
}

func (r *Resolver) readLocked(root *space.Root) *lockedFiles {
	want := root.Manifest()
	var found item.Digest
	var verdict trust.Verdict // on a manifest with another digest
	manifests, err := Manifests(root)
	for _, m := range manifests {
		switch {
		case m.Err != nil:
			err = m.Err
		case m.Digest == want:
			return r.parseLocked(m)
		default:
			found = m.Digest
			verdict = r.p.Trust.Verify(m.input(root))
		}
	}
	reason := "the manifest of " + root.Label() + " differs from the locked one (expected " + want.Hex() + ", found " + found.Hex() + ")"
	hex := found.Hex()
	switch {
	case err != nil:
		reason = "the manifest of " + root.Label() + " cannot be read: " + err.Error()
		hex = ""
	case found == (item.Digest{}):
		reason = "the bundle " + root.Label() + " has no manifest, and the lock names one"
		hex = ""
	}
	v := differs(verdict, diag.LockMismatch, want.Hex(), hex, reason)
	return &lockedFiles{refused: &v}
}

func (r *Resolver) parseLocked(m Manifest) *lockedFiles {
	files, ok := m.Files()
	if !ok {
		v := differs(trust.Verdict{}, diag.LockMismatch, "", "", "the locked manifest cannot be read")
		return &lockedFiles{refused: &v}
	}
	// The lock does not replace revocation: a manifest can be revoked after it
	// was locked.
	reason := r.p.Trust.ManifestRevoked(bundle.Subject(m.ID), m.Bytes)
	if reason != "" {
		v := trust.Verdict{}.Refuse(diag.Revoked, reason)
		return &lockedFiles{refused: &v}
	}
	return &lockedFiles{digests: files}
}

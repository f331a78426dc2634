package release

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// Signed is the manifest of a release and the keys in the lines of its
// co-signatures. Nothing is verified: the keys only decide who may revoke it.
type Signed struct {
	Manifest []byte
	Cosigned []sign.Fingerprint
}

// Tagged reads the manifest of a release from its tag. open returns the bundle of a
// commit and a function that closes it.
func Tagged(
	ctx context.Context,
	repo *gitcmd.Repo,
	prefix, id, version string,
	open func(ctx context.Context, commit string) (bundle.Tree, func(), error),
) (*Signed, error) {
	tag := prefix + "v" + version
	ref, err := repo.Tag(ctx, tag)
	if err != nil {
		return nil, err
	}
	if ref.Commit == "" {
		return nil, diag.New(diag.VersionNotFound, "revoking %s %s: the repository has no tag %s", id, version, tag).WithReason("no_tag")
	}
	tree, done, err := open(ctx, ref.Commit)
	if err != nil {
		return nil, err
	}
	defer done()
	out := &Signed{}
	if out.Manifest, _, err = tree.Read(bundle.ManifestPath(id), bundle.MaxManifest); errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.ItemNotFound, "revoking %s %s: the tag %s has no bundle %q", id, version, tag, id).WithReason("no_bundle")
	}
	if err != nil {
		return nil, err
	}
	cosignatures, err := bundle.Cosignatures(tree, id)
	for _, at := range cosignatures {
		text, _, err := tree.Read(at, bundle.MaxPath)
		if err != nil {
			return nil, err
		}
		if line, err := sign.ParseLine(text, sign.StyleBare); err == nil {
			out.Cosigned = append(out.Cosigned, line.Key)
		}
	}
	return out, err
}

// RevokeParams configures Revoke.
type RevokeParams struct {
	Trust       *trust.Store
	ID, Version string // of the release; the version without v
	Reason      string // for the users of the release, one line
	Release     *Signed
	Signer      sign.Signer
	Now         time.Time
}

// Revoke returns the signed revocation of a release. It returns a SCOPE error if
// the revocation by this key would not be valid.
func Revoke(ctx context.Context, p RevokeParams) (trust.File, error) {
	in, fs := bundle.Inspect(p.Release.Manifest)
	if in == nil {
		return trust.File{}, diag.FromFindings("reading the manifest of "+p.ID, fs)
	}
	if in.Manifest.ID != p.ID || in.Manifest.Version != p.Version {
		return trust.File{}, diag.New(
			diag.VersionMismatch,
			"revoking %s %s: the manifest names %s %s",
			p.ID,
			p.Version,
			in.Manifest.ID,
			in.Manifest.Version,
		)
	}
	sp, err := sign.SplitFile(p.Release.Manifest, sign.Hash())
	if err != nil {
		return trust.File{}, err
	}
	signers := append(p.Release.Cosigned, in.Claimed...)
	key := sign.FingerprintOf(p.Signer.Public())
	if !p.Trust.MayRevokeRelease(key, p.ID, signers) {
		return trust.File{}, diag.New(
			diag.Scope,
			"revoking %s %s: key %s has not signed it, does not succeed a key that has, and is not an anchor that may revoke it",
			p.ID,
			p.Version,
			key.Short(),
		).
			WithReason("revoke_release")
	}
	r := doc.Release{
		Bundle:   p.ID,
		Version:  p.Version,
		Manifest: item.DigestOf(p.Release.Manifest),
		Content:  item.Digest(sp.Digest()),
		Why:      p.Reason,
	}
	name, b, err := doc.NewReleaseRevocation(ctx, r, p.Signer, p.Now)
	return trust.File{Name: name, Data: b}, err
}

// ReadRevocation parses the revocation of a release by another key. The key must be
// known in the store, since a revocation by an unknown key is not valid.
func ReadRevocation(store *trust.Store, path string, b []byte) (trust.File, error) {
	document, fs := doc.ParseAnyName(b)
	err := diag.FromFindings("reading the revocation", diag.WithPath(fs, path))
	if err != nil {
		return trust.File{}, err
	}
	if _, ok := document.(*doc.ReleaseRevocation); !ok {
		return trust.File{}, diag.New(diag.Usage, "reading the revocation %q: it is a %s, not the revocation of a release", path, document.Head().Kind)
	}
	if signer := document.Head().Signer; !known(store, signer) {
		return trust.File{}, diag.New(diag.KeyUnknown, "reading the revocation %q: it is signed by key %s, which no document names", path, signer.Short()).
			WithReason("revoke_release")
	}
	return trust.File{Name: document.Name(), Data: b}, nil
}

func known(store *trust.Store, key sign.Fingerprint) bool {
	_, ok := store.Key(key)
	return ok
}

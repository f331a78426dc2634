package verify

import (
	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Signers returns the name of the manifest of a bundle that has the wanted digest,
// and the keys whose signatures of it are trusted now. Without such a manifest
// both are empty.
func Signers(
	store *trust.Store,
	root *space.Root,
	want item.Digest,
) (name string, keys []sign.Fingerprint, err error) {
	tree, done, err := BundleTree(root)
	if err != nil {
		return "", nil, err
	}
	defer done()
	manifests, _ := resolve.Manifests(root)
	for _, m := range manifests {
		in := lockedManifest(root, m.Rel, trust.Input{Space: string(root.Space), Path: root.Display(m.Rel)})
		r, err := bundle.Signed(bundle.VerifyParams{
			Tree:             tree,
			ID:               m.ID,
			Judge:            judge(store, in),
			JudgeCosignature: judgeBeside(store, in),
		})
		if err == nil && r.Digest == want {
			return m.ID, r.Signers(), nil
		}
	}
	return "", nil, nil
}

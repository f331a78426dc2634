package bundle

import (
	"context"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/registry/items"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// bundleSignOptions are the flags of rye bundle sign.
type bundleSignOptions struct{ key string }

func bundleSignCommand() *cli.Command {
	var o bundleSignOptions
	return &cli.Command{
		Name:  "sign",
		Usage: "add your signature to the manifest of a bundle",
		Args:  "ID [DIR]",
		Long: `Writes a further signature of a signed manifest into a file next to it, so that
projects can require several signers. The files must match the manifest; review them
first. Signing a second time changes nothing. If the manifest changes, all signers
must sign it again.`,
		Examples: []string{"rye bundle sign acme-tools", "rye bundle sign acme-tools --key eve"},
		Codes: []diag.Code{
			diag.AuthRequired,
			diag.ItemNotFound,
			diag.HashMismatch,
			diag.BundleFileExtra,
			diag.BundleFileMissing,
			diag.SigInvalid,
		},
		Flags:    []cli.Flag{cli.String(&o.key, "key", env.KeyUsage)},
		Complete: completeBundles,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runBundleSign(ctx, c, &o)
		},
	}
}

func runBundleSign(ctx context.Context, c *cli.Call, o *bundleSignOptions) error {
	h, tree, dir, err := openBundle(ctx, c, c.Arg(1), o.key)
	if err != nil {
		return err
	}
	defer tree.Close()
	sweepBundle(tree, dir)
	v, err := verifyForSigning(ctx, h, tree, dir, c.Arg(0))
	if err != nil {
		return err
	}
	signer, err := h.Keys.SignerFor(ctx, "release")
	if err != nil {
		return err
	}
	status, at, err := cosign(ctx, c, h, tree, dir, v.id, signer)
	if err != nil {
		return err
	}
	key := sign.FingerprintOf(signer.Public())
	document, err := release.BringKeyDocument(h.Trust, dir, key)
	if err != nil {
		return err
	}
	if v, err = verifyBundle(ctx, h, tree, dir, v.id); err != nil {
		return err
	}
	data := map[string]any{"bundle": v.id, "version": v.Manifest.Version, "status": status, "path": at,
		"signatures": v.Signatures, "needs": v.Needs, "key_document": document}
	return c.UI.Show(data, func() {
		view.SignLine(c.UI, primary.SignReport{Ref: v.id + " " + v.Manifest.Version, Path: at, Status: status})
		showSignatures(c.UI, v)
		showKeyDocument(c.UI, dir, key, document)
	})
}

// verifyForSigning verifies a bundle before it is signed. The first signer need
// not be trusted here.
func verifyForSigning(
	ctx context.Context,
	h *project.Project,
	tree *bundle.FolderTree,
	dir, id string,
) (*verifiedBundle, error) {
	v, err := verifyBundle(ctx, h, tree, dir, id)
	if err != nil {
		return nil, err
	}
	if v.Digest == (item.Digest{}) {
		return nil, noBundle(h, id)
	}
	var fs []diag.Finding
	for _, f := range v.Findings {
		if f.Code != diag.KeyUnknown &&
			f.Code != diag.Scope &&
			f.Severity == diag.SeverityError {
			fs = append(fs, f)
		}
	}
	return v, diag.FromFindings("signing the manifest of "+id, fs)
}

// noBundle returns the error for an id that is not a bundle of the project.
func noBundle(h *project.Project, id string) error {
	err := diag.New(diag.ItemNotFound, "looking for the manifest: this project has no bundle %q", id).WithDetail("id", id)
	near := suggest.Nearest(id, items.OwnBundles(h))
	if near != "" {
		return err.WithReason("nearest").WithDetail("nearest", near)
	}
	return err.WithReason("no_bundle")
}

// cosign writes a detached signature of a manifest, unless the key signed it
// already.
func cosign(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	tree bundle.Tree,
	dir, id string,
	signer sign.Signer,
) (primary.SignStatus, string, error) {
	where := bundle.ManifestPath(id)
	text, _, err := tree.Read(where, bundle.MaxManifest)
	if err != nil {
		return "", "", err
	}
	style := sign.Hash()
	_, err = sign.Verify(
		text,
		style,
		bundle.Subject(id),
		sign.OnlyKey(signer.Public()),
	)
	if err == nil {
		return primary.Unchanged, where, nil
	}
	sp, err := sign.SplitFile(text, style)
	if err != nil {
		return "", "", err
	}
	at := bundle.CosignPath(id, sign.FingerprintOf(signer.Public()))
	was, _, err := tree.Read(at, bundle.MaxPath)
	if err != nil && !space.IsMissing(err) {
		return "", "", err
	}
	sig, changed, err := sign.SignDetached(
		ctx,
		sp.Body(),
		was,
		bundle.Subject(id),
		signer,
		c.Now(),
	)
	if err != nil || !changed {
		return primary.Unchanged, at, err
	}
	err = h.Recorder().Manifest(
		ctx,
		dir,
		bundle.Subject(id),
		item.DigestOf(text),
		signer,
	)
	if err != nil {
		return "", "", err
	}
	err = atomicfile.Project(dir).Write(at, sig, 0o644)
	if err != nil {
		return "", "", diag.Doing("writing the signature "+strings.TrimPrefix(at, space.Dir+"/"), err)
	}
	return primary.Signed, at, nil
}

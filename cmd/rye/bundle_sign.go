package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

func bundleSignCommand() *cli.Command {
	return &cli.Command{
		Name: "sign", Usage: "sign the manifest of a bundle too", Args: "ID [DIR]",
		Long: `Adds a signature to a manifest that somebody else signed, in a file beside it, so that
projects can demand several. The files must be what the manifest lists: read them
before you vouch for them. Signing twice changes nothing; a manifest that is made anew
is signed anew by everybody.`,
		Examples: []string{"rye bundle sign acme-tools", "rye bundle sign acme-tools --key eve"},
		Codes:    []diag.Code{diag.AuthRequired, diag.ItemNotFound, diag.HashMismatch, diag.BundleFileExtra, diag.BundleFileMissing, diag.SigInvalid},
		Flags:    []cli.Flag{&cli.StringFlag{Name: "key", Usage: "sign with this `KEY`"}},
		Complete: completeBundles,
		Run:      runBundleSign,
	}
}

func runBundleSign(ctx context.Context, c *cli.Call) error {
	h, tree, dir, err := openBundle(ctx, c, c.Arg(1))
	if err != nil {
		return err
	}
	defer tree.Close()
	v, err := signable(ctx, h, tree, dir, c.Arg(0))
	if err != nil {
		return err
	}
	signer, err := h.Signer(ctx)
	if err != nil {
		return err
	}
	status, at, err := cosign(ctx, c, h, tree, dir, v.id, signer)
	if err != nil {
		return err
	}
	if v, err = verifyBundle(ctx, h, tree, dir, v.id); err != nil {
		return err
	}
	data := map[string]any{"bundle": v.id, "version": v.Manifest.Version, "status": status, "path": at,
		"signatures": v.Signatures, "needs": v.Needs}
	return c.UI.Show(data, func() {
		showSignLine(c.UI, primary.SignReport{Ref: v.id + " " + v.Manifest.Version, Path: at, Status: status})
		showSignatures(c.UI, v)
	})
}

// signable verifies a bundle that another key is to sign. That the first key
// does not count here is no reason not to.
func signable(ctx context.Context, h *project.Project, tree *bundle.FolderTree, dir, id string) (*verifiedBundle, error) {
	v, err := verifyBundle(ctx, h, tree, dir, id)
	if err != nil {
		return nil, err
	}
	if v.Digest == (item.Digest{}) {
		return nil, noBundle(h, id)
	}
	var fs []diag.Finding
	for _, f := range v.Findings {
		if f.Code != diag.KeyUnknown && f.Code != diag.Scope && f.Severity == diag.SeverityError {
			fs = append(fs, f)
		}
	}
	return v, diag.FromFindings("signing the manifest of "+id, fs)
}

// noBundle says that the project makes no bundle of that name.
func noBundle(h *project.Project, id string) error {
	err := diag.New(diag.ItemNotFound, "looking for the manifest: there is no bundle %q here", id)
	if near := suggest.Nearest(id, bundleIDs(h)); near != "" {
		return err.WithHint("did you mean %s? rye bundle list shows them", near)
	}
	return err.WithHint("rye bundle list shows them; rye bundle create %s makes one of this project", id)
}

// cosign signs the body of a manifest, unless the key signed it already.
func cosign(ctx context.Context, c *cli.Call, h *project.Project, tree bundle.Tree, dir, id string, signer sign.Signer) (primary.SignStatus, string, error) {
	where := bundle.ManifestPath(id)
	text, _, err := tree.Read(where, bundle.MaxManifest)
	if err != nil {
		return "", "", err
	}
	style := sign.Hash()
	if _, err := sign.Verify(text, style, bundle.Subject(id), sign.OnlyKey(signer.Public())); err == nil {
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
	sig, changed, err := sign.SignDetached(ctx, sp.Body(), was, bundle.Subject(id), signer, c.Now())
	if err != nil || !changed {
		return primary.Unchanged, at, err
	}
	if err := h.RecordManifest(ctx, dir, bundle.Subject(id), item.DigestOf(text), signer); err != nil {
		return "", "", err
	}
	if err := atomicfile.Write(filepath.Join(dir, filepath.FromSlash(at)), sig, 0o644); err != nil {
		return "", "", diag.New(diag.FileSystemError, "writing the signature %s: %w", strings.TrimPrefix(at, space.Dir+"/"), err)
	}
	return primary.Signed, at, nil
}

package main

import (
	"context"
	"os"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
	"github.com/ryeos/rye/verify"
)

func bundleRevokeCommand() *cli.Command {
	return &cli.Command{
		Name: "revoke", Usage: "declare that a release counts no longer", Args: "[ID] [VERSION]",
		Long: `Takes back one release, and not the key that signed it: whoever has the document that
this writes refuses that release with REVOKED, also where it is locked and installed.
It counts when a key signs it that signed the release, or its successor, or an anchor
that may revoke. The release is read from its tag here, or from --manifest. --document
takes over what another made. Revoking cannot be taken back.`,
		Examples: []string{
			"rye bundle revoke acme-tools 1.2.0 --reason 'leaks a token' --in-project",
			"rye bundle revoke --document release-revocation.toml --in-project",
		},
		Codes: []diag.Code{diag.ItemNotFound, diag.VersionNotFound, diag.VersionMismatch, diag.AuthRequired, diag.Scope, diag.KeyUnknown},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "`WHY`, in one line that everybody will read"},
			&cli.StringFlag{Name: "manifest", Usage: "the release's manifest is `FILE`, not what its tag holds"},
			&cli.StringFlag{Name: "key", Usage: "sign with this own `KEY`"},
			&cli.StringFlag{Name: "document", Usage: "publish the revocation in `FILE`, which another signed"},
			&cli.BoolFlag{Name: "in-project", Usage: "write it into the project's .ai/trust as well"},
		},
		Complete: completeBundles,
		Run:      runBundleRevoke,
	}
}

func runBundleRevoke(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	file, err := releaseRevocation(ctx, c, h)
	if err != nil {
		return err
	}
	places, err := publish(c, h, file)
	if err != nil {
		return err
	}
	stapled := false
	if c.Bool("in-project") {
		if stapled, err = h.Staple(ctx); err != nil {
			return err
		}
	}
	document := doc.As[*doc.ReleaseRevocation](doc.Parse(file.Name, file.Data))
	r := document.Release
	return c.UI.Show(map[string]any{"release": r, "signer": document.Signer, "files": places, "locked": stapled}, func() {
		c.UI.Out("revoked %s %s (manifest %s): %s", r.Bundle, r.Version, r.Manifest, r.Why)
		for _, p := range places {
			c.UI.Out("revocation %s", fromHere(c, p))
		}
		showStapled(c.UI, stapled)
		if len(places) == 1 {
			c.UI.Note("Others do not know yet: give them the file, for rye bundle revoke --document FILE --in-project")
		}
	})
}

// releaseRevocation signs the revocation of a release, or takes over another's.
func releaseRevocation(ctx context.Context, c *cli.Call, h *project.Project) (trust.File, error) {
	if c.Str("document") != "" {
		return foreignRevocation(c, h)
	}
	if len(c.Args) < 2 {
		return trust.File{}, diag.New(diag.Usage, "reading arguments: %q needs ID and VERSION, or --document", "rye bundle revoke").
			WithHint("rye bundle list shows the ids; git tag -l shows the releases")
	}
	if strings.TrimSpace(c.Str("reason")) == "" {
		return trust.File{}, diag.New(diag.Usage, "revoking %s %s: --reason is missing", c.Arg(0), c.Arg(1)).
			WithHint("say in one line what is wrong: whoever uses the release will read it")
	}
	r, signers, err := releaseOf(ctx, c, h, c.Arg(0), strings.TrimPrefix(c.Arg(1), "v"))
	if err != nil {
		return trust.File{}, err
	}
	r.Why = c.Str("reason")
	signer, err := h.Signer(ctx)
	if err != nil {
		return trust.File{}, err
	}
	if key := sign.FingerprintOf(signer.Public()); !h.Trust.MayRevokeRelease(key, r.Bundle, signers) {
		return trust.File{}, diag.New(diag.Scope, "revoking %s %s: key %s did not sign %s %s, nor does it succeed a key that did, nor is it an anchor that may revoke its releases", r.Bundle, r.Version, key.Short(), r.Bundle, r.Version).
			WithHint("sign with --key of somebody who signed it; nobody else's revocation would count")
	}
	name, b, err := doc.NewReleaseRevocation(ctx, r, signer, c.Now())
	if err != nil {
		return trust.File{}, err
	}
	made := trust.File{Name: name, Data: b}
	return made, h.RecordDocuments(ctx, space.User, made)
}

// foreignRevocation reads a document that somebody who is known here signed.
func foreignRevocation(c *cli.Call, h *project.Project) (f trust.File, err error) {
	path := c.Path(c.Str("document"))
	b, err := os.ReadFile(path)
	if err != nil {
		return f, diag.New(diag.FileSystemError, "reading the revocation: %w", err)
	}
	document, fs := doc.ParseAnyName(b)
	if err := diag.FromFindings("reading the revocation", diag.WithPath(fs, path)); err != nil {
		return f, err
	}
	signer := document.Head().Signer
	if _, ok := document.(*doc.ReleaseRevocation); !ok {
		return f, diag.New(diag.Usage, "reading the revocation %q: it is a %s, not the revocation of a release", path, document.Head().Kind)
	}
	if _, known := h.Trust.Key(signer); !known {
		return f, diag.New(diag.KeyUnknown, "reading the revocation %q: no document of yours names key %s, which signed it", path, signer.Short()).
			WithHint("it would count for nothing; trust the publisher first: rye trust add FILE")
	}
	return trust.File{Name: document.Name(), Data: b}, nil
}

// releaseOf reads the manifest of a release and who claims to have signed it.
func releaseOf(ctx context.Context, c *cli.Call, h *project.Project, id, version string) (r doc.Release, signers []sign.Fingerprint, err error) {
	if item.CheckVersion(version) != nil {
		return r, nil, diag.New(diag.Usage, "reading arguments: the version %q is not MAJOR.MINOR.PATCH", version)
	}
	var text []byte
	if file := c.Str("manifest"); file != "" {
		file = c.Path(file)
		if text, err = os.ReadFile(file); err != nil {
			return r, nil, diag.New(diag.FileSystemError, "reading the manifest: %w", err)
		}
		signers = claimedBeside(file)
	} else if text, signers, err = taggedManifest(ctx, c, h, id, version); err != nil {
		return r, nil, err
	}
	in, fs := bundle.Inspect(text)
	if in == nil {
		return r, nil, diag.FromFindings("reading the manifest of "+id, fs)
	}
	if in.Manifest.ID != id || in.Manifest.Version != version {
		return r, nil, diag.New(diag.VersionMismatch, "revoking %s %s: the manifest is that of %s %s", id, version, in.Manifest.ID, in.Manifest.Version)
	}
	style := sign.Hash()
	sp, err := sign.SplitFile(text, style)
	if err != nil {
		return r, nil, err
	}
	r = doc.Release{Bundle: id, Version: version, Manifest: item.DigestOf(text), Content: item.Digest(sp.Digest())}
	return r, append(signers, in.Claimed...), nil
}

// taggedManifest reads a manifest from the tag of its release.
func taggedManifest(ctx context.Context, c *cli.Call, h *project.Project, id, version string) ([]byte, []sign.Fingerprint, error) {
	if _, err := h.NeedProject(); err != nil {
		return nil, nil, err
	}
	repo, err := envOf(c).Repo(ctx)
	if err != nil {
		return nil, nil, err
	}
	prefix := h.PrefixIn(repo)
	tag := prefix + "v" + version
	ref, err := repo.Tag(ctx, tag)
	if err != nil {
		return nil, nil, err
	}
	if ref.Commit == "" {
		return nil, nil, diag.New(diag.VersionNotFound, "revoking %s %s: there is no tag %s here", id, version, tag).
			WithHint("git fetch --tags, or name the manifest of that release: --manifest FILE")
	}
	files, err := verify.Revision(ctx, repo.Git, ref.Commit, prefix)
	if err != nil {
		return nil, nil, err
	}
	defer files.Close()
	tree, done, err := verify.BundleTree(files.Root())
	if err != nil {
		return nil, nil, err
	}
	defer done()
	text, _, err := tree.Read(bundle.ManifestPath(id), bundle.MaxManifest)
	if space.IsMissing(err) {
		return nil, nil, noBundle(h, id)
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := bundle.Signed(bundle.VerifyParams{Tree: tree, ID: id, JudgeBeside: verify.JudgeBeside(h.Trust, string(space.Project))})
	if err != nil {
		return nil, nil, err
	}
	var signers []sign.Fingerprint
	for _, s := range r.Signatures {
		signers = append(signers, s.Key)
	}
	return text, signers, nil
}

package main

import (
	"context"
	"os"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
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
	places, err := publish(h, c.Bool("in-project"), file)
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

// releaseRevocation signs the revocation of a release, or reads that of another
// signer.
func releaseRevocation(ctx context.Context, c *cli.Call, h *project.Project) (trust.File, error) {
	if c.Str("document") != "" {
		path := c.Path(c.Str("document"))
		b, err := os.ReadFile(path)
		if err != nil {
			return trust.File{}, diag.New(diag.FileSystemError, "reading the revocation: %w", err)
		}
		return release.ReadRevocation(h.Trust, path, b)
	}
	if len(c.Args) < 2 {
		return trust.File{}, diag.New(diag.Usage, "reading arguments: ID and VERSION, or --document, are required")
	}
	id, version := c.Arg(0), strings.TrimPrefix(c.Arg(1), "v")
	if strings.TrimSpace(c.Str("reason")) == "" {
		return trust.File{}, diag.New(diag.Usage, "revoking %s %s: --reason is missing", id, version)
	}
	if item.CheckVersion(version) != nil {
		return trust.File{}, diag.New(diag.Usage, "reading arguments: the version %q is not MAJOR.MINOR.PATCH", version)
	}
	signed, err := releaseOf(ctx, c, h, id, version)
	if err != nil {
		return trust.File{}, err
	}
	signer, err := h.Signer(ctx)
	if err != nil {
		return trust.File{}, err
	}
	made, err := release.Revoke(ctx, release.RevokeParams{
		Trust: h.Trust, ID: id, Version: version, Reason: c.Str("reason"), Release: signed, Signer: signer, Now: c.Now(),
	})
	if err != nil {
		return trust.File{}, err
	}
	return made, h.RecordDocuments(ctx, space.User, made)
}

// releaseOf reads the manifest of a release from --manifest or from its tag.
func releaseOf(ctx context.Context, c *cli.Call, h *project.Project, id, version string) (*release.Signed, error) {
	if file := c.Str("manifest"); file != "" {
		file = c.Path(file)
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, diag.New(diag.FileSystemError, "reading the manifest: %w", err)
		}
		return &release.Signed{Manifest: text, Cosigned: claimedBeside(file)}, nil
	}
	if _, err := h.NeedProject(); err != nil {
		return nil, err
	}
	repo, err := envOf(c).Repo(ctx)
	if err != nil {
		return nil, err
	}
	prefix := h.PrefixIn(repo)
	return release.Tagged(ctx, repo, prefix, id, version, func(ctx context.Context, commit string) (bundle.Tree, func(), error) {
		files, err := verify.Revision(ctx, repo.Git, commit, prefix)
		if err != nil {
			return nil, nil, err
		}
		tree, done, err := verify.BundleTree(files.Root())
		if err != nil {
			_ = files.Close()
			return nil, nil, err
		}
		return tree, func() { done(); _ = files.Close() }, nil
	})
}

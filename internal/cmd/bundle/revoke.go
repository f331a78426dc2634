package bundle

import (
	"context"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
	"github.com/ryeos/rye/verify"
)

// bundleRevokeOptions are the flags of rye bundle revoke.
type bundleRevokeOptions struct {
	reason, manifest, key, document string
	inProject                       bool
}

func bundleRevokeCommand() *cli.Command {
	var o bundleRevokeOptions
	return &cli.Command{
		Name:  "revoke",
		Usage: "revoke one release of a bundle",
		Args:  "[ID] [VERSION]",
		Long: `Revokes one release, not the key that signed it. Projects that have the revocation
refuse the release with REVOKED, even if it is locked and installed. The revocation is
valid if it is signed by a key that signed the release, by a successor of that key, or
by an anchor that may revoke.

The release is read from its tag in this repository, or from --manifest. --document
publishes a revocation of another signer. A revocation is permanent.`,
		Examples: []string{
			"rye bundle revoke acme-tools 1.2.0 --reason 'leaks a token' --in-project",
			"rye bundle revoke --document release-revocation.toml --in-project",
		},
		Codes: []diag.Code{
			diag.ItemNotFound,
			diag.VersionNotFound,
			diag.VersionMismatch,
			diag.AuthRequired,
			diag.Scope,
			diag.KeyUnknown,
		},
		Flags: []cli.Flag{
			cli.String(&o.reason, "reason", "publish this `REASON`, one line"),
			cli.String(&o.manifest, "manifest", "read the release's manifest from `FILE`, not from its tag"),
			cli.String(&o.key, "key", env.KeyUsage),
			cli.String(&o.document, "document", "publish the revocation in `FILE`, signed by another key"),
			cli.Bool(&o.inProject, "in-project", "also write it into the project's .ai/trust"),
		},
		Exclusive: [][]any{{&o.document, &o.reason}, {&o.document, &o.manifest}, {&o.document, &o.key}},
		Complete:  completeBundles,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runBundleRevoke(ctx, c, &o)
		},
	}
}

func runBundleRevoke(ctx context.Context, c *cli.Call, o *bundleRevokeOptions) error {
	h, err := env.WithKey(c, o.key).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	file, err := releaseRevocation(ctx, c, h, o)
	if err != nil {
		return err
	}
	files, err := env.AddDocuments(h, o.inProject, file)
	if err != nil {
		return err
	}
	stapled := false
	if o.inProject {
		if stapled, err = relock.Staple(ctx, h); err != nil {
			return err
		}
	}
	document := doc.As[*doc.ReleaseRevocation](doc.Parse(file.Name, file.Data))
	r := document.Release
	return c.UI.Show(
		map[string]any{
			"release": r,
			"signer":  document.Signer,
			"files":   files,
			"locked":  stapled,
		},
		func() {
			c.UI.Out("revoked %s %s (manifest %s): %s", r.Bundle, r.Version, r.Manifest, r.Why)
			for _, p := range files {
				c.UI.Out("revocation %s", env.FromHere(c, p))
			}
			env.ShowStapled(c.UI, stapled)
			if len(files) == 1 {
				c.UI.Note("Other people do not have it yet: send them the file for rye bundle revoke --document FILE --in-project")
			}
		},
	)
}

// releaseRevocation signs the revocation of a release, or reads one that another key signed.
func releaseRevocation(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *bundleRevokeOptions,
) (trust.File, error) {
	if o.document != "" {
		path := c.Path(o.document)
		b, err := openat.ReadBounded(path, openat.MaxText)
		if err != nil {
			return trust.File{}, diag.New(diag.FileSystemError, "reading the revocation: %w", err)
		}
		return release.ReadRevocation(h.Trust, path, b)
	}
	if len(c.Args) < 2 {
		return trust.File{}, diag.New(diag.Usage, "reading arguments: ID and VERSION, or --document, are required")
	}
	id := c.Arg(0)
	version := strings.TrimPrefix(c.Arg(1), "v")
	if strings.TrimSpace(o.reason) == "" {
		return trust.File{}, diag.New(diag.Usage, "revoking %s %s: --reason is missing", id, version)
	}
	if item.CheckVersion(version) != nil {
		return trust.File{}, diag.New(diag.Usage, "reading arguments: the version %q is not MAJOR.MINOR.PATCH", version)
	}
	signed, err := releaseOf(ctx, c, h, o.manifest, id, version)
	if err != nil {
		return trust.File{}, err
	}
	signer, err := h.Keys.SignerFor(ctx, "")
	if err != nil {
		return trust.File{}, err
	}
	made, err := release.Revoke(ctx, release.RevokeParams{
		Trust:   h.Trust,
		ID:      id,
		Version: version,
		Reason:  o.reason,
		Release: signed,
		Signer:  signer,
		Now:     c.Now(),
	})
	if err != nil {
		return trust.File{}, err
	}
	return made, h.Recorder().Documents(ctx, space.User, made)
}

// releaseOf reads the manifest of a release from file, or from its tag if file is
// empty.
func releaseOf(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	file, id, version string,
) (*release.Signed, error) {
	if file != "" {
		file = c.Path(file)
		text, err := openat.ReadBounded(file, openat.MaxText)
		if err != nil {
			return nil, diag.New(diag.FileSystemError, "reading the manifest: %w", err)
		}
		return &release.Signed{Manifest: text, Cosigned: claimedKeys(file)}, nil
	}
	if _, err := h.NeedProject(); err != nil {
		return nil, err
	}
	repo, err := env.Of(c).Repo(ctx)
	if err != nil {
		return nil, err
	}
	prefix := h.PrefixIn(repo)
	return release.Tagged(
		ctx,
		repo,
		prefix,
		id,
		version,
		func(ctx context.Context, commit string) (bundle.Tree, func(), error) {
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
		},
	)
}

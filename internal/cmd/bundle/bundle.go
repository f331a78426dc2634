package bundle

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/sign"
)

func Command() *cli.Command {
	return &cli.Command{
		Name:  "bundle",
		Group: "Packages",
		Usage: "create, sign, verify and publish signed sets of files",
		Subs: []*cli.Command{
			bundleCreateCommand(), bundleSignCommand(), bundleVerifyCommand(), bundleListCommand(), bundleInspectCommand(),
			bundlePublishCommand(), bundleRevokeCommand(), bundlePublisherCommand(),
		},
	}
}

// bundleCreateOptions are the flags of rye bundle create.
type bundleCreateOptions struct{ version, description, entrypoint, kind, key string }

func bundleCreateCommand() *cli.Command {
	var o bundleCreateOptions
	return &cli.Command{
		Name:  "create",
		Usage: "write and sign the manifest of a bundle",
		Args:  "ID [DIR]",
		Long: `The bundle is everything below .ai of DIR, which is the project by default. The
manifest lists each file with its digest, including files that cannot contain a
signature line. Flags change single values of an existing manifest; its other values
are kept. The same files give the same manifest. SOURCE_DATE_EPOCH adds a date.`,
		Examples: []string{"rye bundle create acme-tools --version 1.2.0 --description 'Tools of Acme'", "rye bundle create acme-tools"},
		Codes:    []diag.Code{diag.AuthRequired, diag.VersionMismatch, diag.NotRegular, diag.TooLarge},
		Flags: []cli.Flag{
			cli.String(&o.version, "version", "semantic `VERSION` (default 0.1.0)"),
			cli.String(&o.description, "description", "one line of `TEXT`"),
			cli.String(&o.entrypoint, "entrypoint", "`REF` of the item that a new user should run first"),
			cli.String(&o.kind, "type", "`TYPE` of the bundle (default package)"),
			cli.String(&o.key, "key", env.KeyUsage),
		},
		Complete: completeBundles,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runBundleCreate(ctx, c, &o)
		},
	}
}

// openBundle opens the directory that contains the bundle's .ai: arg, or the
// project if arg is empty. The caller closes the tree.
func openBundle(
	ctx context.Context,
	c *cli.Call,
	arg, key string,
) (h *project.Project, tree *bundle.FolderTree, dir string, err error) {
	if h, err = env.WithKey(c, key).Open(ctx, project.Lenient); err != nil {
		return nil, nil, "", err
	}
	dir = c.Path(arg)
	if arg == "" {
		root, err := h.NeedProject()
		if err != nil {
			return nil, nil, "", err
		}
		dir = root.Base
	}
	if tree, err = bundle.Folder(dir); err != nil {
		return nil, nil, "", diag.New(diag.FileSystemError, "opening the directory of the bundle: %w", err)
	}
	return h, tree, dir, nil
}

// sweepBundle removes the temporary files that killed processes of earlier versions
// left among the files of a bundle.
func sweepBundle(tree *bundle.FolderTree, dir string) {
	base := atomicfile.Project(dir)
	_ = tree.Walk(func(p string) bool {
		return strings.Contains(p, "@")
	}, func(p string, _ error) {
		if atomicfile.Temporary(path.Base(p)) {
			base.SweepIn(path.Dir(p))
		}
	})
}

func runBundleCreate(ctx context.Context, c *cli.Call, o *bundleCreateOptions) error {
	h, tree, dir, err := openBundle(ctx, c, c.Arg(1), o.key)
	if err != nil {
		return err
	}
	defer tree.Close()
	sweepBundle(tree, dir)
	id := c.Arg(0)
	params := bundleParams(c, h, o, tree, dir, id)
	leftOut := params.LeftOut
	left := []string{}
	params.LeftOut = func(ctx context.Context, paths []string) (map[string]bool, error) {
		found, err := leftOut(ctx, paths)
		left = append(left, slices.Sorted(maps.Keys(found))...)
		return found, err
	}
	body, err := bundle.Create(ctx, tree, params)
	if err != nil {
		return err
	}
	if err := deps.CheckEntrypoint(ctx, h, body); err != nil {
		return err
	}
	if err := deps.CheckItems(ctx, h, dir, body); err != nil {
		return err
	}
	signer, err := h.Keys.SignerFor(ctx, "release")
	if err != nil {
		return err
	}
	digest, err := signing.WriteManifest(ctx, h, dir, id, body, signer)
	if err != nil {
		return err
	}
	// Only now: the old manifest and its signatures stay together if signing fails.
	removed, err := removeVoidSignatures(tree, dir, id, body)
	if err != nil {
		return err
	}
	key := sign.FingerprintOf(signer.Public())
	document, err := release.BringKeyDocument(h.Trust, dir, key)
	if err != nil {
		return err
	}
	m, _ := bundle.Parse(body)
	file := bundle.ManifestPath(id)
	return c.UI.Show(
		map[string]any{
			"bundle":       m,
			"path":         file,
			"digest":       digest,
			"removed":      removed,
			"left_out":     left,
			"key_document": document,
		},
		func() {
			c.UI.Out(
				"%s %s: %s listed in %s",
				m.ID,
				m.Version,
				cli.Plural(len(m.Files), "file"),
				file,
			)
			showKeyDocument(c.UI, dir, key, document)
			for _, f := range localRequirements(dir) {
				c.UI.Note("%s:%d:%d: %s: rye bundle publish refuses it, because users do not have it", f.Path, f.Line, f.Column, f.Message)
			}
			if len(left) > 0 {
				c.UI.Note("left out: %s, which are records of runs or ignored by git", cli.Plural(len(left), "file"))
			}
			if len(removed) > 0 {
				c.UI.Note("removed %s of the previous manifest: ask the signers to run rye bundle sign %s again", cli.Plural(len(removed), "signature"), id)
			}
		},
	)
}

// showKeyDocument prints which document of the signer's key was written into the directory
// of the bundle, or that the directory has none.
func showKeyDocument(u *cli.UI, dir string, key sign.Fingerprint, wrote string) {
	switch {
	case wrote != "":
		u.Note("wrote %s: commit it, because users who do not have this key need it", wrote)
	case !release.HasKeyDocument(dir, key):
		u.Note("%s is missing, and this computer has no document of the key: users who do not have it cannot add the bundle", release.KeyDocument(key))
	}
}

// localRequirements returns findings about what the rye.yaml of a bundle requires and no
// user has. rye bundle publish refuses them; the author reads of them here.
func localRequirements(dir string) []diag.Finding {
	text, _, err := openat.Read(dir, lock.ProjectFileName, lock.MaxProjectFile)
	if err != nil {
		return nil // the file is not needed to create a manifest
	}
	m, _ := lock.ParseProjectFile(text)
	if m == nil {
		return nil
	}
	return diag.WithPath(release.LocalRequirements(m), lock.ProjectFileName)
}

// removeVoidSignatures removes the detached signatures that do not match body.
func removeVoidSignatures(tree bundle.Tree, dir, id string, body []byte) ([]string, error) {
	void, err := bundle.VoidCosignatures(tree, id, body)
	for _, at := range void {
		if err == nil {
			err = atomicfile.Project(dir).Remove(at)
		}
	}
	if err != nil {
		return nil, diag.Doing("removing signatures of the previous manifest", err)
	}
	return append([]string{}, void...), nil
}

// bundleParams returns the values of the existing manifest, changed by the flags.
func bundleParams(
	c *cli.Call,
	h *project.Project,
	o *bundleCreateOptions,
	tree bundle.Tree,
	dir, id string,
) bundle.Params {
	p := signing.ManifestParams(h, tree, dir, id)
	for flag, field := range map[*string]*string{
		&o.version: &p.Version, &o.description: &p.Description, &o.entrypoint: &p.Entrypoint, &o.kind: &p.Type,
	} {
		if c.Given(flag) {
			*field = *flag
		}
	}
	return p
}

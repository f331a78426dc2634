package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

func bundleCommand() *cli.Command {
	return &cli.Command{
		Name: "bundle", Group: "Packages",
		Usage: "create, sign, verify and publish signed sets of files",
		Subs: []*cli.Command{
			bundleCreateCommand(), bundleSignCommand(), bundleVerifyCommand(), bundleListCommand(), bundleInspectCommand(),
			bundlePublishCommand(), bundleRevokeCommand(), bundlePublisherCommand(),
		},
	}
}

func bundleCreateCommand() *cli.Command {
	return &cli.Command{
		Name: "create", Usage: "write and sign the manifest of a bundle", Args: "ID [DIR]",
		Long: `The bundle is everything below .ai of DIR (the project by default). The manifest
lists each file with its digest, also what cannot carry a signature of its own.
The same files give the same manifest; SOURCE_DATE_EPOCH adds a date. Values that
an existing manifest has are kept unless a flag changes them.`,
		Examples: []string{"rye bundle create acme-tools --version 1.2.0 --description 'Tools of Acme'", "rye bundle create acme-tools"},
		Codes:    []diag.Code{diag.AuthRequired, diag.VersionMismatch, diag.NotRegular, diag.TooLarge},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "version", Usage: "semantic `VERSION` (default 0.1.0)"},
			&cli.StringFlag{Name: "description", Usage: "one line of `TEXT`"},
			&cli.StringFlag{Name: "entrypoint", Usage: "`REF` that a newcomer should run first"},
			&cli.StringFlag{Name: "type", Usage: "`TYPE` of the bundle (default package)"},
			&cli.StringFlag{Name: "key", Usage: "sign with this `KEY`"},
		},
		Complete: completeBundles,
		Run:      runBundleCreate,
	}
}

// openBundle opens the folder that holds the bundle's .ai: the one named, or
// the project. Whoever calls it closes the tree.
func openBundle(ctx context.Context, c *cli.Call, arg string) (h *project.Project, tree *bundle.FolderTree, dir string, err error) {
	if h, err = envOf(c).Open(ctx, project.Lenient); err != nil {
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
		return nil, nil, "", diag.New(diag.FileSystemError, "opening bundle folder: %w", err)
	}
	return h, tree, dir, nil
}

func runBundleCreate(ctx context.Context, c *cli.Call) error {
	h, tree, dir, err := openBundle(ctx, c, c.Arg(1))
	if err != nil {
		return err
	}
	defer tree.Close()
	id := c.Arg(0)
	body, err := bundle.Create(ctx, tree, bundleParams(c, tree, id))
	if err != nil {
		return err
	}
	signer, err := h.Signer(ctx)
	if err != nil {
		return err
	}
	digest, err := writeManifest(ctx, c, h, dir, id, body, signer)
	if err != nil {
		return err
	}
	gone, err := removeVoid(tree, dir, id, body)
	if err != nil {
		return err
	}
	m, _ := bundle.Parse(body)
	file := bundle.ManifestPath(id)
	return c.UI.Show(map[string]any{"bundle": m, "path": file, "digest": digest, "removed": gone}, func() {
		c.UI.Out("%s %s: %s listed in %s", m.ID, m.Version, plural(len(m.Files), "file"), file)
		if len(gone) > 0 {
			c.UI.Note("%s of the manifest before %s gone: ask for rye bundle sign %s again", plural(len(gone), "signature"), isOrAre(len(gone)), id)
		}
	})
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// removeVoid removes the further signatures of a manifest that is no more.
func removeVoid(tree bundle.Tree, dir, id string, body []byte) ([]string, error) {
	void, err := bundle.VoidCosignatures(tree, id, body)
	for _, at := range void {
		if err == nil {
			err = os.Remove(filepath.Join(dir, filepath.FromSlash(at)))
		}
	}
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "removing signatures of the manifest before: %w", err)
	}
	return append([]string{}, void...), nil
}

// bundleParams starts from the manifest that is there.
func bundleParams(c *cli.Call, tree bundle.Tree, id string) bundle.Params {
	p := bundle.Params{Version: "0.1.0"}
	if b, _, err := tree.Read(bundle.ManifestPath(id), bundle.MaxManifest); err == nil {
		if m, _ := bundle.Parse(b); m != nil {
			p = bundle.ParamsOf(m)
		}
	}
	p.ID = id
	for flag, field := range map[string]*string{
		"version": &p.Version, "description": &p.Description, "entrypoint": &p.Entrypoint, "type": &p.Type,
	} {
		if c.IsSet(flag) {
			*field = c.Str(flag)
		}
	}
	if epoch := c.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		p.SourceDateEpoch = epoch
	}
	if tree.Modes() {
		p.Executable = nil // the files themselves tell
	}
	return p
}

// writeManifest signs the body; the signature of an unchanged body stays.
func writeManifest(ctx context.Context, c *cli.Call, h *project.Project, dir, id string, body []byte, s sign.Signer) (item.Digest, error) {
	file := filepath.Join(dir, filepath.FromSlash(bundle.ManifestPath(id)))
	style := sign.Hash()
	in := body
	if old, err := os.ReadFile(file); err == nil {
		if sp, err := sign.SplitFile(old, style); err == nil && sp.Signed && string(sp.Body()) == string(body) {
			in = old
		}
	}
	out, changed, err := sign.Sign(ctx, in, style, bundle.Subject(id), s, c.Now())
	if err == nil && changed {
		err = h.RecordManifest(ctx, dir, bundle.Subject(id), item.DigestOf(out), s)
	}
	if err != nil {
		return item.Digest{}, err
	}
	if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		atomicfile.Sweep(filepath.Dir(file), c.Now().Add(-atomicfile.Abandoned))
		err = atomicfile.Write(file, out, 0o644)
	}
	if err != nil {
		return item.Digest{}, diag.New(diag.FileSystemError, "writing the manifest: %w", err)
	}
	return item.DigestOf(out), nil
}

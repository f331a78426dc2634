package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

func bundleCommand() *command {
	return &command{
		name: "bundle", group: "Packages",
		usage: "create, sign, verify and publish signed sets of files",
		subs: []*command{
			bundleCreateCommand(), bundleSignCommand(), bundleVerifyCommand(), bundleListCommand(), bundleInspectCommand(),
			bundlePublishCommand(), bundleRevokeCommand(), bundlePublisherCommand(),
		},
	}
}

func bundleCreateCommand() *command {
	return &command{
		name: "create", usage: "write and sign the manifest of a bundle", args: "ID [DIR]",
		long: `The bundle is everything below .ai of DIR (the project by default). The manifest
lists each file with its digest, also what cannot carry a signature of its own.
The same files give the same manifest; SOURCE_DATE_EPOCH adds a date. Values that
an existing manifest has are kept unless a flag changes them.`,
		examples: []string{"rye bundle create acme-tools --version 1.2.0 --description 'Tools of Acme'", "rye bundle create acme-tools"},
		codes:    []diag.Code{diag.AuthRequired, diag.VersionMismatch, diag.NotRegular, diag.TooLarge},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "version", Usage: "semantic `VERSION` (default 0.1.0)"},
			&cli.StringFlag{Name: "description", Usage: "one line of `TEXT`"},
			&cli.StringFlag{Name: "entrypoint", Usage: "`REF` that a newcomer should run first"},
			&cli.StringFlag{Name: "type", Usage: "`TYPE` of the bundle (default package)"},
			&cli.StringFlag{Name: "key", Usage: "sign with this `KEY`"},
		},
		complete: completeBundles,
		run:      runBundleCreate,
	}
}

// openBundle opens the folder that holds the bundle's .ai: the one named, or
// the project. Whoever calls it closes the tree.
func (c *call) openBundle(ctx context.Context, arg string) (h *house, tree *bundle.FolderTree, dir string, err error) {
	if h, err = c.house(ctx, lenient); err != nil {
		return nil, nil, "", err
	}
	dir = c.path(arg)
	if arg == "" {
		root, err := h.needProject()
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

func runBundleCreate(ctx context.Context, c *call) error {
	h, tree, dir, err := c.openBundle(ctx, c.arg(1))
	if err != nil {
		return err
	}
	defer tree.Close()
	id := c.arg(0)
	body, err := bundle.Create(ctx, tree, c.bundleParams(tree, id))
	if err != nil {
		return err
	}
	signer, err := c.signer(ctx, h)
	if err != nil {
		return err
	}
	digest, err := c.writeManifest(ctx, h, dir, id, body, signer)
	if err != nil {
		return err
	}
	gone, err := removeVoid(tree, dir, id, body)
	if err != nil {
		return err
	}
	m, _ := bundle.Parse(body)
	file := bundle.ManifestPath(id)
	return c.ui.Show(map[string]any{"bundle": m, "path": file, "digest": digest, "removed": gone}, func() {
		c.ui.Out("%s %s: %s listed in %s", m.ID, m.Version, plural(len(m.Files), "file"), file)
		if len(gone) > 0 {
			c.ui.Note("%s of the manifest before %s gone: ask for rye bundle sign %s again", plural(len(gone), "signature"), isOrAre(len(gone)), id)
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
func (c *call) bundleParams(tree bundle.Tree, id string) bundle.Params {
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
		if c.isSet(flag) {
			*field = c.str(flag)
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
func (c *call) writeManifest(ctx context.Context, h *house, dir, id string, body []byte, s sign.Signer) (item.Digest, error) {
	file := filepath.Join(dir, filepath.FromSlash(bundle.ManifestPath(id)))
	style, _ := sign.StyleByName("#")
	in := body
	if old, err := os.ReadFile(file); err == nil {
		if sp, err := sign.SplitFile(old, style); err == nil && sp.Signed && string(sp.Body()) == string(body) {
			in = old
		}
	}
	out, changed, err := sign.Sign(ctx, in, style, bundle.Subject(id), s, c.Now())
	if err == nil && changed {
		err = c.recordManifest(ctx, h, dir, bundle.Subject(id), item.DigestOf(out), s)
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

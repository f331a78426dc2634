package trust

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func trustEndorseCommand() *cli.Command {
	var o ask.PermissionOptions
	return &cli.Command{
		Name:  "endorse",
		Usage: "endorse a key for everyone who trusts you as an anchor",
		Args:  "FILE|KEY",
		Long: `Writes the key's document, your own document and your endorsement into the project's
.ai/trust. The endorsement applies for people who permit your key to endorse, within
the scopes of the document, the endorsement and your key. KEY is a fingerprint, the
beginning of one, or an owner, of a key that the project or you already have.`,
		Examples: []string{
			"rye trust endorse leo.toml --kinds tool,directive --namespaces 'leo/**' --until 90d",
			"rye trust endorse 4f3a --kinds bundle,tool --namespaces 'tools,gh/**' --may sign",
		},
		Codes: []diag.Code{diag.ItemNotFound, diag.KeyUnknown, diag.Scope, diag.AuthRequired},
		Flags: o.Flags("endorsement"),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runTrustEndorse(ctx, c, &o)
		},
	}
}

func runTrustEndorse(ctx context.Context, c *cli.Call, o *ask.PermissionOptions) error {
	e := env.Of(c)
	e.Key = o.Key
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	dir, err := h.ProjectTrust()
	if err != nil {
		return err
	}
	document, b, err := documentOf(c, h, c.Arg(0))
	if err != nil {
		return err
	}
	o.Use = "endorse"
	p, signer, err := permission(ctx, c, h, document, b, o)
	if err != nil {
		return err
	}
	if err := env.MustAnchor(h, signer, "endorse"); err != nil {
		return err
	}
	name, endorsement, err := doc.NewEndorsement(ctx, p, signer)
	if err != nil {
		return err
	}
	err = h.Recorder().Documents(ctx, space.Project, trust.File{Name: name, Data: endorsement})
	if err != nil {
		return err
	}
	_, err = trust.AddToProject(dir, document.Name(), b)
	if err != nil {
		return err
	}
	if err := copyAnchor(h, dir, signer); err != nil {
		return err
	}
	at, err := trust.AddToProject(dir, name, endorsement)
	if err != nil {
		return err
	}
	return c.UI.Show(
		map[string]any{
			"fingerprint": document.Fingerprint,
			"owner":       document.Owner,
			"scope":       p.Scope,
			"endorsement": at,
		},
		func() {
			c.UI.Out(
				"endorsing %s (%s) for %s",
				document.Fingerprint.Short(),
				document.Owner,
				p.Scope.String(),
			)
			c.UI.Out("endorsement %s", env.FromHere(c, at))
			c.UI.Note("Commit .ai/trust: the endorsement applies for people who permit your key to endorse.")
		},
	)
}

// copyAnchor copies the signer's own document into the directory, so that a machine
// that has only its fingerprint finds the document.
func copyAnchor(h *project.Project, dir string, signer sign.Signer) error {
	documents := h.Trust.Documents(sign.FingerprintOf(signer.Public()))
	if len(documents) == 0 {
		return nil
	}
	b, err := openat.ReadRegular(documents[0].Path, openat.MaxText)
	if err != nil {
		return noDocument(err)
	}
	_, err = trust.AddToProject(dir, documents[0].Name(), b)
	return err
}

// documentOf returns the key document in a file, or the document of a key that the
// user or the project has.
func documentOf(
	c *cli.Call,
	h *project.Project,
	word string,
) (*doc.Key, []byte, error) {
	path := c.Path(word)
	b, err := openat.ReadBounded(path, openat.MaxText)
	if err == nil {
		document, err := env.ProposedKey(path, b)
		fp, known := env.AnyKey(h, word)
		if err == nil && known == nil && fp != document.Fingerprint {
			return nil, nil, diag.New(
				diag.Usage,
				"finding key %q: %s is a file with the key %s and the owner of the key %s",
				word,
				word,
				document.Fingerprint.Short(),
				fp.Short(),
			).
				WithReason("file_or_key").
				WithDetail("word", word)
		}
		return document, b, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, diag.New(diag.FileSystemError, "reading trust document: %w", err)
	}
	fp, err := env.AnyKey(h, word)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range h.Trust.Documents(fp) {
		if b, err = openat.ReadRegular(d.Path, openat.MaxText); err == nil {
			document, err := env.ProposedKey(filepath.Base(d.Path), b)
			return document, b, err
		}
	}
	return nil, nil, diag.New(diag.KeyUnknown, "finding key %s: its document is not available", fp.Short()).WithReason("name_file")
}

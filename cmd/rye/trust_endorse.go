package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func trustEndorseCommand() *cli.Command {
	return &cli.Command{
		Name: "endorse", Usage: "vouch for another's key to everybody who has you as an anchor", Args: "FILE|KEY",
		Long: `Writes the key's document, yours and your endorsement into the project's
.ai/trust. It counts for whoever lets your key endorse, within what the document,
the endorsement and your own scope all allow. KEY is a fingerprint, the beginning
of one, or an owner, of a key that the project or you know already.`,
		Examples: []string{
			"rye trust endorse leo.toml --kinds tool,directive --namespaces 'leo/**' --until 90d",
			"rye trust endorse 4f3a --kinds '*' --namespaces '**' --may sign",
		},
		Codes: []diag.Code{diag.ItemNotFound, diag.KeyUnknown, diag.Scope, diag.AuthRequired},
		Flags: vouchFlags("endorsement"),
		Run:   runTrustEndorse,
	}
}

// vouchFlags are what a grant and an endorsement have in common.
func vouchFlags(what string) []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "kinds", Usage: "`KINDS` of items, separated by commas; * is every kind"},
		&cli.StringSliceFlag{Name: "namespaces", Usage: "`GLOBS` over ids, such as acme/**"},
		&cli.StringSliceFlag{Name: "may", Usage: "`USES`: sign, release, endorse, rotate, revoke, provider (default sign,release)"},
		&cli.StringFlag{Name: "until", Usage: "end of the " + what + ": a date, or a `LENGTH` such as 90d"},
		&cli.StringFlag{Name: "key", Usage: "sign the " + what + " with this own `KEY`"},
	}
}

func runTrustEndorse(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
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
	p, signer, err := vouching(ctx, c, h, document, b)
	if err != nil {
		return err
	}
	if err := mustAnchor(h, signer, "endorse"); err != nil {
		return err
	}
	name, endorsement, err := doc.NewEndorsement(ctx, p, signer)
	if err != nil {
		return err
	}
	if err := h.RecordDocuments(ctx, space.Project, trust.File{Name: name, Data: endorsement}); err != nil {
		return err
	}
	if _, err := trust.AddToProject(dir, document.Name(), b); err != nil {
		return err
	}
	if err := copyAnchor(h, dir, signer); err != nil {
		return err
	}
	at, err := trust.AddToProject(dir, name, endorsement)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"fingerprint": document.Fingerprint, "owner": document.Owner, "scope": p.Scope, "endorsement": at}, func() {
		c.UI.Out("endorsing %s (%s) for %s", document.Fingerprint.Short(), document.Owner, p.Scope.String())
		c.UI.Out("endorsement %s", fromHere(c, at))
		c.UI.Note("Commit .ai/trust: it counts for everybody who lets your key endorse.")
	})
}

// copyAnchor puts the endorser's own document beside, so that a machine which
// knows nothing but its fingerprint finds it.
func copyAnchor(h *project.Project, dir string, signer sign.Signer) error {
	for _, d := range h.Trust.Documents(sign.FingerprintOf(signer.Public())) {
		b, err := os.ReadFile(d.Path)
		if err != nil {
			return diag.New(diag.FileSystemError, "reading trust document: %w", err)
		}
		_, err = trust.AddToProject(dir, d.Name(), b)
		return err
	}
	return nil
}

// mustAnchor refuses to write what nobody would heed.
func mustAnchor(h *project.Project, signer sign.Signer, use string) error {
	fp := sign.FingerprintOf(signer.Public())
	if h.Trust.Anchors(fp, use) {
		return nil
	}
	return diag.New(diag.Scope, "using key %s: it may not %s", fp.Short(), use).
		WithHint("rye key new --may sign,release,%s makes a key that may; others let it with rye trust add --may %s", use, use)
}

// documentOf returns a key document by its file, or by the key when you or the
// project hold one.
func documentOf(c *cli.Call, h *project.Project, word string) (*doc.Key, []byte, error) {
	path := c.Path(word)
	b, err := os.ReadFile(path)
	if err == nil {
		document, err := proposedKey(path, b)
		if fp, known := anyKey(h, word); err == nil && known == nil && fp != document.Fingerprint {
			return nil, nil, diag.New(diag.Usage, "finding key %q: %s is a file with the key %s and the owner of the key %s", word, word, document.Fingerprint.Short(), fp.Short()).
				WithHint("name the file as ./%s, or the key by its fingerprint", word)
		}
		return document, b, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, diag.New(diag.FileSystemError, "reading trust document: %w", err)
	}
	fp, err := anyKey(h, word)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range h.Trust.Documents(fp) {
		if b, err = os.ReadFile(d.Path); err == nil {
			document, err := proposedKey(filepath.Base(d.Path), b)
			return document, b, err
		}
	}
	return nil, nil, diag.New(diag.KeyUnknown, "finding key %s: no document about it is here", fp.Short()).WithHint("name the document's file")
}

// anyKey picks a key by fingerprint prefix or owner among all that documents
// name, the project's too.
func anyKey(h *project.Project, word string) (sign.Fingerprint, error) {
	found := map[sign.Fingerprint]bool{}
	match := func(fp sign.Fingerprint, owner string) {
		if strings.HasPrefix(fp.String(), strings.ToLower(word)) || owner == word {
			found[fp] = true
		}
	}
	for _, k := range h.Trust.Keys() {
		if k.Tier != trust.TierEmbedded {
			match(k.Fingerprint, k.Owner)
		}
	}
	for _, p := range h.Trust.Proposals() {
		if p.Kind == doc.KindKey {
			match(p.Fingerprint, p.Owner)
		}
	}
	if len(found) != 1 {
		return sign.Fingerprint{}, diag.New(diag.KeyUnknown, "finding key %q: %d of the keys known here match", word, len(found)).WithHint("rye trust list shows them")
	}
	for fp := range found {
		return fp, nil
	}
	return sign.Fingerprint{}, nil
}

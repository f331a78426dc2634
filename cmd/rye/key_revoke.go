package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func keyRevokeCommand() *cli.Command {
	return &cli.Command{
		Name: "revoke", Usage: "declare that a key counts no longer", Args: "[KEY]",
		Long: `KEY is a fingerprint, the beginning of one, or an owner; without it, your only
own key. A compromised key loses all its signatures; a superseded or retired one
those from --at on. For a compromised key of yours the certificate that was made
with it is published, so neither the private key nor its passphrase is needed.
Another's key is revoked with a key of yours that may revoke. Revoking cannot be
taken back.`,
		Examples: []string{
			"rye key revoke 4f3a --reason compromised --in-project",
			"rye key revoke --reason retired --at 2026-12-31",
			"rye key revoke leo --reason compromised --certificate /media/usb/revocation.toml",
		},
		Codes: []diag.Code{diag.AuthRequired, diag.KeyUnknown, diag.Scope, diag.ConfigError},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "`WHY`: compromised, superseded or retired"},
			&cli.StringFlag{Name: "at", Usage: "from which `TIME` on: a date or a time (default now)"},
			&cli.StringFlag{Name: "certificate", Usage: "publish the revocation in `FILE`"},
			&cli.StringFlag{Name: "key", Usage: "sign another's revocation with this own `KEY`"},
			&cli.BoolFlag{Name: "in-project", Usage: "write it into the project's .ai/trust as well"},
		},
		Complete: completeKeys(true),
		Run:      runKeyRevoke,
	}
}

func runKeyRevoke(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	fp, own, err := revokedKey(h, c.Arg(0))
	if err != nil {
		return err
	}
	name, b, err := revocation(ctx, c, h, fp, own)
	if err != nil {
		return err
	}
	places, err := publish(c, h, trust.File{Name: name, Data: b})
	if err != nil {
		return err
	}
	stapled := false
	if c.Bool("in-project") {
		if stapled, err = h.Staple(ctx); err != nil {
			return err
		}
	}
	document := doc.As[*doc.Revocation](doc.Parse(name, b))
	data := map[string]any{"fingerprint": fp, "reason": document.Reason, "cut_off": document.CutOff, "files": places, "locked": stapled}
	return c.UI.Show(data, func() {
		c.UI.Out("revoked %s as %s", fp.Short(), string(document.Reason))
		for _, p := range places {
			c.UI.Out("revocation %s", p)
		}
		showStapled(c.UI, stapled)
		if len(places) == 1 && h.Spaces.ProjectDir != "" {
			c.UI.Note("Others do not know yet: --in-project writes it into the project's .ai/trust.")
		}
	})
}

// revokedKey picks an own key in whatever state, or a key known here.
func revokedKey(h *project.Project, word string) (fp sign.Fingerprint, own bool, err error) {
	if word == "" {
		fp, err = h.OwnKey("")
		return fp, true, err
	}
	if fp, err = anyKey(h, word); err != nil {
		return fp, false, err
	}
	info, _ := h.Trust.Key(fp)
	return fp, info.Own, nil
}

// publish writes documents into the user's trust folder, and with --in-project
// into the project's.
func publish(c *cli.Call, h *project.Project, files ...trust.File) ([]string, error) {
	var places []string
	for _, f := range files {
		at, err := trust.AddDocument(h.Dirs.Trust(), f.Name, f.Data)
		if err != nil {
			return places, err
		}
		places = append(places, at)
	}
	if !c.Bool("in-project") {
		return places, nil
	}
	dir, err := h.ProjectTrust()
	if err != nil {
		return places, err
	}
	for _, f := range files {
		at, err := trust.AddToProject(dir, f.Name, f.Data)
		if err != nil {
			return places, err
		}
		places = append(places, at)
	}
	return places, nil
}

// revocation finds the certificate, or signs a revocation.
func revocation(ctx context.Context, c *cli.Call, h *project.Project, fp sign.Fingerprint, own bool) (string, []byte, error) {
	p := doc.RevocationParams{Key: fp, Reason: doc.Reason(c.Str("reason")), Now: c.Now()}
	if path := c.Str("certificate"); path != "" {
		return certificate(c.Path(path), fp)
	}
	switch p.Reason {
	case doc.ReasonCompromised, doc.ReasonSuperseded, doc.ReasonRetired:
	case "":
		return "", nil, diag.New(diag.Usage, "revoking key %s: --reason is missing", fp.Short()).
			WithHint("--reason compromised voids everything the key ever signed; superseded and retired only what it signs from --at on")
	default:
		return "", nil, diag.New(diag.Usage, "revoking key %s: --reason %q is not compromised, superseded or retired", fp.Short(), p.Reason).
			WithHint("compromised voids everything the key ever signed; the others only what it signs from --at on")
	}
	if text := c.Str("at"); text != "" {
		var err error
		if p.CutOff, err = until(text, c.Now()); err != nil {
			return "", nil, err
		}
	}
	if own && p.Reason == doc.ReasonCompromised && c.Str("at") == "" && c.Str("key") == "" {
		name, b, err := certificate(filepath.Join(h.Dirs.Keys(), doc.FileName(doc.KindRevocation, fp)), fp)
		if !errors.Is(err, fs.ErrNotExist) {
			return name, b, err
		}
	}
	signer, err := revoker(ctx, c, h, fp, own)
	if err != nil {
		return "", nil, err
	}
	name, b, err := doc.NewRevocation(ctx, p, signer)
	if err == nil {
		err = h.RecordDocuments(ctx, space.User, trust.File{Name: name, Data: b})
	}
	return name, b, err
}

// revoker returns what signs: the key itself where it is one's own, else a key
// that may revoke.
func revoker(ctx context.Context, c *cli.Call, h *project.Project, fp sign.Fingerprint, own bool) (sign.Signer, error) {
	if own && c.Str("key") == "" {
		return h.SignerOf(ctx, fp)
	}
	signer, err := h.Signer(ctx)
	if err != nil || h.Trust.Succeeds(sign.FingerprintOf(signer.Public()), fp) {
		return signer, err
	}
	return signer, mustAnchor(h, signer, "revoke")
}

// certificate reads a revocation that was signed before.
func certificate(path string, fp sign.Fingerprint) (string, []byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", nil, diag.New(diag.FileSystemError, "reading the revocation certificate: %w", err)
	}
	document, findings := doc.ParseAnyName(b)
	for i := range findings {
		findings[i].Path = path
	}
	if err := diag.FromFindings("reading the revocation certificate", findings); err != nil {
		return "", nil, err
	}
	revocation, ok := document.(*doc.Revocation)
	switch {
	case !ok:
		return "", nil, diag.New(diag.Usage, "reading the revocation certificate %q: it is no revocation", path)
	case revocation.Fingerprint != fp:
		return "", nil, diag.New(diag.Usage, "reading the revocation certificate %q: it revokes key %s, not %s", path, revocation.Fingerprint.Short(), fp.Short())
	}
	return document.Name(), b, nil
}

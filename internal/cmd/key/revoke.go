package key

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// revokeOptions are the flags of rye key revoke.
type revokeOptions struct {
	reason               doc.Reason
	at, certificate, key string
	inProject            bool
}

func keyRevokeCommand() *cli.Command {
	var o revokeOptions
	return &cli.Command{
		Name:  "revoke",
		Usage: "revoke a key",
		Args:  "[KEY]",
		Long: `KEY is a fingerprint, the beginning of one, or an owner; without it, your only own
key. All signatures of a compromised key become invalid; of a superseded or retired
key those from --at on. A revocation is permanent.

For a compromised key of your own, rye publishes the certificate that was made with
the key, so that you need neither the private key nor its passphrase. To revoke the
key of another person you need a key that may revoke.`,
		Examples: []string{
			"rye key revoke 4f3a --reason compromised --in-project",
			"rye key revoke --reason retired --at 2026-12-31",
			"rye key revoke leo --reason compromised --certificate /media/usb/revocation.toml",
		},
		Codes: []diag.Code{diag.AuthRequired, diag.ItemNotFound, diag.KeyUnknown, diag.Scope, diag.ConfigError},
		Flags: []cli.Flag{
			cli.String(&o.reason, "reason", "`REASON`: compromised, superseded or retired"),
			cli.String(&o.at, "at", "first invalid `TIME`, a date or a time (default now)"),
			cli.String(&o.certificate, "certificate", "publish the revocation in `FILE`"),
			cli.String(&o.key, "key", "sign the revocation of another person's key with `KEY`"),
			cli.Bool(&o.inProject, "in-project", "also write it into the project's .ai/trust"),
		},
		Complete: complete.Keys(true),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runKeyRevoke(ctx, c, &o)
		},
	}
}

func runKeyRevoke(ctx context.Context, c *cli.Call, o *revokeOptions) error {
	e := env.Of(c)
	e.Key = o.key
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	fp, owned, err := revokedKey(h, c.Arg(0))
	if err != nil {
		return err
	}
	name, b, err := revocation(ctx, c, h, fp, owned, o)
	if err != nil {
		return err
	}
	places, err := env.AddDocuments(h, o.inProject, trust.File{Name: name, Data: b})
	if err != nil {
		return err
	}
	stapled := false
	if o.inProject {
		if stapled, err = relock.Staple(ctx, h); err != nil {
			return err
		}
	}
	document := doc.As[*doc.Revocation](doc.Parse(name, b))
	data := map[string]any{
		"fingerprint": fp,
		"reason":      document.Reason,
		"cut_off":     document.CutOff,
		"files":       places,
		"locked":      stapled,
	}
	return c.UI.Show(data, func() {
		c.UI.Out("revoked %s as %s", fp.Short(), string(document.Reason))
		for _, p := range places {
			c.UI.Out("revocation %s", p)
		}
		env.ShowStapled(c.UI, stapled)
		if len(places) == 1 && h.Spaces.ProjectDir != "" {
			c.UI.Note("Other people do not have it yet: --in-project writes it into the project's .ai/trust.")
		}
	})
}

// revokedKey returns an own key in any state, or a key that documents name.
func revokedKey(h *project.Project, word string) (fp sign.Fingerprint, owned bool, err error) {
	if word == "" {
		fp, err = h.Keys.OwnKey("")
		return fp, true, err
	}
	if fp, err = env.AnyKey(h, word); err != nil {
		return fp, false, err
	}
	info, _ := h.Trust.Key(fp)
	return fp, info.Own, nil
}

// revocation finds the certificate, or signs a revocation.
func revocation(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	fp sign.Fingerprint,
	owned bool,
	o *revokeOptions,
) (string, []byte, error) {
	p := doc.RevocationParams{Key: fp, Reason: o.reason, Now: c.Now()}
	if o.certificate != "" {
		return certificate(c.Path(o.certificate), fp)
	}
	switch p.Reason {
	case doc.ReasonCompromised, doc.ReasonSuperseded, doc.ReasonRetired:
	case "":
		return "", nil, diag.New(diag.Usage, "revoking key %s: --reason is missing", fp.Short()).WithReason("revoke_reason")
	default:
		return "", nil, diag.New(diag.Usage, "revoking key %s: --reason %q is not compromised, superseded or retired", fp.Short(), p.Reason).
			WithReason("revoke_reason")
	}
	if o.at != "" {
		var err error
		if p.CutOff, err = env.Until(o.at, c.Now()); err != nil {
			return "", nil, err
		}
	}
	if owned && p.Reason == doc.ReasonCompromised && o.at == "" && o.key == "" {
		name, b, err := certificate(
			filepath.Join(h.Dirs.Keys(), doc.FileName(doc.KindRevocation, fp)),
			fp,
		)
		if !errors.Is(err, fs.ErrNotExist) {
			return name, b, err
		}
	}
	signer, err := revoker(ctx, h, fp, owned && o.key == "")
	if err != nil {
		return "", nil, err
	}
	name, b, err := doc.NewRevocation(ctx, p, signer)
	if err == nil {
		err = h.Recorder().Documents(ctx, space.User, trust.File{Name: name, Data: b})
	}
	return name, b, err
}

// revoker returns the signer of a revocation: the key itself, or else the user's key,
// which must be a successor or permitted to revoke.
func revoker(
	ctx context.Context,
	h *project.Project,
	fp sign.Fingerprint,
	itself bool,
) (sign.Signer, error) {
	if itself {
		return h.Keys.SignerOf(ctx, fp)
	}
	signer, err := h.Keys.SignerFor(ctx, "revoke")
	if err != nil || h.Trust.Succeeds(sign.FingerprintOf(signer.Public()), fp) {
		return signer, err
	}
	return signer, env.MustAnchor(h, signer, "revoke")
}

// certificate reads a revocation that was signed before.
func certificate(path string, fp sign.Fingerprint) (string, []byte, error) {
	b, err := openat.ReadBounded(path, openat.MaxText)
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
		return "", nil, diag.New(diag.Usage, "reading the revocation certificate %q: it is not a revocation", path)
	case revocation.Fingerprint != fp:
		return "", nil, diag.New(
			diag.Usage,
			"reading the revocation certificate %q: it revokes key %s, not %s",
			path,
			revocation.Fingerprint.Short(),
			fp.Short(),
		)
	}
	return document.Name(), b, nil
}

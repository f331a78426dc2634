package key

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
	"github.com/ryeos/rye/verify"
)

func keyRotateCommand() *cli.Command {
	o := KeyOptions{Expires: DefaultExpiry, Kind: KeyUser}
	inProject := false
	repeat := false
	return &cli.Command{
		Name:  "rotate",
		Usage: "replace a key by a successor",
		Args:  "[KEY]",
		Long: `Makes a new key with the owner and scope of the old one, a rotation that both keys
sign, and a revocation of the old key as superseded from now on. Earlier signatures
of the old key stay valid.

People who permit the old key to rotate trust the new key automatically, up to 16
times, within the scope and time of their grant; all others must trust the new key
again. The command lists the project's files that the old key signed; --resign signs those
that are unchanged since, manifests and endorsements with the new key.`,
		Examples: []string{"rye key rotate", "rye key rotate --resign --in-project", "rye key rotate 4f3a --expires 2y --in-project"},
		Codes:    []diag.Code{diag.AuthRequired, diag.ConfigError},
		Flags: []cli.Flag{
			cli.String(&o.Expires, "expires", "`LENGTH` of validity of the new key, at most 3y"),
			cli.Lists(&o.may, "may", "add `USES` to the uses of the old key"),
			cli.Bool(&o.NoPassphrase, "no-passphrase", "write the private key unencrypted"),
			cli.Bool(&repeat, "resign", "sign again what the old key signed in the project"),
			cli.Bool(&inProject, "in-project", "also write the documents into the project's .ai/trust"),
		},
		Complete: complete.Keys(true),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runKeyRotate(ctx, c, &o, inProject, repeat)
		},
	}
}

// rotated is the result of a rotation.
type rotated struct {
	Old    string   `json:"old"`
	New    NewKey   `json:"new"`
	Files  []string `json:"files"`
	Resign []string `json:"resign"` // paths of the project that the old key signed
}

func runKeyRotate(ctx context.Context, c *cli.Call, o *KeyOptions, inProject, repeat bool) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	old, err := h.Keys.OwnKey(c.Arg(0))
	if err != nil {
		return err
	}
	if inProject {
		if _, err := h.ProjectTrust(); err != nil {
			return err
		}
	}
	signer, err := h.Keys.SignerOf(ctx, old)
	if err != nil {
		return err
	}
	signed, changed, newest, err := filesSignedBy(ctx, c, h, old)
	if err != nil {
		return err
	}
	err = waitFor(ctx, newest.Add(time.Second).Sub(c.Now()))
	if err != nil {
		return err
	}
	todo := slices.Concat([]string{}, signed, changed)
	was := h.Trust.Documents(old)[0]
	scope := was.Scope
	info, _ := h.Trust.Key(old)
	if !info.Agent() {
		scope.May = union(scope.May, append(o.may, "rotate")) // keys of earlier versions lack it
	}
	made, err := prepareKey(
		ctx,
		c,
		h,
		NewKey{Owner: was.Owner, Kind: KeyUser},
		scope,
		o,
	)
	if err != nil {
		return err
	}
	defer made.wipe()
	files, err := succession(ctx, c, signer, made)
	if err != nil {
		return err
	}
	if err := h.Recorder().Documents(ctx, space.User, append([]trust.File{made.document, made.grant, made.revocation}, files...)...); err != nil {
		return err
	}
	if err := made.install(ctx, h, files...); err != nil {
		return err
	}
	if h.Keys.DefaultKey() == old {
		if _, err := h.Keys.SetDefaultKey(made.fingerprint); err != nil {
			return err
		}
	}
	places, err := publishRotation(h, inProject, made.fingerprint, append(
		[]trust.File{made.document},
		files...,
	))
	if err != nil {
		return err
	}
	if repeat {
		// Opened again, because the successor is trusted only now.
		if h, err = env.Of(c).Open(ctx, project.Lenient); err != nil {
			return err
		}
		err := signing.Resign(ctx, h, old, signed, made.signer)
		if err != nil {
			return err
		}
		todo = changed
	}
	follows := slices.Contains(was.Scope.May, "rotate")
	return c.UI.Show(
		rotated{old.String(), made.NewKey, places, todo},
		func() {
			showRotated(c.UI, old, made, places, todo, follows)
		},
	)
}

// publishRotation returns the paths of the documents of a rotation to a key. With
// inProject it writes them into the project too, with the documents of earlier rotations:
// without one of them other people cannot follow.
func publishRotation(
	h *project.Project,
	inProject bool,
	key sign.Fingerprint,
	files []trust.File,
) ([]string, error) {
	var paths []string
	for _, f := range files {
		paths = append(paths, filepath.Join(h.Dirs.Trust(), f.Name))
	}
	if !inProject {
		return paths, nil
	}
	files, err := trust.Lineage(h.Dirs.Trust(), key)
	if err != nil {
		return paths, err
	}
	more, err := env.PublishInProject(h, files)
	return append(paths, more...), err
}

// succession makes the documents by which the new key succeeds the old one.
func succession(
	ctx context.Context,
	c *cli.Call,
	old sign.Signer,
	made *madeKey,
) ([]trust.File, error) {
	name, rotation, err := doc.NewRotation(
		ctx,
		doc.RotationParams{Now: c.Now()},
		old,
		made.signer,
	)
	if err != nil {
		return nil, err
	}
	from := doc.As[*doc.Rotation](doc.Parse(name, rotation)).From
	revocation, b, err := doc.NewRevocation(
		ctx,
		doc.RevocationParams{Reason: doc.ReasonSuperseded, CutOff: from, Now: c.Now()},
		old,
	)
	if err != nil {
		return nil, err
	}
	return []trust.File{{Name: name, Data: rotation}, {Name: revocation, Data: b}}, nil
}

// waitFor waits until the second of the newest signature is over, at most one second.
// Times have whole seconds. After the rotation, signatures of the old key from the second of
// the rotation on are void, so an earlier signature must have an earlier second.
func waitFor(ctx context.Context, left time.Duration) error {
	if left <= 0 || left > time.Second {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(left):
		return nil
	}
}

// filesSignedBy lists the project's files that a key signed: those that are as they
// were signed, and those that changed since or are refused for another reason. newest is
// the time of the latest signature.
func filesSignedBy(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	fp sign.Fingerprint,
) (signed, changed []string, newest time.Time, err error) {
	root, err := h.NeedProject()
	if err != nil {
		return nil, nil, newest, nil //nolint:nilerr // without a project there is nothing to sign again
	}
	report, err := verify.Root(
		ctx,
		verify.Params{Resolver: h.Verifier(h.Spaces), Trust: h.Trust},
		root,
	)
	if err != nil {
		return nil, nil, newest, err
	}
	for _, f := range report.Files {
		if f.Verdict.Signer == fp && f.Verdict.Time.After(newest) {
			newest = f.Verdict.Time
		}
		_, manifest := bundle.ManifestID(f.Path)
		switch v := f.Verdict; {
		case v.Signer != fp:
		case manifest && report.Failed(): // a new manifest would adopt what is refused
			changed = append(changed, f.Path)
		case v.OK() || v.Code == diag.Expired: // the signature is valid for this content
			signed = append(signed, f.Path)
		default:
			changed = append(changed, f.Path)
		}
	}
	return signed, changed, newest, nil
}

func showRotated(
	u *cli.UI,
	old sign.Fingerprint,
	made *madeKey,
	places, resign []string,
	follows bool,
) {
	u.Out("old key     %s", old.String())
	u.Out("new key     %s", made.Fingerprint)
	u.Out("private key %s", made.File)
	u.Out("revocation  %s", made.Revocation)
	for _, p := range places {
		u.Out("wrote       %s", p)
	}
	for _, p := range resign {
		u.Out("sign again  %s", p)
	}
	u.Note("Keep the revocation certificate offline: anybody who has it can revoke this key.")
	if !follows {
		u.Note("The old key may not rotate, so other people must trust the new key again: rye key export, then rye trust add.")
	}
}

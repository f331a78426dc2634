package main

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
	"github.com/ryeos/rye/verify"
)

func keyRotateCommand() *cli.Command {
	return &cli.Command{
		Name: "rotate", Usage: "make a successor of a key, and supersede the old one", Args: "[KEY]",
		Long: `Makes a new key with the owner and scope of the old one, a rotation that both
sign, and a revocation of the old key as superseded from now on: what it signed
before still counts. Whoever lets the old key rotate follows to the new one, up to
16 times, within the scope and time he gave the old one; others trust the new key
anew. What the old key signed in the project is listed, to be signed again.`,
		Examples: []string{"rye key rotate", "rye key rotate 4f3a --expires 2y --in-project"},
		Codes:    []diag.Code{diag.AuthRequired, diag.ConfigError},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "expires", Value: "1y", Usage: "`LENGTH` of validity of the new key, at most 3y"},
			&cli.StringSliceFlag{Name: "may", Usage: "`USES` of the new key, instead of those of the old one"},
			&cli.BoolFlag{Name: "no-passphrase", Usage: "write the private key unencrypted"},
			&cli.BoolFlag{Name: "in-project", Usage: "write the documents into the project's .ai/trust as well"},
		},
		Complete: completeKeys(true),
		Run:      runKeyRotate,
	}
}

// rotated is what a finished rotation shows.
type rotated struct {
	Old    string   `json:"old"`
	New    newKey   `json:"new"`
	Files  []string `json:"files"`
	Resign []string `json:"resign"` // paths of the project that the old key signed
}

func runKeyRotate(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	old, err := h.OwnKey(c.Arg(0))
	if err != nil {
		return err
	}
	if c.Bool("in-project") {
		if _, err := h.ProjectTrust(); err != nil {
			return err
		}
	}
	signer, err := h.SignerOf(ctx, old)
	if err != nil {
		return err
	}
	resign, err := filesSignedBy(ctx, c, h, old)
	if err != nil {
		return err
	}
	was := h.Trust.Documents(old)[0]
	scope := was.Scope
	if may := listFlag(c, "may"); len(may) > 0 {
		scope.May = may
	}
	made, err := prepareKey(ctx, c, h, newKey{Owner: was.Owner, Kind: keyUser}, scope, c.Str("expires"))
	if err != nil {
		return err
	}
	defer made.wipe()
	files, err := succession(ctx, c, signer, made)
	if err != nil {
		return err
	}
	if err := h.RecordDocuments(ctx, space.User, append([]trust.File{made.grant, made.revocation}, files...)...); err != nil {
		return err
	}
	if err := made.write(h); err != nil {
		return err
	}
	places, err := publish(c, h, files...)
	if err != nil {
		return err
	}
	follows := slices.Contains(was.Scope.May, "rotate")
	return c.UI.Show(rotated{old.String(), made.newKey, places, resign}, func() { showRotated(c.UI, old, made, places, resign, follows) })
}

// succession makes what says that the new key follows the old one. The new
// key's document goes with it: without one it has no scope.
func succession(ctx context.Context, c *cli.Call, old sign.Signer, made *madeKey) ([]trust.File, error) {
	name, rotation, err := doc.NewRotation(ctx, doc.RotationParams{Now: c.Now()}, old, made.signer)
	if err != nil {
		return nil, err
	}
	from := doc.As[*doc.Rotation](doc.Parse(name, rotation)).From
	revocation, b, err := doc.NewRevocation(ctx, doc.RevocationParams{Reason: doc.ReasonSuperseded, CutOff: from, Now: c.Now()}, old)
	if err != nil {
		return nil, err
	}
	return []trust.File{made.document, {Name: name, Data: rotation}, {Name: revocation, Data: b}}, nil
}

// filesSignedBy lists the project's files that a key signed.
func filesSignedBy(ctx context.Context, c *cli.Call, h *project.Project, fp sign.Fingerprint) ([]string, error) {
	paths := []string{}
	root, err := h.NeedProject()
	if err != nil {
		return paths, nil //nolint:nilerr // without a project there is nothing to sign again
	}
	r := resolve.New(resolve.Params{Spaces: h.Spaces, Trust: h.Trust, Lenient: true, NoCache: true})
	report, err := verify.Root(ctx, verify.Params{Resolver: r, Trust: h.Trust}, root)
	if err != nil {
		return nil, err
	}
	for _, f := range report.Files {
		if f.Verdict.Signer == fp {
			paths = append(paths, f.Path)
		}
	}
	return paths, nil
}

func showRotated(u *cli.UI, old sign.Fingerprint, made *madeKey, places, resign []string, follows bool) {
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
	u.Note("Move the revocation certificate to a place offline: whoever has it can end this key.")
	if !follows {
		u.Note("The old key may not rotate, so nobody follows: others trust the new key anew, with rye key export and rye trust add.")
	}
}

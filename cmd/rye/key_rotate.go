package main

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/verify"
)

func keyRotateCommand() *command {
	return &command{
		name: "rotate", usage: "make a successor of a key, and supersede the old one", args: "[KEY]",
		long: `Makes a new key with the owner and scope of the old one, a rotation that both
sign, and a revocation of the old key as superseded from now on: what it signed
before still counts. Whoever lets the old key rotate follows to the new one, up to
16 times, within the scope and time he gave the old one; others trust the new key
anew. What the old key signed in the project is listed, to be signed again.`,
		examples: []string{"rye key rotate", "rye key rotate 4f3a --expires 2y --in-project"},
		codes:    []diag.Code{diag.AuthRequired, diag.ConfigError},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "expires", Value: "1y", Usage: "`LENGTH` of validity of the new key, at most 3y"},
			&cli.StringSliceFlag{Name: "may", Usage: "`USES` of the new key, instead of those of the old one"},
			&cli.BoolFlag{Name: "no-passphrase", Usage: "write the private key unencrypted"},
			&cli.BoolFlag{Name: "in-project", Usage: "write the documents into the project's .ai/trust as well"},
		},
		complete: completeKeys(true),
		run:      runKeyRotate,
	}
}

// rotated is what a finished rotation shows.
type rotated struct {
	Old    string   `json:"old"`
	New    newKey   `json:"new"`
	Files  []string `json:"files"`
	Resign []string `json:"resign"` // paths of the project that the old key signed
}

func runKeyRotate(ctx context.Context, c *call) error {
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	old, err := h.ownKey(c.arg(0))
	if err != nil {
		return err
	}
	if c.bool("in-project") {
		if _, err := h.projectTrust(); err != nil {
			return err
		}
	}
	signer, err := c.signerOf(ctx, h, old)
	if err != nil {
		return err
	}
	resign, err := c.signedBy(ctx, h, old)
	if err != nil {
		return err
	}
	was := h.trust.Documents(old)[0]
	scope := was.Scope
	if may := c.listFlag("may"); len(may) > 0 {
		scope.May = may
	}
	made, err := c.prepareKey(ctx, h, newKey{Owner: was.Owner, Kind: keyUser}, scope, c.str("expires"))
	if err != nil {
		return err
	}
	defer made.wipe()
	files, err := c.succession(ctx, signer, made)
	if err != nil {
		return err
	}
	if err := c.recordDocuments(ctx, h, space.User, append([]trust.File{made.grant, made.revocation}, files...)...); err != nil {
		return err
	}
	if err := made.write(h); err != nil {
		return err
	}
	places, err := c.publish(h, files...)
	if err != nil {
		return err
	}
	follows := slices.Contains(was.Scope.May, "rotate")
	return c.ui.Show(rotated{old.String(), made.newKey, places, resign}, func() { c.ui.rotated(old, made, places, resign, follows) })
}

// succession makes what says that the new key follows the old one. The new
// key's document goes with it: without one it has no scope.
func (c *call) succession(ctx context.Context, old sign.Signer, made *madeKey) ([]trust.File, error) {
	name, rotation, err := trust.NewRotation(ctx, trust.RotationParams{Now: c.Now()}, old, made.signer)
	if err != nil {
		return nil, err
	}
	doc, _ := trust.ParseDocument(name, rotation)
	revocation, b, err := trust.NewRevocation(ctx, trust.RevocationParams{Reason: trust.ReasonSuperseded, CutOff: doc.CutOff, Now: c.Now()}, old)
	if err != nil {
		return nil, err
	}
	return []trust.File{made.document, {Name: name, Data: rotation}, {Name: revocation, Data: b}}, nil
}

// signedBy lists the project's files that a key signed.
func (c *call) signedBy(ctx context.Context, h *house, fp sign.Fingerprint) ([]string, error) {
	paths := []string{}
	root, err := h.needProject()
	if err != nil {
		return paths, nil //nolint:nilerr // without a project there is nothing to sign again
	}
	r := resolve.New(resolve.Params{Spaces: h.spaces, Trust: h.trust, Lenient: true, NoCache: true})
	report, err := verify.Root(ctx, verify.Params{Resolver: r, Trust: h.trust}, root)
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

func (u *ui) rotated(old sign.Fingerprint, made *madeKey, places, resign []string, follows bool) {
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

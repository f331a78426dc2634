package packages

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// unknownSigner returns the release in an error whose signer no trusted document
// names.
func unknownSigner(err error) (lock.Module, bool) {
	var e *diag.Error
	if !errors.As(err, &e) {
		return lock.Module{}, false
	}
	of := func(code diag.Code, reason string, facts map[string]any) (m lock.Module, ok bool) {
		text, _ := facts["bundle"].(string)
		id, err := lock.ParseID(text)
		m.ID = id
		m.Version, _ = facts["version"].(string)
		return m, code == diag.KeyUnknown && reason == "release_scope" && err == nil
	}
	m, ok := of(e.Code, e.Reason, e.Details)
	if ok {
		return m, true
	}
	for _, f := range e.Findings {
		m, ok := of(f.Code, f.Reason, f.Facts)
		if ok {
			return m, true
		}
	}
	return lock.Module{}, false
}

// firstContact asks whether to trust the signer of a release, or compares it with the
// fingerprint that the user gave, and writes the grant.
// A scope has one list of kinds and one of ids, so a key of "tool gh/x" and "knowledge lab/y"
// may sign "tool lab/y" too: the question shows both lists. The grant names no release. It is
// written before the release is judged again, and stays if the release changed.
func firstContact(
	ctx context.Context,
	c *cli.Call,
	o *addOptions,
	m lock.Module,
	refused error,
) (*packages.Inspection, error) {
	headless := c.UI.AsJSON || !c.Isatty(c.Stdin)
	if headless && o.trust == "" {
		var e *diag.Error
		if errors.As(refused, &e) && e.Reason == "release_scope" {
			return nil, e.
				WithReason("first_contact").
				WithDetail("source", strings.Join(c.Args, " "))
		}
		return nil, refused
	}
	version := m.Version
	if lock.IsPseudo(version) {
		version = lock.PseudoCommit(version)
	}
	in, err := ask.Inspect(
		ctx,
		c,
		&o.PackageOptions,
		packages.Query{ID: m.ID, Version: version},
	)
	if err != nil {
		return nil, err
	}
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil, err
	}
	k, err := ask.OfferedBy(c, h, in)
	if err != nil {
		return nil, err
	}
	if o.trust != "" && !sign.MatchFingerprint(o.trust, k.Public) {
		return nil, diag.New(diag.KeyUnknown, "trusting the signer of %s: its fingerprint is not the given one", m).
			WithReason("other_fingerprint").
			WithDetail("expected", o.trust).
			WithDetail("found", k.Fingerprint.String())
	}
	g := keychain.Grant{Document: k.Document, Scope: k.Wish}
	showContact(c, in, k)
	if o.trust == "" {
		if err := askContact(c, k, &g); err != nil {
			return nil, err
		}
	}
	added, err := h.Keys.AddGrant(ctx, g)
	if err == nil {
		c.UI.Note(
			"trusting %s (%s) for %s",
			k.Fingerprint.Short(),
			k.Owner,
			g.Scope.String(),
		)
		c.UI.Note("grant %s", added.Path)
	}
	return in, err
}

// showContact prints what the user decides about.
func showContact(c *cli.Call, in *packages.Inspection, k *ask.OfferedKey) {
	seen := in.FirstSeen
	if seen.IsZero() {
		seen = c.Now()
	}
	c.UI.Note("%s %s is signed by %s, a key that you do not trust yet.", in.Name, in.Version, k.Owner)
	c.UI.Note("  fingerprint  %s", sign.FingerprintGroups(k.Fingerprint))
	c.UI.Note("  first seen   %s, by this computer", seen.Local().Format(time.DateOnly))
	c.UI.Note("  brings       %s", strings.Join(view.Brought(in), ", "))
	if len(in.Exec) > 0 {
		c.UI.Note("  executable   %s", strings.Join(in.Exec, ", "))
	}
	c.UI.Note("Compare the fingerprint with a second source, for example the publisher's site.")
}

// askContact asks whether to write the grant, and permits the user to edit it.
func askContact(c *cli.Call, k *ask.OfferedKey, g *keychain.Grant) error {
	answer, err := c.Ask(
		"Trust this key for kinds " + strings.Join(g.Scope.Kinds, ", ") + " of " + strings.Join(g.Scope.Namespaces, ", ") + "? [y/N/e(dit)] ",
	)
	if err != nil {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	case "e", "edit":
		o := ask.PermissionOptions{May: doc.GrantUses()}
		if g.Scope, err = o.ScopeOf(c, k.Fingerprint, k.Wish); err != nil {
			return err
		}
		end, err := c.Ask("until [3y]: ")
		if err == nil && end != "" {
			g.NotAfter, err = env.Until(end, c.Now())
		}
		return err
	}
	return diag.New(diag.ConsentRequired, "adding: you did not trust key %s; nothing changed", k.Fingerprint.Short())
}

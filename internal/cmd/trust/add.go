package trust

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// trustAddOptions are the flags of rye trust add.
type trustAddOptions struct {
	ask.PermissionOptions
	fingerprint string
	from        string
}

func trustAddCommand() *cli.Command {
	var o trustAddOptions
	return &cli.Command{
		Name:  "add",
		Usage: "trust the key of another person, within a scope",
		Args:  "[FILE|URL]",
		Long: `FILE is the key document that the owner exported. URL is https://HOST/USER.keys, the
list of a user's ssh keys that many hosts publish; a grant for such a key lasts two
years at most. --from takes the signer of a release, and its key document from .ai/trust
of that repository, or the one that you have; the scope is then what the release brings.
rye prints the whole fingerprint: compare it with a second source.

You grant a part of the scope that the document asks for: --kinds and --namespaces name
the items that the key may sign. The grant is kept in your configuration, not in a
project, and signed by your key, or by a grant key that rye makes for this account. A key
has one grant: a new one replaces it, and rye prints the scope of the old one if it
permitted more, and both days if the new one ends later.`,
		Examples: []string{
			"rye trust add leo.toml --kinds tool,directive --namespaces 'leo/**' --until 90d",
			"rye trust add ci.toml --kinds bundle,tool --namespaces 'tools,gh/**' --may sign,release",
			"rye trust add --from github.com/leo/gh-tools",
			"rye trust add https://github.com/leo.keys --kinds tool --namespaces 'gh/**'",
		},
		Codes: []diag.Code{
			diag.ParsingError,
			diag.KeyWeak,
			diag.AuthRequired,
			diag.SigInvalid,
			diag.KeyUnknown,
			diag.Network,
			diag.ApprovalDenied,
		},
		Flags: append(o.Flags("grant"),
			cli.String(&o.from, "from", "trust the signer of a release: `SOURCE[@VERSION]` as for rye add"),
			cli.String(&o.fingerprint, "fingerprint", "whole `FINGERPRINT` that the key must have, in hex or SHA256:…")),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runTrustAdd(ctx, c, &o)
		},
	}
}

func runTrustAdd(ctx context.Context, c *cli.Call, o *trustAddOptions) error {
	e := env.Of(c)
	e.Key = o.Key
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	k, err := keyOffered(ctx, c, h, o)
	if err != nil {
		return err
	}
	return trustKey(ctx, c, h, k, o)
}

// keyOffered reads the key that the argument names.
func keyOffered(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *trustAddOptions,
) (*ask.OfferedKey, error) {
	if (o.from == "") == (c.Arg(0) == "") {
		return nil, diag.New(diag.Usage, "adding a key: name a file, a URL or --from SOURCE").WithReason("one_key")
	}
	if o.from != "" {
		return releaseSigner(ctx, c, h, o)
	}
	if strings.Contains(c.Arg(0), "://") {
		return sshKeyAt(ctx, c, o)
	}
	path := c.Path(c.Arg(0))
	b, err := openat.ReadBounded(path, openat.MaxText)
	if err != nil {
		return nil, noDocument(err)
	}
	document, err := env.ProposedKey(path, b)
	if err != nil {
		return nil, err
	}
	if !document.NotAfter.After(c.Now()) {
		return nil, diag.New(
			diag.Expired,
			"trusting %s (%s): the document ended on %s",
			document.Fingerprint.Short(),
			document.Owner,
			document.NotAfter.Format(time.DateOnly),
		).
			WithReason("document")
	}
	return &ask.OfferedKey{
		Fingerprint: document.Fingerprint,
		Public:      document.Public,
		Owner:       document.Owner,
		Document:    b,
		Wish:        document.Scope,
	}, nil
}

// releaseSigner returns the signer of the release that the flag names. The scope is what the
// release brings, unless the flags name another. A key has one grant, so a scope that the
// user did not write may not take anything from the grant that the key has.
func releaseSigner(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *trustAddOptions,
) (*ask.OfferedKey, error) {
	q, err := env.ParseQuery(c, o.from)
	if err != nil {
		return nil, err
	}
	in, err := ask.Inspect(ctx, c, &env.PackageOptions{Space: space.Project}, q)
	if err != nil {
		return nil, err
	}
	k, err := ask.OfferedBy(c, h, in)
	if err != nil || len(o.Kinds) > 0 && len(o.Namespaces) > 0 {
		return k, err
	}
	if len(o.Kinds) == 0 {
		o.Kinds = k.Wish.Kinds
	}
	if len(o.Namespaces) == 0 {
		o.Namespaces = k.Wish.Namespaces
	}
	scope := doc.Scope{Kinds: o.Kinds, Namespaces: o.Namespaces, May: o.May}
	if len(scope.May) == 0 {
		scope.May = doc.GrantUses()
	}
	old, less := h.Keys.ReplacedGrant(k.Fingerprint, scope)
	if !less {
		return k, nil
	}
	both := func(a, b []string) string {
		out := slices.Concat(a, b)
		slices.Sort(out)
		return strings.Join(slices.Compact(out), ",")
	}
	return nil, diag.New(
		diag.Usage,
		"trusting %s (%s): a key has one grant, and yours permits more: %s",
		k.Fingerprint.Short(),
		k.Owner,
		old.Scope.String(),
	).
		WithReason("narrower_grant").
		WithDetail("from", o.from).
		WithDetail("kinds", both(old.Scope.Kinds, scope.Kinds)).
		WithDetail("namespaces", both(old.Scope.Namespaces, scope.Namespaces)).
		WithDetail("may", both(old.Scope.May, scope.May)).
		WithDetail("until", cmp.Or(o.Until, old.NotAfter.Format(time.RFC3339)))
}

// sshKeyAt returns the key in a list of ssh keys that a host publishes: the only one,
// that with the fingerprint of the flag, or the one that the user chooses.
func sshKeyAt(ctx context.Context, c *cli.Call, o *trustAddOptions) (*ask.OfferedKey, error) {
	keys, err := keychain.FetchSSHKeys(ctx, c.Arg(0))
	if err != nil {
		return nil, err
	}
	offer := func(k sign.SSHKey) *ask.OfferedKey {
		return &ask.OfferedKey{
			Fingerprint: sign.FingerprintOf(k.Public),
			Public:      k.Public,
			Owner:       c.Arg(0),
			Source:      c.Arg(0),
			Remote:      true,
		}
	}
	for _, k := range keys {
		if o.fingerprint != "" && sign.MatchFingerprint(o.fingerprint, k.Public) {
			return offer(k), nil
		}
	}
	if len(keys) == 1 || o.fingerprint != "" {
		return offer(keys[0]), nil // another fingerprint than the flag's is refused later
	}
	i, err := ask.SSHKey(c, keys)
	if err != nil {
		return nil, fingerprintRequired(c.Arg(0))
	}
	if i >= 0 {
		return offer(keys[i]), nil
	}
	return nil, diag.New(diag.ApprovalDenied, "trusting a key of %s: no key chosen; nothing changed", c.Arg(0))
}

func fingerprintRequired(source string) error {
	return diag.New(diag.Usage, "trusting a key of %s: a person confirms the fingerprint, and this process has no terminal", source).WithReason("fingerprint_required")
}

// confirmKey shows the whole fingerprint of a key, and compares it with the one that
// the user gave.
func confirmKey(c *cli.Call, k *ask.OfferedKey, given string) error {
	if given != "" && !sign.MatchFingerprint(given, k.Public) {
		return diag.New(diag.KeyUnknown, "trusting key %s: its fingerprint is not the given one", k.Fingerprint.Short()).WithReason("other_fingerprint").
			WithDetail("expected", given).WithDetail("found", k.Fingerprint.String())
	}
	if given == "" &&
		k.Remote &&
		(c.UI.AsJSON || !c.Isatty(c.Stdin)) {
		return fingerprintRequired(k.Owner)
	}
	c.UI.Note("key          %s", k.Owner)
	c.UI.Note("fingerprint  %s", sign.FingerprintGroups(k.Fingerprint))
	if k.Document == nil {
		c.UI.Note("ssh          %s", sign.SSHFingerprint(k.Public))
	}
	return nil
}

// trustKey writes a grant for a key, after the user confirmed it and its scope.
func trustKey(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	k *ask.OfferedKey,
	o *trustAddOptions,
) error {
	if err := confirmKey(c, k, o.fingerprint); err != nil {
		return err
	}
	if len(o.May) == 0 {
		o.May = doc.GrantUses()
	}
	scope, err := o.ScopeOf(c, k.Fingerprint, k.Wish)
	if err != nil {
		return err
	}
	g := keychain.Grant{Document: k.Document, Source: k.Source, Scope: scope}
	if k.Document == nil {
		g.Public = k.Public
	}
	if o.Until != "" {
		if g.NotAfter, err = env.Until(o.Until, c.Now()); err != nil {
			return err
		}
		if k.Document == nil &&
			g.NotAfter.After(c.Now().AddDate(doc.MaxPlainYears, 0, 0)) {
			return diag.New(diag.Usage, "reading flag --until: a grant for an ssh key lasts at most %d years", doc.MaxPlainYears)
		}
	}
	if k.Remote && o.fingerprint == "" {
		c.UI.Note("Compare the fingerprint with a second source, for example the publisher's site.")
		err := ask.Confirm(
			c,
			"Trust this key for kinds "+doc.Words(scope.Kinds)+", namespaces "+doc.Words(scope.Namespaces)+"?",
		)
		if err != nil {
			return err
		}
	}
	added, err := h.Keys.AddGrant(ctx, g)
	if err != nil {
		return err
	}
	data := map[string]any{
		"fingerprint": k.Fingerprint,
		"owner":       k.Owner,
		"scope":       scope,
		"grant":       added.Path,
	}
	if old := added.Replaced; added.Less {
		data["replaced"] = old.Scope
		c.UI.Note("It replaces your grant for %s: what only that one permitted is not trusted any more.", old.Scope.String())
	}
	if added.Later() {
		was := added.Replaced.NotAfter
		data["replaced_end"], data["end"] = was, added.NotAfter
		c.UI.Note("Your grant for this key ended on %s; the new one ends on %s. --until names another day.",
			was.UTC().Format(time.DateOnly), added.NotAfter.UTC().Format(time.DateOnly))
	}
	return c.UI.Show(data, func() {
		c.UI.Out("trusting %s (%s) for %s", k.Fingerprint.Short(), k.Owner, scope.String())
		c.UI.Out("grant %s", added.Path)
	})
}

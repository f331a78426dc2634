package ask

import (
	"context"
	"crypto/ed25519"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// Inspect returns the content of a release, before any trust.
func Inspect(
	ctx context.Context,
	c *cli.Call,
	o *env.PackageOptions,
	q packages.Query,
) (*packages.Inspection, error) {
	look := *o
	look.Look = true
	x, err := env.OpenPackages(ctx, c, &look)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return x.Inspect(ctx, q)
}

// OfferedBy returns the signer of a release as a key that the user may trust.
func OfferedBy(c *cli.Call, h *project.Project, in *packages.Inspection) (*OfferedKey, error) {
	offer, err := keychain.OfferOf(in, h.Keys.KnownDocument, c.Now())
	if err != nil {
		return nil, err
	}
	return &OfferedKey{
		Fingerprint: offer.Key.Fingerprint,
		Public:      offer.Key.Public,
		Owner:       offer.Key.Owner,
		Document:    offer.Document,
		Wish:        offer.Scope,
		Remote:      true,
	}, nil
}

// Scope returns the scope of the flags; for a missing part it asks at a terminal.
func (o *PermissionOptions) Scope(c *cli.Call, document *doc.Key) (doc.Scope, error) {
	return o.ScopeOf(c, document.Fingerprint, document.Scope)
}

// ScopeOf is scope for a key of which the wish is known. At a terminal Enter takes the
// value shown. A wish for everything is not shown: who presses Enter would give it.
// A document that asks for every kind or id gives no default: Enter would grant everything.
func (o *PermissionOptions) ScopeOf(
	c *cli.Call,
	key sign.Fingerprint,
	wish doc.Scope,
) (doc.Scope, error) {
	s := doc.Scope{Kinds: o.Kinds, Namespaces: o.Namespaces, May: o.May}
	if len(s.May) == 0 {
		s.May = []string{"sign", "release", "rotate"}
	}
	if err := CheckUses(s.May); err != nil {
		return s, err
	}
	for _, q := range []struct {
		list          *[]string
		flag, example string
		wish          []string
	}{{&s.Kinds, "kinds", "tool,knowledge", wish.Kinds}, {&s.Namespaces, "namespaces", "gh/**", wish.Namespaces}} {
		if len(*q.list) > 0 {
			continue
		}
		prompt := q.flag + ", for example " + q.example + ": "
		offer := []string(nil)
		if len(q.wish) > 0 &&
			!slices.Contains(q.wish, "*") &&
			!slices.Contains(q.wish, "**") {
			prompt = q.flag + " [" + strings.Join(q.wish, ",") + "]: "
			offer = q.wish
		}
		answer, err := c.Ask(prompt)
		if err != nil && !c.Isatty(c.Stdin) {
			capabilities := ""
			if len(wish.Kinds)+len(wish.Namespaces) > 0 {
				capabilities = "; the document asks for kinds " + strings.Join(wish.Kinds, ",") + ", namespaces " + strings.Join(wish.Namespaces, ",")
			}
			return s, diag.New(diag.Usage, "adding key %s: --%s is missing%s", key.Short(), q.flag, capabilities).
				WithReason("scope")
		}
		if err != nil {
			return s, err
		}
		*q.list = strings.FieldsFunc(answer, func(r rune) bool {
			return r == ',' || r == ' '
		})
		if len(*q.list) == 0 {
			*q.list = offer
		}
		if len(*q.list) == 0 {
			return s, diag.New(diag.Usage, "adding key %s: no %s; nothing changed", key.Short(), q.flag).
				WithReason("scope")
		}
	}
	warnKinds(c, s.Kinds)
	return s, nil
}

// CheckUses returns an error unless the values of --may are uses.
func CheckUses(may []string) error {
	for _, use := range may {
		if !slices.Contains(doc.Uses(), use) {
			return diag.New(diag.Usage, "reading flag --may: %q is not one of %s", use, strings.Join(doc.Uses(), ", "))
		}
	}
	return nil
}

// warnKinds warns of kinds that rye does not have itself: a project's extractor may
// declare one, but most of them are mistakes, and a grant for them permits nothing.
func warnKinds(c *cli.Call, kinds []string) {
	lines := []string{
		"*",
		"bundle",
		string(item.Directive),
		string(item.Tool),
		string(item.Knowledge),
		string(item.Config),
	}
	for _, k := range kinds {
		if slices.Contains(lines, k) {
			continue
		}
		ask := ""
		if near := cli.Nearest(k, lines[1:]); near != "" {
			ask = "; did you mean " + near + "?"
		}
		c.UI.Warn("the kind %q is not one of %s: it permits nothing unless an extractor of the project declares it%s", k, strings.Join(lines[1:], ", "), ask)
	}
}

// OfferedKey is a key that the user may trust.
type OfferedKey struct {
	Fingerprint sign.Fingerprint
	Public      ed25519.PublicKey
	Owner       string // as written in the document, or the source of the key
	Document    []byte // nil for an ssh key
	Source      string // where an ssh key was read
	Wish        doc.Scope
	Remote      bool // it came from a host: its fingerprint must be confirmed
}

// PermissionOptions are the flags of a grant and of an endorsement.
type PermissionOptions struct {
	Kinds, Namespaces, May []string
	Until, Key, Use        string // use is what the signer needs
}

func (o *PermissionOptions) Flags(what string) []cli.Flag {
	return []cli.Flag{
		cli.Lists(&o.Kinds, "kinds", "`KINDS` of items, separated by commas; * is every kind"),
		cli.Lists(&o.Namespaces, "namespaces", "`GLOBS` over ids, such as acme/**"),
		cli.Lists(
			&o.May,
			"may",
			"`USES` out of "+strings.Join(doc.Uses(), ",")+" (default sign,release,rotate)",
		),
		cli.String(&o.Until, "until", "end of the "+what+": a date, or a `LENGTH` such as 90d"),
		cli.String(&o.Key, "key", "sign the "+what+" with this own `KEY`"),
	}
}

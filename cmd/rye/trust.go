package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func trustCommand() *cli.Command {
	return &cli.Command{
		Name: "trust", Group: "Trust",
		Usage: "manage trusted keys",
		Subs: []*cli.Command{
			trustAddCommand(), trustListCommand(), trustRemoveCommand(), trustAcceptCommand(), trustEndorseCommand(),
			trustRefreshCommand(), trustExplainCommand(), trustInterpreterCommand(), trustServerCommand(), trustDirectoryCommand(), acceptMoveCommand(),
		},
	}
}

// permission returns the scope and end of a grant or endorsement, from the flags or
// from answers at a terminal, and the key that signs it.
func permission(ctx context.Context, c *cli.Call, h *project.Project, document *doc.Key, b []byte, o *permissionOptions) (doc.PermissionParams, sign.Signer, error) {
	p := doc.PermissionParams{Document: b, Now: c.Now()}
	var err error
	if p.Scope, err = o.scope(c, document); err != nil {
		return p, nil, err
	}
	signer, err := h.Keys.SignerFor(ctx, o.use)
	if err != nil {
		return p, nil, err
	}
	if o.until != "" {
		p.NotAfter, err = until(o.until, c.Now())
	}
	return p, signer, err
}

// noDocument is the error about the file of a document that cannot be read.
func noDocument(err error) error {
	return diag.New(diag.FileSystemError, "reading trust document: %w", err).WithReason("no_document")
}

// proposedKey reads a key document. Its file may have any name.
func proposedKey(path string, b []byte) (*doc.Key, error) {
	if kind := documentKind(b); kind != "" && kind != doc.KindKey {
		return nil, diag.New(diag.Usage, "reading trust document %q: it is not a key document but a %s", path, kind).WithReason("key_export")
	}
	document, fs := doc.Parse(keyFileName(path, b), b)
	if err := diag.FromFindings("reading trust document", diag.WithPath(fs, path)); err != nil {
		return nil, err
	}
	key, ok := document.(*doc.Key)
	if !ok {
		return nil, diag.New(diag.Usage, "reading trust document %q: it is not a key document", path).WithReason("key_export")
	}
	return key, nil
}

// documentKind returns the kind in a document, "" if the document cannot be read.
func documentKind(b []byte) string {
	document, _ := tomlx.Parse(b)
	if document == nil {
		return ""
	}
	kind, _ := document.Root["kind"].(string)
	return kind
}

// keyFileName returns the file name that belongs to the key in a document, or the
// name of the file if the document has no key.
func keyFileName(path string, b []byte) string {
	document, _ := tomlx.Parse(b)
	if document == nil {
		return filepath.Base(path)
	}
	text, _ := document.Root["public-key"].(string)
	pub, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(pub) != ed25519.PublicKeySize {
		return filepath.Base(path)
	}
	return doc.FileName(doc.KindKey, sign.FingerprintOf(pub))
}

// scope returns the scope of the flags; for a missing part it asks at a terminal.
func (o *permissionOptions) scope(c *cli.Call, document *doc.Key) (doc.Scope, error) {
	return o.scopeOf(c, document.Fingerprint, document.Scope)
}

// scopeOf is scope for a key of which the wish is known. At a terminal Enter takes the
// value shown. A wish for everything is not shown: who presses Enter would give it.
// A document that asks for every kind or id gives no default: Enter would grant everything.
func (o *permissionOptions) scopeOf(c *cli.Call, key sign.Fingerprint, wish doc.Scope) (doc.Scope, error) {
	s := doc.Scope{Kinds: o.kinds, Namespaces: o.namespaces, May: o.may}
	if len(s.May) == 0 {
		s.May = []string{"sign", "release", "rotate"}
	}
	if err := checkUses(s.May); err != nil {
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
		prompt, offer := q.flag+", for example "+q.example+": ", []string(nil)
		if len(q.wish) > 0 && !slices.Contains(q.wish, "*") && !slices.Contains(q.wish, "**") {
			prompt, offer = q.flag+" ["+strings.Join(q.wish, ",")+"]: ", q.wish
		}
		answer, err := c.Ask(prompt)
		if err != nil && !c.Isatty(c.Stdin) {
			asks := ""
			if len(wish.Kinds)+len(wish.Namespaces) > 0 {
				asks = "; the document asks for kinds " + strings.Join(wish.Kinds, ",") + ", namespaces " + strings.Join(wish.Namespaces, ",")
			}
			return s, diag.New(diag.Usage, "adding key %s: --%s is missing%s", key.Short(), q.flag, asks).WithReason("scope")
		}
		if err != nil {
			return s, err
		}
		*q.list = strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' })
		if len(*q.list) == 0 {
			*q.list = offer
		}
		if len(*q.list) == 0 {
			return s, diag.New(diag.Usage, "adding key %s: no %s; nothing changed", key.Short(), q.flag).WithReason("scope")
		}
	}
	warnKinds(c, s.Kinds)
	return s, nil
}

// checkUses returns an error unless the values of --may are uses.
func checkUses(may []string) error {
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
	own := []string{"*", "bundle", string(item.Directive), string(item.Tool), string(item.Knowledge), string(item.Config)}
	for _, k := range kinds {
		if slices.Contains(own, k) {
			continue
		}
		ask := ""
		if near := cli.Nearest(k, own[1:]); near != "" {
			ask = "; did you mean " + near + "?"
		}
		c.UI.Warn("the kind %q is not one of %s: it permits nothing unless an extractor of the project declares it%s", k, strings.Join(own[1:], ", "), ask)
	}
}

func trustListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list trusted keys and the project's proposals",
		Examples: []string{"rye trust list", "rye trust list --json"},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := envOf(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			keys, proposals := h.Trust.Keys(), h.Trust.Proposals()
			set := h.Trust.ProjectSet()
			data := map[string]any{"keys": keys, "proposals": proposals, "set": set, "findings": h.BadTrust}
			return c.UI.Show(data, func() {
				for i := range proposals {
					proposals[i].Path = fromHere(c, proposals[i].Path)
				}
				showTrustList(c.UI, keys, proposals, set, h.BadTrust)
			})
		},
	}
}

func showTrustList(u *cli.UI, keys []trust.KeyInfo, proposals []trust.Proposal, set trust.ProjectSet, bad []diag.Finding) {
	t := newTable("trust")
	for _, k := range keys {
		until, tier := "never", string(k.Tier)
		if !k.NotAfter.IsZero() {
			until = k.NotAfter.Format(time.DateOnly)
		}
		if k.Own {
			tier += " (own)"
		}
		t.Add(k.Fingerprint.Short(), k.Owner, tier, string(k.State), until, k.Scope.String())
	}
	u.Table(t)
	for _, p := range proposals {
		if !p.Counts {
			u.Note("proposal, not trusted: %s (%s %s)", p.Path, cmp.Or(p.Owner, p.Kind), p.Fingerprint.Short())
		}
	}
	if set.State == trust.SetAccepted || set.State == trust.SetChanged {
		u.Note("the project's trust set: %s (%s)", string(set.State), set.At.Format(time.DateOnly))
	}
	for _, f := range bad {
		u.Warn("%s", f)
	}
}

func trustRemoveCommand() *cli.Command {
	return &cli.Command{
		Name: "remove", Usage: "stop trusting a key", Args: "KEY",
		Long:     "KEY is a fingerprint, the beginning of one, or an owner. The key's document and your grant are removed.",
		Examples: []string{"rye trust remove 4f3a"},
		Codes:    []diag.Code{diag.ItemNotFound},
		Complete: completeKeys(false),
		Run:      runTrustRemove,
	}
}

func runTrustRemove(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	var found []sign.Fingerprint
	for _, k := range h.Trust.Keys() {
		if k.Tier != trust.TierEmbedded && (strings.HasPrefix(k.Fingerprint.String(), strings.ToLower(c.Arg(0))) || k.Owner == c.Arg(0)) {
			found = append(found, k.Fingerprint)
		}
	}
	fp, err := theKey("removing", c.Arg(0), found)
	if err != nil {
		return err
	}
	gone, err := trust.RemoveKey(h.Dirs.Trust(), fp)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"fingerprint": found[0], "removed": gone}, func() {
		for _, p := range gone {
			c.UI.Out("removed %s", p)
		}
	})
}

func trustExplainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "explain step by step why an item is trusted or not", Args: "REF|PATH",
		Examples: []string{"rye trust explain tool:demo/hello", "rye trust explain .ai/tools/demo/hello.py"},
		Codes:    []diag.Code{diag.ItemNotFound},
		Complete: completeItems(),
		Run:      runTrustExplain,
	}
}

func runTrustExplain(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	it, err := h.ItemAt(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	lines := h.Trust.Explain(it.Verdict, h.Resolver.TrustInput(it))
	return c.UI.Show(map[string]any{"ref": it.Ref.String(), "path": it.Path(), "verdict": it.Verdict, "steps": lines}, func() {
		showSteps(c.UI, it.Path(), lines)
	})
}

// showSteps prints the steps of the verdict on a file.
func showSteps(u *cli.UI, path string, lines []string) {
	if len(lines) == 0 {
		return
	}
	u.Out("%s", path)
	for _, l := range lines {
		u.Out("  %s", l)
	}
}

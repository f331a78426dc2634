package bundle

import (
	"context"
	"crypto/ed25519"
	"slices"
	"strings"

	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// publisherOptions are the flags of rye bundle publisher.
type publisherOptions struct {
	bundles               []string
	root, release, revoke roleOptions
	sign, inProject       bool
	key                   string
}

// roleOptions are the flags of one role of a publisher.
type roleOptions struct {
	keys      []string
	threshold int
}

func bundlePublisherCommand() *cli.Command {
	var o publisherOptions
	return &cli.Command{
		Name:  "publisher",
		Usage: "show or declare the required signers of bundles",
		Args:  "[NAME]",
		Long: `A publisher document names bundles and three roles: root may change the document,
release signs manifests, and revoke revokes releases. Each role has keys and a number
of required signatures. The document only restricts: every key must also be trusted
by itself.

With flags, rye writes the next version, signed by one root key. The other root keys
sign it with --sign. It is valid once enough of its own root keys, and of the keys of
the version before, have signed it. KEYS are known owners, fingerprints, or files of key
documents, separated by commas. Without flags, the documents are shown.`,
		Examples: []string{
			"rye bundle publisher acme --bundles 'github.com/acme/*' --root ada,leo --root-threshold 2 --release ada,leo,eve --release-threshold 2",
			"rye bundle publisher acme --sign --in-project",
			"rye bundle publisher",
		},
		Codes: []diag.Code{diag.ItemNotFound, diag.ParsingError, diag.KeyUnknown, diag.Scope, diag.AuthRequired},
		Flags: []cli.Flag{
			cli.Lists(&o.bundles, "bundles", "`PATTERNS` of bundle ids, in manifests or in rye.yaml"),
			cli.Lists(&o.root.keys, "root", "`KEYS` that may change the document"),
			cli.Int(&o.root.threshold, "root-threshold", "number `N` of root keys that must sign the document"),
			cli.Lists(&o.release.keys, "release", "`KEYS` that sign releases"),
			cli.Int(&o.release.threshold, "release-threshold", "number `N` of release keys that must sign a release"),
			cli.Lists(&o.revoke.keys, "revoke", "`KEYS` that revoke releases"),
			cli.Int(&o.revoke.threshold, "revoke-threshold", "number `N` of revoke keys that must revoke a release"),
			cli.Bool(&o.sign, "sign", "also sign the newest version"),
			cli.String(&o.key, "key", env.KeyUsage),
			cli.Bool(&o.inProject, "in-project", "also write it into the project's .ai/trust"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runBundlePublisher(ctx, c, &o)
		},
	}
}

func runBundlePublisher(ctx context.Context, c *cli.Call, o *publisherOptions) error {
	e := env.WithKey(c, o.key)
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	name := c.Arg(0)
	known := h.Trust.PublisherTexts(name)
	change, changed, err := publisherChange(c, h, o)
	if err != nil {
		return err
	}
	if !changed && !o.sign {
		return showPublishers(c, h, name, known)
	}
	if name == "" {
		return diag.New(diag.Usage, "reading arguments: the publisher's NAME is missing").WithReason("publishers")
	}
	p, err := release.NextPublisher(name, known, change)
	if err != nil {
		return err
	}
	signer, err := h.Keys.SignerFor(ctx, "")
	if err != nil {
		return err
	}
	made, err := release.SignPublisher(ctx, p, known, signer, c.Now())
	if err != nil {
		return err
	}
	if err := h.Recorder().Documents(ctx, space.User, made); err != nil {
		return err
	}
	if _, err := env.AddDocuments(h, o.inProject, made); err != nil {
		return err
	}
	// The project is opened again to judge the new document with the others.
	if h, err = e.Open(ctx, project.Lenient); err != nil {
		return err
	}
	mine := slices.DeleteFunc(h.Trust.PublisherTexts(name), func(x trust.PublisherText) bool {
		return x.Version != p.Version
	})
	return showPublishers(c, h, name, mine)
}

// publisherChange returns the change of a publisher by the flags, and whether any of them is
// given.
func publisherChange(
	c *cli.Call,
	h *project.Project,
	o *publisherOptions,
) (change release.PublisherChange, changed bool, err error) {
	if c.Given(&o.bundles) {
		change.Bundles = append([]string{}, o.bundles...)
		changed = true
	}
	for _, r := range []struct {
		flags *roleOptions
		role  *release.RoleChange
	}{{&o.root, &change.Root}, {&o.release, &change.Release}, {&o.revoke, &change.Revoke}} {
		if c.Given(&r.flags.keys) {
			changed = true
			r.role.Keys = []ed25519.PublicKey{}
			for _, word := range r.flags.keys {
				pub, err := publicKeyOf(c, h, word)
				if err != nil {
					return change, changed, err
				}
				r.role.Keys = append(r.role.Keys, pub)
			}
		}
		if c.Given(&r.flags.threshold) {
			changed = true
			r.role.Threshold = &r.flags.threshold
		}
	}
	return change, changed, nil
}

// publicKeyOf returns the key of a key document's file, or a key that the trust
// directories contain.
func publicKeyOf(c *cli.Call, h *project.Project, word string) (ed25519.PublicKey, error) {
	if strings.ContainsAny(word, `/\`) || strings.HasSuffix(word, ".toml") {
		path := c.Path(word)
		b, err := openat.ReadBounded(path, openat.MaxText)
		if err != nil {
			return nil, diag.New(diag.FileSystemError, "reading the key document: %w", err)
		}
		document, err := env.ProposedKey(path, b)
		if err != nil {
			return nil, err
		}
		return document.Public, nil
	}
	fp, err := env.AnyKey(h, word)
	if err != nil {
		return nil, err
	}
	if found := h.Trust.Documents(fp); len(found) > 0 {
		return found[0].Public, nil
	}
	return nil, diag.New(diag.KeyUnknown, "looking for key %s: no trust directory contains its key document", fp.Short()).WithReason("name_file")
}

func showPublishers(c *cli.Call, h *project.Project, name string, list []trust.PublisherText) error {
	if len(list) == 0 && name != "" {
		return release.NoPublisher(name)
	}
	return c.UI.Show(map[string]any{"publishers": append([]trust.PublisherText{}, list...)}, func() {
		if len(list) == 0 {
			c.UI.Note("No publishers.")
		}
		for _, p := range list {
			showPublisher(c.UI, h, p)
		}
	})
}

func showPublisher(u *cli.UI, h *project.Project, p trust.PublisherText) {
	names := func(keys []sign.Fingerprint) string {
		out := make([]string, len(keys))
		for i, fp := range keys {
			out[i] = fp.Short()
			k, known := h.Trust.Key(fp)
			if known && k.Owner != "" {
				out[i] += " (" + k.Owner + ")"
			}
		}
		return strings.Join(out, ", ")
	}
	u.Out("%s, version %d, for %s", p.Name, p.Version, strings.Join(p.Bundles, " "))
	u.Out("  root     %d of: %s", p.Root.Threshold, names(p.Root.Fingerprints()))
	u.Out("  release  %d of: %s", p.Release.Threshold, names(p.Release.Fingerprints()))
	if len(p.Revoke.Keys) > 0 {
		u.Out("  revoke   %d of: %s", p.Revoke.Threshold, names(p.Revoke.Fingerprints()))
	}
	u.Out("  signed by %s", names(p.Signed))
	if p.Counts {
		u.Out("  valid")
	} else {
		u.Out("  not valid: %s", p.Why)
	}
}

package main

import (
	"context"
	"crypto/ed25519"
	"os"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func bundlePublisherCommand() *cli.Command {
	return &cli.Command{
		Name: "publisher", Usage: "say who must sign the releases of bundles", Args: "[NAME]",
		Long: `A publisher document names bundles and three roles, each with keys and how many of
them must sign: root (who may change the document), release (who signs manifests) and
revoke (who takes releases back). It only demands: every key has to be trusted by
itself as well. With flags, the next version is written and signed by one root key; the
others add theirs with --sign. It counts once enough of its root keys signed it, and
enough of the version before. Keys are owners or fingerprints that are known here, or
files of key documents, with commas between them. Without flags it shows what there is.`,
		Examples: []string{
			"rye bundle publisher acme --bundles 'github.com/acme/**' --root ada,leo --root-threshold 2 --release ada,leo,eve --release-threshold 2",
			"rye bundle publisher acme --sign --in-project",
			"rye bundle publisher",
		},
		Codes: []diag.Code{diag.ItemNotFound, diag.ParsingError, diag.KeyUnknown, diag.Scope, diag.AuthRequired},
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "bundles", Usage: "`GLOBS` over the ids of bundles, of manifests or as projects require them"},
			&cli.StringSliceFlag{Name: "root", Usage: "`KEYS` that may change the document"},
			&cli.IntFlag{Name: "root-threshold", Usage: "how many (`N`) of them must sign it"},
			&cli.StringSliceFlag{Name: "release", Usage: "`KEYS` that sign releases"},
			&cli.IntFlag{Name: "release-threshold", Usage: "how many (`N`) of them must sign one"},
			&cli.StringSliceFlag{Name: "revoke", Usage: "`KEYS` that take releases back"},
			&cli.IntFlag{Name: "revoke-threshold", Usage: "how many (`N`) of them must do so"},
			&cli.BoolFlag{Name: "sign", Usage: "sign the newest version too"},
			&cli.StringFlag{Name: "key", Usage: "sign with this own `KEY`"},
			&cli.BoolFlag{Name: "in-project", Usage: "write it into the project's .ai/trust as well"},
		},
		Run: runBundlePublisher,
	}
}

func runBundlePublisher(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	name := c.Arg(0)
	known := h.Trust.PublisherTexts(name)
	changed := slices.ContainsFunc(publisherFlags(), c.IsSet)
	if !changed && !c.Bool("sign") {
		return showPublishers(c, h, name, known)
	}
	if name == "" {
		return diag.New(diag.Usage, "reading arguments: the publisher's NAME is missing").WithHint("rye bundle publisher shows those that are known")
	}
	p, err := nextPublisher(c, h, name, known, changed)
	if err != nil {
		return err
	}
	if err := signPublisher(ctx, c, h, p); err != nil {
		return err
	}
	if h, err = envOf(c).Open(ctx, project.Lenient); err != nil { // anew, with the document
		return err
	}
	mine := slices.DeleteFunc(h.Trust.PublisherTexts(name), func(x trust.PublisherText) bool { return x.Version != p.Version })
	return showPublishers(c, h, name, mine)
}

func publisherFlags() []string {
	return []string{"bundles", "root", "root-threshold", "release", "release-threshold", "revoke", "revoke-threshold"}
}

// nextPublisher returns what is to be signed: the newest version as it is, or the
// one after it with what the flags change.
func nextPublisher(c *cli.Call, h *project.Project, name string, known []trust.PublisherText, changed bool) (doc.Publisher, error) {
	p := doc.Publisher{Name: name}
	if len(known) > 0 {
		p = *known[len(known)-1].Publisher
	}
	switch {
	case !changed && len(known) == 0:
		return p, noPublisher(name)
	case !changed:
		return p, nil
	case len(known) == 0 && (!c.IsSet("bundles") || !c.IsSet("root") || !c.IsSet("release")):
		return p, diag.New(diag.Usage, "making the publisher %q: it needs --bundles, --root and --release", name)
	}
	p.Version++
	if c.IsSet("bundles") {
		p.Bundles = listFlag(c, "bundles")
	}
	for role, to := range map[string]*doc.Role{"root": &p.Root, "release": &p.Release, "revoke": &p.Revoke} {
		if err := setRole(c, h, role, to); err != nil {
			return p, err
		}
	}
	return p, nil
}

// setRole takes over what the flags say of a role. All keys must sign where
// nothing is said of their number.
func setRole(c *cli.Call, h *project.Project, name string, to *doc.Role) error {
	if c.IsSet(name) {
		to.Keys = nil
		for _, word := range listFlag(c, name) {
			pub, err := publicKey(c, h, word)
			if err != nil {
				return err
			}
			to.Keys = append(to.Keys, pub)
		}
		to.Threshold = len(to.Keys)
	}
	if n := name + "-threshold"; c.IsSet(n) {
		to.Threshold = c.Int(n)
	}
	if len(to.Keys) > 0 && (to.Threshold < 1 || to.Threshold > len(to.Keys)) {
		return diag.New(diag.Usage, "reading flag --%s-threshold: the threshold must be a whole number from 1 to %d, as many keys as the role has", name, len(to.Keys))
	}
	return nil
}

// publicKey returns the key of a document's file, or one that is known here.
func publicKey(c *cli.Call, h *project.Project, word string) (ed25519.PublicKey, error) {
	if strings.ContainsAny(word, `/\`) || strings.HasSuffix(word, ".toml") {
		path := c.Path(word)
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, diag.New(diag.FileSystemError, "reading the key document: %w", err)
		}
		document, err := proposedKey(path, b)
		if err != nil {
			return nil, err
		}
		return document.Public, nil
	}
	fp, err := anyKey(h, word)
	if err != nil {
		return nil, err
	}
	for _, d := range h.Trust.Documents(fp) {
		return d.Public, nil
	}
	return nil, diag.New(diag.KeyUnknown, "looking for key %s: no document of it is here", fp.Short()).WithHint("name the file of its key document")
}

// signPublisher signs a publisher document with one root key, of this version or
// of the one before.
func signPublisher(ctx context.Context, c *cli.Call, h *project.Project, p doc.Publisher) error {
	signer, err := h.Signer(ctx)
	if err != nil {
		return err
	}
	fp := sign.FingerprintOf(signer.Public())
	roots := p.Root.Fingerprints()
	for _, x := range h.Trust.PublisherTexts(p.Name) {
		if x.Version == p.Version-1 {
			roots = append(roots, x.Root.Fingerprints()...)
		}
	}
	if !slices.Contains(roots, fp) {
		return diag.New(diag.Scope, "signing the publisher %s: key %s is no root key of version %d, nor of the one before", p.Name, fp.Short(), p.Version).
			WithHint("sign with --key of a root key: rye bundle publisher %s shows them", p.Name)
	}
	name, b, err := doc.NewPublisher(ctx, p, signer, c.Now())
	if err != nil {
		return err
	}
	made := trust.File{Name: name, Data: b}
	if err := h.RecordDocuments(ctx, space.User, made); err != nil {
		return err
	}
	_, err = publish(c, h, made)
	return err
}

func noPublisher(name string) error {
	return diag.New(diag.ItemNotFound, "looking for the publisher: there is none called %q", name).
		WithHint("rye bundle publisher %s --bundles GLOBS --root KEYS --release KEYS makes it", name)
}

func showPublishers(c *cli.Call, h *project.Project, name string, list []trust.PublisherText) error {
	if len(list) == 0 && name != "" {
		return noPublisher(name)
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
			if k, known := h.Trust.Key(fp); known && k.Owner != "" {
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
		u.Out("  counts")
	} else {
		u.Out("  does not count: %s", p.Why)
	}
}

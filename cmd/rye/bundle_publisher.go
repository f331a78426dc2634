package main

import (
	"context"
	"crypto/ed25519"
	"os"
	"slices"
	"strings"

	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
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
	change, err := publisherChange(c, h)
	if err != nil {
		return err
	}
	p, err := release.NextPublisher(name, known, change)
	if err != nil {
		return err
	}
	signer, err := h.Signer(ctx)
	if err != nil {
		return err
	}
	made, err := release.SignPublisher(ctx, p, known, signer, c.Now())
	if err != nil {
		return err
	}
	if err := h.RecordDocuments(ctx, space.User, made); err != nil {
		return err
	}
	if _, err := publish(h, c.Bool("in-project"), made); err != nil {
		return err
	}
	if h, err = envOf(c).Open(ctx, project.Lenient); err != nil { // with the new document
		return err
	}
	mine := slices.DeleteFunc(h.Trust.PublisherTexts(name), func(x trust.PublisherText) bool { return x.Version != p.Version })
	return showPublishers(c, h, name, mine)
}

func publisherFlags() []string {
	return []string{"bundles", "root", "root-threshold", "release", "release-threshold", "revoke", "revoke-threshold"}
}

// publisherChange reads what the flags change of a publisher.
func publisherChange(c *cli.Call, h *project.Project) (release.PublisherChange, error) {
	var out release.PublisherChange
	if c.IsSet("bundles") {
		out.Bundles = listFlag(c, "bundles")
	}
	for name, role := range map[string]*release.RoleChange{"root": &out.Root, "release": &out.Release, "revoke": &out.Revoke} {
		if c.IsSet(name) {
			role.Keys = []ed25519.PublicKey{}
			for _, word := range listFlag(c, name) {
				pub, err := publicKey(c, h, word)
				if err != nil {
					return out, err
				}
				role.Keys = append(role.Keys, pub)
			}
		}
		if flag := name + "-threshold"; c.IsSet(flag) {
			n := c.Int(flag)
			role.Threshold = &n
		}
	}
	return out, nil
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

// listFlag splits the values of a repeatable flag at commas.
func listFlag(c *cli.Call, name string) []string {
	var out []string
	for _, v := range c.Strs(name) {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

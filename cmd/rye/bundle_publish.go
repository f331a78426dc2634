package main

import (
	"context"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
)

func bundlePublishCommand() *cli.Command {
	return &cli.Command{
		Name: "publish", Usage: "tag the committed bundle as a release, after verifying it", Args: "[ID]",
		Long: `Verifies what is committed, not the work tree: every signature of the manifest, every
file, every item, and that rye.yaml's rule for the bundle has enough signers. Then it
makes the annotated tag that others add: vVERSION, or FOLDER/vVERSION for a bundle in a
folder of its repository. The tag is signed when git is configured to sign tags. A tag
that is there stays: publishing the same commit again changes nothing, and another
commit is refused. Only --push sends anything, and only the tag.`,
		Examples: []string{
			"rye bundle publish --dry-run",
			"rye bundle publish acme-tools --version 1.2.0 --push origin",
		},
		Codes: []diag.Code{
			diag.ItemNotFound, diag.AmbiguousItem, diag.VersionMismatch, diag.Drift, diag.HashMismatch, diag.BundleFileMissing,
			diag.BundleFileExtra, diag.Unresolvable, diag.Unsigned, diag.KeyUnknown, diag.Threshold, diag.TagMoved, diag.Network,
		},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "version", Usage: "refuse unless this is the `VERSION` of the manifest"},
			&cli.BoolFlag{Name: "dry-run", Usage: "verify everything and change nothing"},
			&cli.StringFlag{Name: "push", Usage: "push the tag to `REMOTE`: a name such as origin, or an address"},
			&cli.BoolFlag{Name: "sign", Usage: "sign the tag even where git is not configured to"},
		},
		Complete: completeBundles,
		Run:      runBundlePublish,
	}
}

// published is the JSON form of a release.
type published struct {
	Bundle    string             `json:"bundle"`
	Version   string             `json:"version"`
	Tag       string             `json:"tag"`
	Commit    string             `json:"commit"`
	TagObject string             `json:"tag_object,omitempty"`
	Created   bool               `json:"created"`
	Signed    bool               `json:"signed"` // the tag, by git
	Remote    string             `json:"remote,omitempty"`
	Pushed    bool               `json:"pushed"`
	DryRun    bool               `json:"dry_run"`
	Files     int                `json:"files"`
	By        []bundle.Signature `json:"signatures"`
}

func runBundlePublish(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	r, v, err := checkRelease(ctx, c, h)
	if err != nil {
		return err
	}
	out := &published{Bundle: r.ID, Version: r.Version, Tag: r.Tag, Commit: r.Commit, TagObject: r.Local.Object,
		Remote: c.Str("push"), DryRun: c.Bool("dry-run"), Files: v.FilesChecked, By: v.Signatures}
	if !out.DryRun {
		done, err := r.Publish(ctx, out.Remote, c.Bool("sign"))
		if err != nil {
			return err
		}
		out.Created, out.Signed, out.Pushed, out.TagObject = done.Created, done.Signed, done.Pushed, r.Local.Object
	}
	return c.UI.Show(out, func() { showPublished(c.UI, r, out) })
}

func showPublished(u *cli.UI, r *release.Release, p *published) {
	var who []string
	for _, s := range p.By {
		if s.Counts() {
			who = append(who, signatureLabel(s))
		}
	}
	u.Out("%s: %s verified, signed by %s", r, plural(p.Files, "file"), strings.Join(who, ", "))
	at := p.Commit[:12]
	switch {
	case p.Created && p.Signed:
		u.Out("tagged and signed %s at %s", p.Tag, at)
	case p.Created:
		u.Out("tagged %s at %s", p.Tag, at)
	case r.Local.Commit != "":
		u.Out("%s is there already, at %s", p.Tag, at)
	default:
		u.Out("would tag %s at %s", p.Tag, at)
	}
	switch {
	case p.Pushed:
		u.Out("pushed %s to %s", p.Tag, p.Remote)
	case p.Remote != "" && r.Remote.Commit != "":
		u.Out("%s has %s already", p.Remote, p.Tag)
	case p.Remote != "":
		u.Out("would push %s to %s", p.Tag, p.Remote)
	case !p.DryRun:
		u.Note("Others do not see it yet: rye bundle publish --push origin")
	}
	if major, _, _ := strings.Cut(p.Version, "."); len(major) > 1 || major > "1" {
		u.Note("Others add it under an id that ends in /v%s.", major)
	}
}

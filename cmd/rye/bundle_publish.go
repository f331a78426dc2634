package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
)

func bundlePublishCommand() *command {
	return &command{
		name: "publish", usage: "tag the committed bundle as a release, after verifying it", args: "[ID]",
		long: `Verifies what is committed, not the work tree: every signature of the manifest, every
file, every item, and that rye.yaml's rule for the bundle has enough signers. Then it
makes the annotated tag that others add: vVERSION, or FOLDER/vVERSION for a bundle in a
folder of its repository. The tag is signed when git is configured to sign tags. A tag
that is there stays: publishing the same commit again changes nothing, and another
commit is refused. Only --push sends anything, and only the tag.`,
		examples: []string{
			"rye bundle publish --dry-run",
			"rye bundle publish acme-tools --version 1.2.0 --push origin",
		},
		codes: []diag.Code{
			diag.ItemNotFound, diag.AmbiguousItem, diag.VersionMismatch, diag.Drift, diag.HashMismatch, diag.BundleFileMissing,
			diag.BundleFileExtra, diag.Unresolvable, diag.Unsigned, diag.KeyUnknown, diag.Threshold, diag.TagMoved, diag.Network,
		},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "version", Usage: "refuse unless this is the `VERSION` of the manifest"},
			&cli.BoolFlag{Name: "dry-run", Usage: "verify everything and change nothing"},
			&cli.StringFlag{Name: "push", Usage: "push the tag to `REMOTE`: a name such as origin, or an address"},
			&cli.BoolFlag{Name: "sign", Usage: "sign the tag even where git is not configured to"},
		},
		complete: completeBundles,
		run:      runBundlePublish,
	}
}

// published is what became of it.
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

func runBundlePublish(ctx context.Context, c *call) error {
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	r, err := c.releasable(ctx, h)
	if err != nil {
		return err
	}
	out := &published{Bundle: r.id, Version: r.Manifest.Version, Tag: r.tag, Commit: r.commit, TagObject: r.here.Object,
		Remote: c.str("push"), DryRun: c.bool("dry-run"), Files: r.FilesChecked, By: r.Signatures}
	if !out.DryRun {
		if err := c.publishTag(ctx, r, out); err != nil {
			return err
		}
	}
	return c.ui.Show(out, func() { c.ui.published(r, out) })
}

// publishTag makes the tag, unless it is there, and pushes it where that was
// asked for and it is not there.
func (c *call) publishTag(ctx context.Context, r *release, out *published) (err error) {
	if r.here.Commit == "" {
		r.here, err = r.repo.MakeTag(ctx, gitcmd.TagParams{Name: r.tag, Commit: r.commit, Sign: c.bool("sign"),
			Message: fmt.Sprintf("%s v%s\n\nmanifest %s\n", r.id, r.Manifest.Version, r.Digest)})
		if err != nil {
			return err
		}
		out.Created, out.TagObject = true, r.here.Object
	}
	if r.here.Object != r.here.Commit {
		if out.Signed, err = r.repo.Signed(ctx, r.here.Object); err != nil {
			return err
		}
	}
	if out.Remote == "" || r.there.Commit != "" {
		return nil
	}
	if err := r.repo.PushTag(ctx, out.Remote, r.tag); err != nil {
		return err
	}
	out.Pushed = true
	return nil
}

func (u *ui) published(r *release, p *published) {
	var who []string
	for _, s := range p.By {
		if s.Counts() {
			who = append(who, signatureLabel(s))
		}
	}
	u.Out("%s: %s verified, signed by %s", r.name(), plural(p.Files, "file"), strings.Join(who, ", "))
	at := p.Commit[:12]
	switch {
	case p.Created && p.Signed:
		u.Out("tagged and signed %s at %s", p.Tag, at)
	case p.Created:
		u.Out("tagged %s at %s", p.Tag, at)
	case r.here.Commit != "":
		u.Out("%s is there already, at %s", p.Tag, at)
	default:
		u.Out("would tag %s at %s", p.Tag, at)
	}
	switch {
	case p.Pushed:
		u.Out("pushed %s to %s", p.Tag, p.Remote)
	case p.Remote != "" && r.there.Commit != "":
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

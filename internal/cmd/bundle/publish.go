package bundle

import (
	"context"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/sign"
)

// publishOptions are the flags of rye bundle publish.
type publishOptions struct {
	version, remote string
	dryRun, sign    bool
}

func bundlePublishCommand() *cli.Command {
	var o publishOptions
	return &cli.Command{
		Name:  "publish",
		Usage: "verify the committed bundle and tag it as a release",
		Args:  "[ID]",
		Long: `Verifies the commit, not the work tree: the manifest's signatures, every file, every
item, and the number of signers that rye.yaml requires. Then creates the annotated tag
of the release: vVERSION, or FOLDER/vVERSION for a bundle in a folder of its
repository. The tag is signed if git is configured to sign tags.

An existing tag is never moved: publishing the same commit again changes nothing, and
another commit is refused. Nothing is sent without --push, which pushes only the tag.`,
		Examples: []string{
			"rye bundle publish --dry-run",
			"rye bundle publish acme-tools --version 1.2.0 --push origin",
		},
		Codes: []diag.Code{
			diag.ItemNotFound, diag.AmbiguousItem, diag.VersionMismatch, diag.Drift, diag.HashMismatch, diag.BundleFileMissing,
			diag.BundleFileExtra, diag.Unresolvable, diag.Unsigned, diag.KeyUnknown, diag.Threshold, diag.TagMoved, diag.Network,
		},
		Flags: []cli.Flag{
			cli.String(&o.version, "version", "fail unless the manifest has this `VERSION`"),
			cli.Bool(&o.dryRun, "dry-run", "verify, show the release and change nothing"),
			cli.String(&o.remote, "push", "push the tag to `REMOTE`: a name such as origin, or an address"),
			cli.Bool(&o.sign, "sign", "sign the tag even if git is not configured to"),
		},
		Complete: completeBundles,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runBundlePublish(ctx, c, &o)
		},
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
	// MissingKeys are the signers of whom the commit has no document: only users who have
	// these keys already can add the bundle.
	MissingKeys []sign.Fingerprint `json:"missing_key_documents,omitempty"`
}

func runBundlePublish(ctx context.Context, c *cli.Call, o *publishOptions) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	r, v, err := checkRelease(ctx, c, h, o)
	if err != nil {
		return err
	}
	out := &published{
		Bundle:    r.ID,
		Version:   r.Version,
		Tag:       r.Tag,
		Commit:    r.Commit,
		TagObject: r.Local.Object,
		Remote:    o.remote,
		DryRun:    o.dryRun,
		Files:     v.FilesChecked,
		By:        v.Signatures,
	}
	if !out.DryRun {
		done, err := r.Publish(ctx, out.Remote, o.sign)
		if err != nil {
			return err
		}
		out.Created = done.Created
		out.Signed = done.Signed
		out.Pushed = done.Pushed
		out.TagObject = r.Local.Object
	}
	for _, s := range out.By {
		if s.Trusted() && !release.HasKeyDocument(h.Spaces.ProjectDir, s.Key) {
			out.MissingKeys = append(out.MissingKeys, s.Key)
		}
	}
	return c.UI.Show(out, func() {
		showPublished(c.UI, r, out)
	})
}

func showPublished(u *cli.UI, r *release.Release, p *published) {
	u.Out("%s: %s verified, signed by %s", r, cli.Plural(p.Files, "file"), trustedSigners(p.By))
	at := p.Commit[:12]
	switch {
	case p.Created && p.Signed:
		u.Out("tagged and signed %s at %s", p.Tag, at)
	case p.Created:
		u.Out("tagged %s at %s", p.Tag, at)
	case r.Local.Commit != "":
		u.Out("%s exists already, at %s", p.Tag, at)
	default:
		u.Out("would tag %s at %s", p.Tag, at)
	}
	switch {
	case p.Pushed:
		u.Out("pushed %s to %s", p.Tag, p.Remote)
	case p.Remote != "" && r.Remote.Commit != "":
		u.Out("%s already has %s", p.Remote, p.Tag)
	case p.Remote != "":
		u.Out("would push %s to %s", p.Tag, p.Remote)
	case !p.DryRun:
		u.Note("The tag is only in this repository: rye bundle publish --push origin")
	}
	for _, key := range p.MissingKeys {
		u.Note("A user who does not have the key %s cannot add this release: rye key export %s >%s", key.Short(), key.Short(), release.KeyDocument(key))
	}
	major, _, _ := strings.Cut(p.Version, ".")
	if len(major) > 1 || major > "1" {
		u.Note("Projects require it with an id that ends in /v%s.", major)
	}
}

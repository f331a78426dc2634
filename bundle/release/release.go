// Package release publishes and revokes releases of bundles. A release is an
// annotated git tag of a commit that contains a verified bundle. The package checks
// that a commit can be released, creates and pushes the tag, and writes revocations
// of releases and publisher documents.
//
// It does not verify items or signatures of a commit (the caller does), store
// documents, or ask for keys.
package release

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
)

// Params configures Check.
type Params struct {
	Repo    *gitcmd.Repo
	Prefix  string // directory of the bundle in the repository: "" or "a/b/"
	ID      string
	Version string // the expected version, with or without v; "" accepts any
	Remote  string // where the tag must not have another commit; "" checks none
	// Verify verifies the bundle and its items as a commit contains them.
	Verify func(ctx context.Context, commit string) (*Content, error)
}

// Content is a bundle in a commit and the result of verifying it.
type Content struct {
	Manifest    *bundle.Manifest // nil if it cannot be read
	Digest      item.Digest      // of the manifest; zero if the commit has none
	ProjectFile []byte           // of rye.yaml; nil if the commit has none
	Findings    []diag.Finding
	Demands     []Demand
}

// Demand is the number of signers that a rule demands, and that have signed.
type Demand struct {
	From      string `json:"from"` // the rule
	Threshold int    `json:"threshold"`
	Of        int    `json:"of"`
	Have      int    `json:"have"`
}

// Release is a verified bundle in a commit, with the tag of its version.
type Release struct {
	ID      string
	Version string // without v
	Digest  item.Digest
	Commit  string
	Tag     string

	Local, Remote gitcmd.Ref // the tag in this repository and in Params.Remote; zero if absent

	repo *gitcmd.Repo
}

// String returns id and version.
func (r *Release) String() string {
	return r.ID + " " + r.Version
}

// Check returns the release of the current commit, or an error if the commit cannot
// be released. It changes nothing.
func Check(ctx context.Context, p Params) (*Release, error) {
	if p.Repo.WorkTree == "" {
		return nil, diag.New(diag.Usage, "publishing %s: a bare repository has no work tree", p.ID).WithReason("bare")
	}
	commit, err := p.Repo.Commit(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	// The work tree must equal the commit: the user reads the work tree, and the
	// commit is released.
	if err := p.checkClean(ctx, commit); err != nil {
		return nil, err
	}
	content, err := p.Verify(ctx, commit)
	if err != nil {
		return nil, err
	}
	if err := p.checkContent(commit, content); err != nil {
		return nil, err
	}
	r := &Release{
		ID:      p.ID,
		Version: content.Manifest.Version,
		Digest:  content.Digest,
		Commit:  commit,
		repo:    p.Repo,
	}
	if err := p.checkVersion(r.Version); err != nil {
		return nil, err
	}
	r.Tag = p.Prefix + "v" + r.Version
	return r, r.findTags(ctx, p.Remote)
}

// maxUnclean is the number of files that are listed if the work tree differs from
// the commit.
const maxUnclean = 20

func (p Params) checkClean(ctx context.Context, commit string) error {
	list, err := p.Repo.Unclean(ctx, strings.TrimSuffix(p.Prefix, "/"))
	if err != nil || len(list) == 0 {
		return err
	}
	what := fmt.Sprintf("%d files differ", len(list))
	if len(list) == 1 {
		what = strings.TrimPrefix(list[0], p.Prefix) + " differs"
	}
	e := diag.New(diag.Drift, "publishing %s: %s from the commit that would be tagged", p.ID, what).WithReason("unclean")
	for _, path := range list[:min(len(list), maxUnclean)] {
		f := diag.Errorf(diag.Drift, 0, 0, "it differs from commit %s", commit[:12])
		f.Path = strings.TrimPrefix(path, p.Prefix)
		e.Findings = append(e.Findings, f)
	}
	return e
}

func (p Params) checkContent(commit string, c *Content) error {
	if c.Digest == (item.Digest{}) {
		return diag.New(
			diag.BundleFileMissing,
			"publishing %s: the commit %s does not contain %s",
			p.ID,
			commit[:12],
			bundle.ManifestPath(p.ID),
		).
			WithReason("manifest_not_committed").WithDetail("id", p.ID)
	}
	findings := c.Findings
	for i := range findings {
		// bundle.Verify warns about a rye.yaml that the manifest does not list,
		// since old releases have one. A new release must sign it.
		if findings[i].Code == diag.BundleFileExtra {
			findings[i].Severity = diag.SeverityError
		}
	}
	return cmp.Or(
		diag.FromFindings("publishing "+p.ID, findings),
		p.checkRequirements(c.ProjectFile),
		p.checkDemands(c.Demands),
	)
}

// checkRequirements refuses a release without a project file, since a later change
// of the repository could add requirements, and a release that requires local
// directories.
func (p Params) checkRequirements(text []byte) error {
	if text == nil {
		return diag.New(diag.BundleFileMissing, "publishing %s: it has no %s, so its requirements are not signed", p.ID, lock.ProjectFileName).
			WithReason("no_project_file").WithDetail("id", p.ID)
	}
	m, fs := lock.ParseProjectFile(text)
	if m != nil {
		fs = append(fs, LocalRequirements(m)...)
	}
	return diag.FromFindings("publishing "+p.ID, diag.WithPath(fs, lock.ProjectFileName))
}

// LocalRequirements returns a finding about each requirement that is a directory of the
// author's computer, which no user has.
func LocalRequirements(m *lock.ProjectFile) (findings []diag.Finding) {
	for _, need := range m.Requires() {
		if need.ID.Kind == lock.PathID {
			at := m.Position("require", need.ID.String())
			findings = append(findings, diag.Errorf(
				diag.Unresolvable,
				at.Line,
				at.Column,
				"it requires the local directory %s",
				need.ID,
			).
				WithReason("local_requirement"))
		}
	}
	return findings
}

func (p Params) checkDemands(demands []Demand) error {
	for _, d := range demands {
		if d.Have < d.Threshold {
			return diag.New(
				diag.Threshold,
				"publishing %s: %s demands %d of %d signers, %d signed",
				p.ID,
				d.From,
				d.Threshold,
				d.Of,
				d.Have,
			).
				WithReason("publish").WithDetail("id", p.ID)
		}
	}
	return nil
}

func (p Params) checkVersion(have string) error {
	want := strings.TrimPrefix(p.Version, "v")
	switch {
	case want == "" || want == have:
		return nil
	case item.CheckVersion(want) != nil:
		return diag.New(diag.Usage, "publishing %s: the version %q is not MAJOR.MINOR.PATCH", p.ID, p.Version)
	}
	return diag.New(diag.VersionMismatch, "publishing %s %s: its manifest has version %s", p.ID, want, have).
		WithDetail("expected", want).
		WithDetail("found", have).
		WithDetail("id", p.ID).
		WithReason("publish")
}

// findTags refuses a tag that exists with another commit: a released version does
// not change.
func (r *Release) findTags(ctx context.Context, remote string) (err error) {
	if r.Local, err = r.repo.Tag(ctx, r.Tag); err != nil {
		return err
	}
	if err := r.checkTag(r.Local, "this repository"); err != nil || remote == "" {
		return err
	}
	if r.Remote, err = r.repo.RemoteTag(ctx, remote, r.Tag); err != nil {
		return err
	}
	return r.checkTag(r.Remote, remote)
}

func (r *Release) checkTag(tag gitcmd.Ref, where string) error {
	if tag.Commit == "" || tag.Commit == r.Commit {
		return nil
	}
	return diag.New(diag.TagMoved, "publishing %s: the tag %s of %s has another commit", r, r.Tag, where).
		WithDetail("expected", r.Commit).
		WithDetail("found", tag.Commit).
		WithDetail("tag", r.Tag).
		WithReason("released").
		WithDetail("id", r.ID).
		WithDetail("next", nextVersion(r.Version))
}

// Published is the result of Publish.
type Published struct {
	Created bool // the tag
	Signed  bool // the tag object, by git
	Pushed  bool
}

// Publish creates the tag, unless it exists, and pushes it to a remote, unless it
// exists there or remote is "". sign signs the tag even if git is not configured
// to.
func (r *Release) Publish(ctx context.Context, remote string, sign bool) (out Published, err error) {
	if r.Local.Commit == "" {
		r.Local, err = r.repo.MakeTag(ctx, gitcmd.TagParams{
			Name:    r.Tag,
			Commit:  r.Commit,
			Sign:    sign,
			Message: fmt.Sprintf("%s v%s\n\nmanifest %s\n", r.ID, r.Version, r.Digest),
		})
		if err != nil {
			return out, err
		}
		out.Created = true
	}
	if r.Local.Object != r.Local.Commit {
		if out.Signed, err = r.repo.Signed(ctx, r.Local.Object); err != nil {
			return out, err
		}
	}
	if remote == "" || r.Remote.Commit != "" {
		return out, nil
	}
	if err := r.repo.PushTag(ctx, remote, r.Tag); err != nil {
		return out, err
	}
	out.Pushed = true
	return out, nil
}

// nextVersion returns the lowest release after a version.
func nextVersion(version string) string {
	core, _, _ := strings.Cut(version, "-")
	core, _, _ = strings.Cut(core, "+")
	if core != version {
		return core
	}
	dot := strings.LastIndexByte(version, '.')
	patch, err := strconv.ParseUint(version[dot+1:], 10, 64)
	if err != nil {
		return "VERSION"
	}
	return version[:dot+1] + strconv.FormatUint(patch+1, 10)
}

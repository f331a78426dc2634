package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// release is what is to be published.
type release struct {
	repo   *gitcmd.Repo
	prefix string // of the bundle in the repository, "" or "a/b/"
	id     string
	tag    string
	commit string
	*verifiedBundle

	here, there gitcmd.Ref // the tag as it is, in this repository and in the remote
}

func (r *release) name() string { return r.id + " " + r.Manifest.Version }

// releasable finds the bundle and verifies all that a release rests on.
func releasable(ctx context.Context, c *cli.Call, h *project.Project) (*release, error) {
	r := &release{}
	var err error
	if c.Offline && c.Str("push") != "" {
		return nil, diag.New(diag.Usage, "reading arguments: --push needs the network, and --offline lets nothing use it")
	}
	if r.id, err = theBundle(h, c.Arg(0)); err != nil {
		return nil, err
	}
	if r.repo, err = envOf(c).Repo(ctx); err != nil {
		if diag.CodeOf(err) == diag.SourceNotFound {
			return nil, diag.New(diag.SourceNotFound, "publishing %s: there is no git repository here, and a release is a tag of one", r.id).
				WithHint("git init, commit, then publish")
		}
		return nil, err
	}
	if r.prefix = h.PrefixIn(r.repo); r.repo.WorkTree == "" {
		return nil, diag.New(diag.Usage, "publishing %s: a bare repository has no work tree to publish from", r.id).WithHint("run it in a clone")
	}
	if r.commit, err = r.repo.Commit(ctx, "HEAD"); err != nil {
		return nil, err
	}
	if err := r.clean(ctx); err != nil {
		return nil, err
	}
	if err := r.verify(ctx, h); err != nil {
		return nil, err
	}
	if err := r.versioned(c.Str("version")); err != nil {
		return nil, err
	}
	return r, r.unmoved(ctx, c.Str("push"))
}

// theBundle returns the bundle that a word names, or the only one there is.
func theBundle(h *project.Project, word string) (string, error) {
	if _, err := h.NeedProject(); err != nil {
		return "", err
	}
	ids := bundleIDs(h)
	switch {
	case word != "":
		for _, id := range ids {
			if id == word {
				return id, nil
			}
		}
		return "", noBundle(h, word)
	case len(ids) == 0:
		return "", diag.New(diag.ItemNotFound, "looking for the manifest: this project makes no bundle").
			WithHint("rye bundle create ID --version 0.1.0 makes one of it")
	case len(ids) > 1:
		return "", diag.New(diag.AmbiguousItem, "looking for the manifest: this project makes %d bundles: %s", len(ids), strings.Join(ids, ", ")).
			WithHint("name one: rye bundle publish %s", ids[0])
	}
	return ids[0], nil
}

// maxUnclean is how many files that are not committed are named.
const maxUnclean = 20

// clean refuses a work tree that is not what is committed: who publishes must
// see what he publishes.
func (r *release) clean(ctx context.Context) error {
	list, err := r.repo.Unclean(ctx, strings.TrimSuffix(r.prefix, "/"))
	if err != nil || len(list) == 0 {
		return err
	}
	what := fmt.Sprintf("%d files differ", len(list))
	if len(list) == 1 {
		what = strings.TrimPrefix(list[0], r.prefix) + " differs"
	}
	e := diag.New(diag.Drift, "publishing %s: %s from the commit that would be tagged", r.id, what)
	for _, p := range list[:min(len(list), maxUnclean)] {
		f := diag.Errorf(diag.Drift, 0, 0, "it is not as commit %s has it", r.commit[:12])
		f.Path = strings.TrimPrefix(p, r.prefix)
		e.Findings = append(e.Findings, f)
	}
	return e.WithHint("commit them, or take them back: git status")
}

// verify verifies the bundle and every item of it as they are committed.
func (r *release) verify(ctx context.Context, h *project.Project) error {
	files, err := verify.Revision(ctx, r.repo.Git, r.commit, r.prefix)
	if err != nil {
		return err
	}
	defer files.Close()
	root := files.Root()
	tree, done, err := verify.BundleTree(root)
	if err != nil {
		return err
	}
	defer done()
	if r.verifiedBundle, err = verifyBundle(ctx, h, tree, h.Spaces.ProjectDir, r.id); err != nil {
		return err
	}
	if r.Manifest == nil && r.Digest == (item.Digest{}) {
		return diag.New(diag.BundleFileMissing, "publishing %s: the commit %s does not hold %s", r.id, r.commit[:12], bundle.ManifestPath(r.id)).
			WithHint("git add -f .ai/bundles/%s, commit, then publish; a line of .gitignore may keep it out", r.id)
	}
	rep, err := verify.Root(ctx, verify.Params{Resolver: h.Verifier(h.With(root)), Trust: h.Trust, CountOnly: true}, root)
	if err != nil {
		return err
	}
	if err := diag.FromFindings("publishing "+r.id, unsignedIsWrong(rep.Findings)); err != nil {
		return err
	}
	return cmp.Or(r.resolvable(root), r.signedByEnough())
}

// signedByEnough holds the signers against what rules and publishers demand of
// this bundle.
func (r *release) signedByEnough() error {
	for _, d := range r.Needs {
		if d.Have < d.Threshold {
			return diag.New(diag.Threshold, "publishing %s: %s demands %d of %d signers, %d signed", r.id, d.From, d.Threshold, d.Of, d.Have).
				WithHint("the others run: rye bundle sign %s; commit what it writes, then publish", r.id)
		}
	}
	return nil
}

// resolvable refuses a release that requires folders which nobody else has, and
// one that does not say, under its signature, what it requires.
func (r *release) resolvable(root *space.Root) error {
	text, _, err := root.Beside(lock.ManifestFile, lock.MaxManifest)
	if space.IsMissing(err) {
		return diag.New(diag.BundleFileMissing, "publishing %s: it has no %s, so whoever changes the repository could add one, and with it what the bundle requires", r.id, lock.ManifestFile).
			WithHint("rye init writes one; then rye bundle create %s, commit, publish", r.id)
	}
	if err != nil {
		return err
	}
	doing := "publishing " + r.id
	m, fs := lock.ParseManifest(text)
	if m == nil {
		return diag.FromFindings(doing, diag.WithPath(fs, lock.ManifestFile))
	}
	for _, need := range m.Requires() {
		if id, err := lock.ParseID(need.ID); err == nil && id.Kind == lock.PathID {
			at := m.Place("require", need.ID)
			f := diag.Errorf(diag.Unresolvable, at.Line, at.Column, "it requires the folder %s, which nobody has who adds the bundle", need.ID)
			f.Path, f.Fix = lock.ManifestFile, "require a release of it, or make it part of this bundle"
			fs = append(fs, f)
		}
	}
	return diag.FromFindings(doing, fs)
}

// unsignedIsWrong makes an error of what only old releases are forgiven: a
// rye.yaml that the manifest does not list.
func unsignedIsWrong(fs []diag.Finding) []diag.Finding {
	for i := range fs {
		if fs[i].Code == diag.BundleFileExtra {
			fs[i].Severity = diag.SeverityError
		}
	}
	return fs
}

// versioned settles the tag, and refuses another version than the one meant.
func (r *release) versioned(want string) error {
	v := r.Manifest.Version
	if want = strings.TrimPrefix(want, "v"); want != "" && item.CheckVersion(want) != nil {
		return diag.New(diag.Usage, "reading flag --version: %q is not MAJOR.MINOR.PATCH", want)
	}
	if want != "" && want != v {
		return diag.New(diag.VersionMismatch, "publishing %s %s: its manifest is that of version %s", r.id, want, v).
			WithDetail("expected", want).WithDetail("found", v).
			WithHint("rye bundle create %s --version %s, commit, then publish", r.id, want)
	}
	r.tag = r.prefix + "v" + v
	return nil
}

// unmoved refuses to give a released version another commit, here and in the
// remote.
func (r *release) unmoved(ctx context.Context, remote string) (err error) {
	if r.here, err = r.repo.Tag(ctx, r.tag); err != nil {
		return err
	}
	if err := r.same(r.here, "this repository"); err != nil || remote == "" {
		return err
	}
	if r.there, err = r.repo.RemoteTag(ctx, remote, r.tag); err != nil {
		return err
	}
	return r.same(r.there, remote)
}

func (r *release) same(t gitcmd.Ref, where string) error {
	if t.Commit == "" || t.Commit == r.commit {
		return nil
	}
	return diag.New(diag.TagMoved, "publishing %s: the tag %s of %s holds another commit already", r.name(), r.tag, where).
		WithDetail("expected", r.commit).WithDetail("found", t.Commit).WithDetail("tag", r.tag).
		WithHint("a release does not change: rye bundle create %s --version %s, commit, then publish", r.id, next(r.Manifest.Version))
}

// next returns the smallest version after one.
func next(version string) string {
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

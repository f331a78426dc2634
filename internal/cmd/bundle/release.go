package bundle

import (
	"context"
	"strings"

	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/registry/items"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// checkRelease finds the bundle and verifies the commit that is released. It returns the
// bundle as the commit has it.
func checkRelease(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *publishOptions,
) (*release.Release, *verifiedBundle, error) {
	if c.Offline && o.remote != "" {
		return nil, nil, diag.New(diag.Usage, "reading arguments: --push and --offline exclude each other")
	}
	id, err := selectBundle(h, c.Arg(0))
	if err != nil {
		return nil, nil, err
	}
	repo, err := env.Of(c).Repo(ctx)
	if diag.CodeOf(err) == diag.SourceNotFound {
		return nil, nil, diag.New(diag.SourceNotFound, "publishing %s: this directory is not in a git repository", id).WithReason("no_repository")
	}
	if err != nil {
		return nil, nil, err
	}
	var verified *verifiedBundle
	r, err := release.Check(ctx, release.Params{
		Repo:    repo,
		Prefix:  h.PrefixIn(repo),
		ID:      id,
		Version: o.version,
		Remote:  o.remote,
		Verify: func(ctx context.Context, commit string) (content *release.Content, err error) {
			verified, content, err = verifyCommit(ctx, h, repo, commit, id)
			return content, err
		},
	})
	return r, verified, err
}

// verifyCommit verifies the bundle and every item of it in a commit.
func verifyCommit(
	ctx context.Context,
	h *project.Project,
	repo *gitcmd.Repo,
	commit, id string,
) (*verifiedBundle, *release.Content, error) {
	files, err := verify.Revision(ctx, repo.Git, commit, h.PrefixIn(repo))
	if err != nil {
		return nil, nil, err
	}
	defer files.Close()
	root := files.Root()
	tree, done, err := verify.BundleTree(root)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	v, err := verifyBundle(ctx, h, tree, h.Spaces.ProjectDir, id)
	if err != nil {
		return nil, nil, err
	}
	// The report of the root includes the findings about the manifest.
	rep, err := verify.Root(
		ctx,
		verify.Params{
			Resolver:  h.Verifier(h.With(root)),
			Trust:     h.Trust,
			CountOnly: true,
			Ignored:   h.Ignored(),
		},
		root,
	)
	if err != nil {
		return nil, nil, err
	}
	text, _, err := root.Sibling(lock.ProjectFileName, lock.MaxProjectFile)
	if err != nil && !space.IsMissing(err) {
		return nil, nil, err
	}
	return v, &release.Content{
		Manifest:    v.Manifest,
		Digest:      v.Digest,
		ProjectFile: text,
		Findings:    rep.Findings,
		Demands:     v.Needs,
	}, nil
}

// selectBundle returns the named bundle, or the only one of the project.
func selectBundle(h *project.Project, word string) (string, error) {
	if _, err := h.NeedProject(); err != nil {
		return "", err
	}
	ids := items.OwnBundles(h)
	switch {
	case word != "":
		for _, id := range ids {
			if id == word {
				return id, nil
			}
		}
		return "", noBundle(h, word)
	case len(ids) == 0:
		return "", diag.New(diag.ItemNotFound, "looking for the manifest: this project has no bundle").WithReason("makes_no_bundle")
	case len(ids) > 1:
		return "", diag.New(
			diag.AmbiguousItem,
			"looking for the manifest: this project has %d bundles: %s",
			len(ids),
			strings.Join(ids, ", "),
		).
			WithReason("several_bundles").WithDetail("id", ids[0])
	}
	return ids[0], nil
}

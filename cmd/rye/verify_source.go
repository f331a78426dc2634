package main

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// verifySource is where the items to verify come from.
type verifySource struct {
	roots    []*space.Root // walked when no item is named
	house    *house        // whose lock is held against them
	resolver *resolve.Resolver
	// place finds what a word names by its path; ok is false for a ref.
	place func(word string) (root *space.Root, rel string, ok bool)
	close func()
}

// verifySource opens the source that the flags choose: the work tree, a
// revision, the index or the system space. The keys that count are the same for
// all of them: none comes from what is verified.
func (c *call) verifySource(ctx context.Context, h *house) (*verifySource, error) {
	rev, chosen := c.str("rev"), 0
	for _, on := range []bool{rev != "" || c.isSet("rev"), c.bool("staged"), c.bool("system"), c.bool("all")} {
		if on {
			chosen++
		}
	}
	switch {
	case chosen > 0 && c.isSet("base"):
		return nil, diag.New(diag.Usage, "reading arguments: --base compares with the work tree").WithHint("leave out --rev, --staged and --system")
	case chosen > 1:
		return nil, diag.New(diag.Usage, "reading arguments: --rev, --staged, --system and --all exclude each other").WithHint("give one of them")
	case c.isSet("rev"):
		return c.revisionSource(ctx, h, rev)
	case c.bool("staged"):
		return c.stagedSource(ctx, h)
	case c.bool("system"):
		return h.systemSource(c)
	case c.bool("all") && len(c.args) > 0:
		return nil, diag.New(diag.Usage, "reading arguments: --all verifies everything, so nothing can be named beside it")
	}
	src := &verifySource{house: h, place: func(word string) (*space.Root, string, bool) { return c.placeOf(h, word) }, close: func() {}}
	switch {
	case c.bool("all"):
		src.roots = h.spaces.Roots
	case len(c.args) == 0:
		root, err := h.needProject()
		if err != nil {
			return nil, err
		}
		src.roots = []*space.Root{root}
	}
	src.resolver = h.verifier(h.spaces)
	return src, nil
}

// verifier returns a resolver for a walk: lenient, and each file is read once.
func (h *house) verifier(spaces *space.Spaces) *resolve.Resolver {
	return resolve.New(resolve.Params{Spaces: spaces, Trust: h.trust, Lenient: true, NoCache: true})
}

// with returns the spaces with another root in place of the project's.
func (h *house) with(project *space.Root) *space.Spaces {
	s := *h.spaces
	s.Roots = []*space.Root{project}
	for _, r := range h.spaces.Roots {
		if r.Space != space.Project {
			s.Roots = append(s.Roots, r)
		}
	}
	return &s
}

func (h *house) systemSource(c *call) (*verifySource, error) {
	s := *h.spaces
	s.Roots = nil
	for _, r := range h.spaces.Roots {
		if r.Space == space.System {
			s.Roots = append(s.Roots, r)
		}
	}
	if len(s.Roots) == 0 {
		return nil, diag.New(diag.ItemNotFound, "verifying the system space: this program has none").WithHint("rye doctor")
	}
	place := func(word string) (*space.Root, string, bool) { return c.placeOf(&house{spaces: &s}, word) }
	return &verifySource{roots: s.Roots, resolver: h.verifier(&s), place: place, close: func() {}}, nil
}

func (c *call) revisionSource(ctx context.Context, h *house, rev string) (*verifySource, error) {
	repo, err := c.repo(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := repo.Resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if !strings.Contains(rev, ":") { // COMMIT:FOLDER names the project itself
		prefix = h.prefixIn(repo)
	}
	p, err := revisionProject(ctx, repo, tree, prefix)
	if err != nil {
		return nil, err
	}
	return c.gitSource(h, p, repo, rev)
}

func (c *call) stagedSource(ctx context.Context, h *house) (*verifySource, error) {
	repo, err := c.repo(ctx)
	if err != nil {
		return nil, err
	}
	if repo.WorkTree == "" {
		return nil, diag.New(diag.Usage, "verifying the index: a bare repository has none").WithHint("rye verify --rev HEAD")
	}
	p, err := stagedProject(ctx, repo, h.prefixIn(repo))
	if err != nil {
		return nil, err
	}
	return c.gitSource(h, p, repo, "the index")
}

func (c *call) gitSource(h *house, p *gitProject, repo *gitcmd.Repo, what string) (*verifySource, error) {
	x, err := c.openInGit(h, p, what)
	if err != nil {
		p.close()
		return nil, err
	}
	root := x.spaces.Of(space.Project)
	top := path.Join("/", p.prefix, space.Dir)
	return &verifySource{
		roots:    []*space.Root{root},
		house:    x,
		resolver: x.verifier(x.spaces),
		close:    p.close,
		place: func(word string) (*space.Root, string, bool) {
			at := path.Join("/", c.prefixBelow(repo), filepath.ToSlash(word))
			rel, below := strings.CutPrefix(at+"/", top+"/")
			if rel = strings.TrimSuffix(rel, "/"); rel == "" {
				rel = "."
			}
			return root, rel, below && p.Exists(rel)
		},
	}, nil
}

// openInGit returns the house over a project that was found in git's objects.
func (c *call) openInGit(h *house, p *gitProject, what string) (*house, error) {
	if p.Empty() {
		return nil, diag.New(diag.ItemNotFound, "verifying %s: it has no %s", what, p.prefix+space.Dir).
			WithHint("name the project's folder with -C, or as COMMIT:FOLDER")
	}
	if err := p.readFiles(); err != nil {
		return nil, err
	}
	return c.inGit(h, p, p.Root(), what)
}

// repo finds the repository of the folder that rye works in.
func (c *call) repo(ctx context.Context) (*gitcmd.Repo, error) {
	git, err := gitcmd.New(gitcmd.Params{Dir: c.dir, Cwd: c.Dir, Environ: c.Environ()})
	if err != nil {
		return nil, err
	}
	return git.Repo(ctx)
}

// prefixIn returns where the project lies in a repository: "" or "a/b/". In a
// bare repository, and without a project, that is the top.
func (h *house) prefixIn(repo *gitcmd.Repo) string {
	if h.spaces.ProjectDir == "" {
		return ""
	}
	return below(repo.WorkTree, h.spaces.ProjectDir)
}

// prefixBelow returns where the folder that words count from lies.
func (c *call) prefixBelow(repo *gitcmd.Repo) string { return below(repo.WorkTree, c.dir) }

// below returns dir relative to top, with a slash at its end, "" when it is top
// or lies elsewhere.
func below(top, dir string) string {
	if top == "" {
		return ""
	}
	for _, resolve := range []func(string) (string, error){func(p string) (string, error) { return p, nil }, filepath.EvalSymlinks} {
		t, err1 := resolve(top)
		d, err2 := resolve(dir)
		if err1 != nil || err2 != nil {
			continue
		}
		rel, err := filepath.Rel(t, d)
		if err == nil && filepath.IsLocal(rel) {
			return strings.TrimPrefix(filepath.ToSlash(rel)+"/", "./")
		}
	}
	return ""
}

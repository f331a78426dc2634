package revision

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// Source provides the items to verify.
type Source struct {
	Roots    []*space.Root    // walked when no item is named
	Project  *project.Project // its lock is compared with the items
	Resolver *resolve.Resolver
	// Locate finds the file that a path names; ok is false for a ref.
	Locate func(word string) (root *space.Root, rel string, ok bool)
	Close  func()
	// Ignored is verify.Params.Ignored.
	Ignored func(ctx context.Context, paths []string) (map[string]bool, error)
	// Filtered is verify.Params.Filtered.
	Filtered func(ctx context.Context, paths []string) (map[string]string, error)
	// others lists paths of the project outside of .ai; nil lists none.
	others func(ctx context.Context) ([]string, error)
}

// Outside reports what looks like an .ai directory in the project and is not
// verified with it.
func (s *Source) Outside(ctx context.Context) ([]diag.Finding, error) {
	if s.others == nil {
		return nil, nil
	}
	paths, err := s.others(ctx)
	return verify.Outside(paths), err
}

// Choice selects what to verify. The zero value selects the work tree; at most
// one of the others may be selected.
type Choice struct {
	Revision   string // a revision, or REV:FOLDER of a project in it
	InRevision bool   // verify Revision
	Staged     bool   // the index
	System     bool   // the system space
	All        bool   // every space
	Words      []string
}

// OpenSource opens what the choice names: the work tree, a revision, the index or
// the system space. The trusted keys are the same for all of them; none comes from
// the verified files.
func OpenSource(ctx context.Context, p *project.Project, w Choice) (*Source, error) {
	switch {
	case w.InRevision:
		return revisionSource(ctx, p, w.Revision)
	case w.Staged:
		return stagedSource(ctx, p)
	case w.System:
		return systemSource(p, p.Env)
	case w.All && len(w.Words) > 0:
		return nil, diag.New(diag.Usage, "reading arguments: --all verifies everything and takes no arguments")
	}
	src := &Source{
		Project:  p,
		Ignored:  p.Ignored(),
		Filtered: p.Filtered(),
		Locate: func(word string) (*space.Root, string, bool) {
			return p.PlaceOf(word)
		},
		Close: func() {},
	}
	switch {
	case w.All:
		src.Roots = p.Spaces.Roots
	case len(w.Words) == 0:
		root, err := p.NeedProject()
		if err != nil {
			return nil, err
		}
		src.Roots = []*space.Root{root}
	}
	if dir := p.Spaces.ProjectDir; dir != "" {
		src.others = func(ctx context.Context) ([]string, error) {
			return verify.Directories(ctx, dir, func(abs string) bool {
				return abs == p.Env.Home() || abs == p.Spaces.UserDir
			})
		}
	}
	src.Resolver = p.Walker()
	return src, nil
}

func systemSource(p *project.Project, e *project.Env) (*Source, error) {
	s := *p.Spaces
	s.Roots = nil
	for _, r := range p.Spaces.Roots {
		if r.Space == space.System {
			s.Roots = append(s.Roots, r)
		}
	}
	if len(s.Roots) == 0 {
		return nil, diag.New(diag.ItemNotFound, "verifying the system space: this program has none")
	}
	place := func(word string) (*space.Root, string, bool) {
		return (&project.Project{Env: p.Env, Spaces: &s}).PlaceOf(word)
	}
	return &Source{
		Roots:    s.Roots,
		Resolver: p.Verifier(&s),
		Locate:   place,
		Close:    func() {},
	}, nil
}

func revisionSource(ctx context.Context, h *project.Project, rev string) (*Source, error) {
	repo, err := h.Env.Repo(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := repo.Resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if !strings.Contains(rev, ":") { // COMMIT:FOLDER names the project itself
		prefix = h.PrefixIn(repo)
	}
	p, err := Open(ctx, repo, tree, prefix)
	if err != nil {
		return nil, err
	}
	return gitSource(ctx, h, p, repo, rev)
}

func stagedSource(ctx context.Context, h *project.Project) (*Source, error) {
	repo, err := h.Env.Repo(ctx)
	if err != nil {
		return nil, err
	}
	if repo.WorkTree == "" {
		return nil, diag.New(diag.Usage, "verifying the index: a bare repository has none").WithReason("bare_index")
	}
	p, err := openStaged(ctx, repo, h.PrefixIn(repo))
	if err != nil {
		return nil, err
	}
	return gitSource(ctx, h, p, repo, "the index")
}

func gitSource(
	ctx context.Context,
	h *project.Project,
	p *Folder,
	repo *gitcmd.Repo,
	what string,
) (*Source, error) {
	x, err := OpenProject(ctx, h, p, what)
	if err != nil {
		p.Release()
		return nil, err
	}
	root := x.Spaces.Of(space.Project)
	top := path.Join("/", p.prefix, space.Dir)
	return &Source{
		Roots:    []*space.Root{root},
		Project:  x,
		Resolver: x.Walker(),
		Close:    p.Release,
		Locate: func(word string) (*space.Root, string, bool) {
			at := path.Join("/", prefixBelow(h.Env, repo), filepath.ToSlash(word))
			rel, below := strings.CutPrefix(at+"/", top+"/")
			if rel = strings.TrimSuffix(rel, "/"); rel == "" {
				rel = "."
			}
			return root, rel, below && p.Exists(rel)
		},
		others: func(context.Context) ([]string, error) {
			return p.paths()
		},
	}, nil
}

// OpenProject opens a project that was found in git's objects.
func OpenProject(ctx context.Context, h *project.Project, p *Folder, what string) (*project.Project, error) {
	if err := p.readFiles(); err != nil {
		return nil, err
	}
	if ok, err := p.IsProject(); err != nil {
		return nil, err
	} else if !ok {
		return nil, diag.New(
			diag.ItemNotFound,
			"verifying %s: it has no %s and no %s",
			what,
			p.prefix+lock.ProjectFileName,
			p.prefix+space.Dir,
		).
			WithReason("no_project_in_git")
	}
	return inGit(ctx, h, p, p.Root(), what)
}

// prefixBelow returns where the folder that words count from lies.
func prefixBelow(e *project.Env, repo *gitcmd.Repo) string {
	return project.Below(repo.WorkTree, e.Base)
}

package project

import (
	"context"

	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/resolve/space"
)

// Ignored returns which of the project's paths git ignores in the work tree. It is nil
// for a project that is not on disk: git ignores nothing that is in a commit.
func (p *Project) Ignored() func(ctx context.Context, paths []string) (map[string]bool, error) {
	root := p.Spaces.Of(space.Project)
	if root == nil || !root.OnDisk() {
		return nil
	}
	return IgnoredIn(p.Env, p.Spaces.ProjectDir)
}

// IgnoredIn returns Ignored for a directory. Without git, or outside of a work tree, no path is ignored.
func IgnoredIn(e *Env, dir string) func(ctx context.Context, paths []string) (map[string]bool, error) {
	return func(ctx context.Context, paths []string) (map[string]bool, error) {
		git, err := gitcmd.New(gitcmd.Params{Dir: dir, Cwd: e.Cwd, Environ: e.Environ()})
		if err != nil || Worktree(Resolved(dir)) == "" {
			return nil, nil
		}
		return git.Ignored(ctx, paths)
	}
}

// Filtered returns the paths of the project that git stores with other bytes than
// the work tree has. It is nil for a project that is not on disk.
func (p *Project) Filtered() func(ctx context.Context, paths []string) (map[string]string, error) {
	root := p.Spaces.Of(space.Project)
	if root == nil || !root.OnDisk() {
		return nil
	}
	dir := p.Spaces.ProjectDir
	return func(ctx context.Context, paths []string) (map[string]string, error) {
		git, err := gitcmd.New(gitcmd.Params{Dir: dir, Cwd: p.Env.Cwd, Environ: p.Env.Environ()})
		if err != nil || Worktree(Resolved(dir)) == "" {
			return nil, nil // without git, or outside of a work tree
		}
		return git.Filtered(ctx, paths)
	}
}

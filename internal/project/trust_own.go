package project

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
)

// withoutBroughtTrust takes away what would be the user's own trust but came
// with the project. A build machine may have its home inside a checkout: a
// trust folder there is the user's, unless git tracks a file of it. What cannot
// be told counts as brought.
func (p *Project) withoutBroughtTrust(ctx context.Context) (fs []diag.Finding) {
	p.TrustParams.LegacyDir = legacyDir(p.Spaces.UserDir)
	for _, dir := range []*string{&p.TrustParams.UserDir, &p.TrustParams.LegacyDir, &p.Dirs.State} {
		if why := p.Env.brought(ctx, p.Spaces.ProjectDir, *dir); why != "" {
			f := diag.Warnf(diag.TrustChanged, 0, 0, "%s: a repository cannot bring its own trust, so nothing in this folder counts", why)
			f.Path, f.Fix = *dir, "have HOME or XDG_CONFIG_HOME and XDG_STATE_HOME outside of the repository"
			fs = append(fs, f)
			*dir = ""
		}
	}
	if p.Dirs.State == "" {
		p.TrustParams.StateDir = ""
	}
	return fs
}

// brought says why a folder may have come with the project, or "".
func (e *Env) brought(ctx context.Context, project, dir string) string {
	if project == "" || dir == "" || !e.together(ctx, resolved(project), resolved(dir)) {
		return ""
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return ""
	}
	switch tracked, err := gitcmd.Tracked(ctx, dir, e.Environ()); {
	case err != nil && worktree(dir) != "":
		return "it lies in a repository, and git does not tell what it tracks"
	case tracked:
		return "git tracks files of it"
	}
	return ""
}

// together reports whether who brings the project may bring the folder: it lies
// in the project, or beside it in the repository that tracks the project.
func (e *Env) together(ctx context.Context, project, dir string) bool {
	if within(project, dir) {
		return true
	}
	if top := worktree(project); top == "" || !within(top, dir) {
		return false
	}
	tracked, err := gitcmd.Tracked(ctx, project, e.Environ())
	return tracked || err != nil
}

// worktree returns the nearest folder above that git works in, "" when there is
// none.
func worktree(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

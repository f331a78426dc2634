package project

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/keychain"
)

// dropTrackedTrust removes the user's own trust directories that came with the
// project. A build machine may have its home inside a checkout: a trust directory
// there is the user's unless git tracks a file of it. If git cannot answer, the
// directory is removed too.
func (p *Project) dropTrackedTrust(ctx context.Context) (fs []diag.Finding) {
	p.TrustParams.LegacyDir = keychain.LegacyDir(p.Spaces.UserDir)
	project := p.resolvedDir()
	for _, dir := range []*string{&p.TrustParams.UserDir, &p.TrustParams.LegacyDir, &p.Dirs.State} {
		why := p.Env.trackedWith(ctx, project, *dir)
		if why != "" {
			f := diag.Warnf(diag.TrustChanged, 0, 0, "%s: a repository cannot bring its own trust, so this directory is not used", why)
			f.Path = *dir
			f.Reason = "home_tracked"
			fs = append(fs, f)
			*dir = ""
		}
	}
	if p.Dirs.State == "" {
		p.TrustParams.StateDir = ""
	}
	return fs
}

// resolvedDir returns the directory of the project without links, "" without a project.
func (p *Project) resolvedDir() string {
	if p.Spaces.ProjectDir == "" {
		return ""
	}
	return Resolved(p.Spaces.ProjectDir)
}

// trackedWith returns why a directory may have come with the project, or "". project is
// resolved.
func (e *Env) trackedWith(ctx context.Context, project, dir string) string {
	if project == "" || dir == "" || !e.sameOrigin(ctx, project, Resolved(dir)) {
		return ""
	}
	fi, err := os.Stat(dir)
	if err != nil || !fi.IsDir() {
		return ""
	}
	switch tracked, err := gitcmd.Tracked(ctx, dir, e.Environ()); {
	case err != nil && Worktree(dir) != "":
		return "it is in a repository, and git did not answer which files it tracks"
	case tracked:
		return "git tracks files of it"
	}
	return ""
}

// sameOrigin reports whether the author of the project may have supplied the
// directory too: it is in the project, or in the repository that tracks it.
func (e *Env) sameOrigin(ctx context.Context, project, dir string) bool {
	if within(project, dir) {
		return true
	}
	if top := Worktree(project); top == "" || !within(top, dir) {
		return false
	}
	tracked, err := gitcmd.Tracked(ctx, project, e.Environ())
	return tracked || err != nil
}

// Worktree returns the nearest folder above that git works in, "" when there is
// none.
func Worktree(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		_, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

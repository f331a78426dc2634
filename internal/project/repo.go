package project

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/lock"
)

// FilesAt returns the project's rye.lock, rye.sum and rye.yaml in a revision, as far
// as they exist there.
func (p *Project) FilesAt(
	ctx context.Context,
	repo *gitcmd.Repo,
	base string,
) (map[string][]byte, error) {
	tree, err := repo.Resolve(ctx, base)
	if err != nil {
		return nil, err
	}
	batch, err := repo.Batch(ctx)
	if err != nil {
		return nil, err
	}
	defer batch.Close()
	at := map[string][]byte{}
	for _, name := range []string{lock.LockFile, lock.SumFile, lock.ProjectFileName} {
		path := p.PrefixIn(repo) + name
		entries, err := repo.Tree(ctx, tree, path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsFile() || e.Path != path {
				continue
			}
			fits := true
			err := batch.Read([]string{e.OID}, lock.MaxLock, func(_ int, o gitcmd.Object) {
				at[name], fits = o.Data, o.Size <= lock.MaxLock
			})
			if err == nil && !fits {
				err = diag.New(diag.TooLarge, "reading %s:%s: it is too large", base, name)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return at, nil
}

// Repo finds the repository of the folder that rye works in.
func (e *Env) Repo(ctx context.Context) (*gitcmd.Repo, error) {
	git, err := gitcmd.New(gitcmd.Params{Dir: e.Base, Cwd: e.Cwd, Environ: e.Environ()})
	if err != nil {
		return nil, err
	}
	return git.Repo(ctx)
}

// PrefixIn returns the path of the project in a repository: "" or "a/b/". It is ""
// in a bare repository and without a project.
func (p *Project) PrefixIn(repo *gitcmd.Repo) string {
	if p.Spaces.ProjectDir == "" {
		return ""
	}
	return Below(repo.WorkTree, p.Spaces.ProjectDir)
}

// Below returns dir relative to top with a final slash, "" if it is top or outside
// of it.
func Below(top, dir string) string {
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

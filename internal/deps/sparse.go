package deps

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// LeftOut returns the items of refs that git's index holds and a sparse
// checkout leaves out of the work tree. Git is asked only when an item is gone.
func LeftOut(ctx context.Context, p *project.Project, refs []item.Ref) map[item.Ref]bool {
	out := map[item.Ref]bool{}
	if len(refs) == 0 || !maybeSparse(p.Spaces.ProjectDir) {
		return out
	}
	repo, err := p.Env.Repo(ctx)
	if err != nil || repo.WorkTree == "" {
		return out
	}
	top := p.PrefixIn(repo) + space.Dir + "/"
	var paths []string
	of := map[string]item.Ref{}
	for _, ref := range refs {
		ext, err := p.Resolver.Extractor(ctx, ref.Kind)
		if err != nil {
			continue
		}
		for _, rel := range ext.Paths(ref.ID) {
			paths = append(paths, top+rel)
			of[top+rel] = ref
		}
	}
	skipped, err := repo.Skipped(ctx, paths)
	if err != nil {
		return out
	}
	for path := range skipped {
		out[of[path]] = true
	}
	return out
}

// notLeftOut refuses a project whose own files a sparse checkout leaves out: it
// would look as if it required nothing. Git is asked only when one is gone and
// the repository may have a sparse checkout.
func notLeftOut(ctx context.Context, p *project.Project) error {
	var gone []string
	for _, name := range []string{lock.ProjectFileName, lock.LockFile, lock.SumFile} {
		if !there(filepath.Join(p.Spaces.ProjectDir, name)) {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 || !maybeSparse(p.Spaces.ProjectDir) {
		return nil
	}
	repo, err := p.Env.Repo(ctx)
	if err != nil || repo.WorkTree == "" {
		return nil
	}
	prefix := p.PrefixIn(repo)
	for i, name := range gone {
		gone[i] = prefix + name
	}
	skipped, err := repo.Skipped(ctx, gone)
	if err != nil || len(skipped) == 0 {
		return nil
	}
	left := slices.Sorted(maps.Keys(skipped))
	return diag.New(diag.LockMissing, "reading %s: the sparse checkout leaves it out of this work tree", left[0]).
		WithReason("sparse").
		WithDetail("paths", cmp.Or(
			strings.TrimSuffix(prefix, "/"),
			"/"+strings.Join(left, " /"),
		))
}

// maybeSparse reports whether the repository around a folder has a sparse
// checkout, or may have one since this is one of several work trees.
func maybeSparse(dir string) bool {
	for parent := ""; dir != parent; dir = filepath.Dir(dir) {
		parent = filepath.Dir(dir)
		at := filepath.Join(dir, ".git")
		if fi, err := os.Lstat(at); err == nil {
			return !fi.IsDir() || there(filepath.Join(at, "info", "sparse-checkout"))
		}
	}
	return false
}

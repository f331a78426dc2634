package gitcmd

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Tracked reports whether git tracks a file in dir, in the work tree that
// contains dir. It is false outside a work tree. git runs at the top of the work
// tree: a directory can have the layout of a bare repository, and git would use
// that one.
func Tracked(ctx context.Context, dir string, environ []string) (bool, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, diag.New(diag.FileSystemError, "finding the repository: %w", err)
	}
	top := dir
	for ; !hasGit(top); top = filepath.Dir(top) {
		if top == filepath.Dir(top) {
			return false, nil
		}
	}
	environ = slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_")
	})
	g, err := New(Params{Dir: top, Environ: environ})
	if err != nil {
		return false, err
	}
	out, err := g.run(ctx, nil, "ls-files", "-z", "--", dir)
	return len(out) > 0, err
}

func hasGit(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

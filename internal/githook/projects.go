package githook

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
)

// Exclude is the setting of git that lists directories of the repository whose
// projects the hooks leave alone, such as the examples of a test.
const Exclude = "rye.exclude"

// Projects returns the projects of a repository that contain some of the paths, by
// their prefixes. A directory with .ai is a project if it has a project file: the
// hook must not sign examples that only look like one. The project at known is left
// out.
func Projects(
	ctx context.Context,
	repo *gitcmd.Repo,
	known string,
	paths []string,
) ([]string, error) {
	return ProjectsIn(ctx, repo, known, paths, func(files ...string) (there []string, err error) {
		var absent []string
		for _, f := range files {
			if exists(filepath.Join(repo.WorkTree, filepath.FromSlash(f))) {
				there = append(there, f)
			} else {
				absent = append(absent, f)
			}
		}
		if len(absent) == 0 {
			return there, nil
		}
		entries, err := repo.Indexed(ctx, absent...) // of a sparse checkout
		for _, e := range entries {
			there = append(there, e.Path)
		}
		return there, err
	})
}

// ProjectsIn is Projects where list returns the files that exist, of some.
func ProjectsIn(
	ctx context.Context,
	repo *gitcmd.Repo,
	known string,
	paths []string,
	list func(files ...string) ([]string, error),
) ([]string, error) {
	var files []string
	for _, p := range paths {
		if prefix, _, ok := projectOf(p); ok && prefix != known {
			files = append(files, prefix+lock.ProjectFileName)
		}
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) == 0 {
		return nil, nil
	}
	there, err := list(files...)
	if err != nil || len(there) == 0 {
		return nil, err
	}
	excluded, err := repo.Setting(ctx, Exclude)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, file := range there {
		prefix := strings.TrimSuffix(file, lock.ProjectFileName)
		if !slices.ContainsFunc(excluded, func(dir string) bool {
			return strings.HasPrefix(
				prefix,
				strings.Trim(filepath.ToSlash(dir), "/")+"/",
			)
		}) {
			out = append(out, prefix)
		}
	}
	return out, nil
}

// PendingAbove reports whether Finish has work in the repository of a directory. It
// does not start git.
func PendingAbove(dir string) bool {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		if fi, err := os.Stat(at); err == nil {
			if fi.Mode().IsRegular() { // of a linked work tree: "gitdir: PATH"
				b, _ := openat.ReadRegular(at, openat.MaxText)
				at = strings.TrimSpace(strings.TrimPrefix(string(b), "gitdir:"))
				if !filepath.IsAbs(at) {
					at = filepath.Join(dir, at)
				}
			}
			return IsPending(at)
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/links"
)

// Own returns the environment for the programs that rye starts for itself, such as
// git: no directory of its PATH is relative, or in a project or repository that
// contains one of dirs. npm run and direnv put directories of the project first, so
// its author would choose the program. Directories below the home stay if the home is
// a repository itself, or in one: they are the user's own.
func Own(env []string, dirs ...string) []string {
	list, ok := Lookup(env, "PATH")
	if !ok {
		return env
	}
	home := homeOf(env)
	seen := links.Seen{}
	var roots, around []string // around the home, or not
	for _, dir := range dirs {
		for _, root := range rootsAbove(dir) {
			if home != "" && inside(home, root, seen) {
				around = append(around, root)
			} else {
				roots = append(roots, root)
			}
		}
	}
	keep := func(dir string) bool {
		return outside(dir, roots, seen) &&
			(outside(dir, around, seen) || inside(dir, home, seen))
	}
	return Merge(env, []string{"PATH=" + filter(list, keep)})
}

// homeOf returns the home directory: HOME, which Git for Windows reads too, or
// USERPROFILE.
func homeOf(env []string) string {
	if home, _ := Lookup(env, "HOME"); home != "" {
		return home
	}
	home, _ := Lookup(env, "USERPROFILE")
	return home
}

// OutsidePath returns a PATH without the directories that are relative or in root, as
// they are spelled or with all links followed. A root of the file system contains no
// directory in this sense: it would contain every program.
func OutsidePath(list, root string) string {
	seen := links.Seen{}
	return filter(list, func(dir string) bool {
		return outside(dir, []string{root}, seen)
	})
}

// filter returns the absolute directories of a PATH that keep accepts.
func filter(list string, keep func(dir string) bool) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool {
		return !filepath.IsAbs(dir) || !keep(dir)
	}), string(os.PathListSeparator))
}

func outside(dir string, roots []string, seen links.Seen) bool {
	return !slices.ContainsFunc(roots, func(root string) bool {
		return root != "" && filepath.Dir(root) != root && inside(dir, root, seen)
	})
}

// inside reports whether a directory is root or below it, as it is spelled or with
// all links followed.
func inside(dir, root string, seen links.Seen) bool {
	return contains(root, dir) || contains(seen.Real(root), seen.Real(dir))
}

// rootsAbove returns the directories from dir upwards that are the root of a project
// or a repository, up to the first repository.
func rootsAbove(dir string) (roots []string) {
	for dir = filepath.Clean(dir); filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		for _, mark := range []string{".ai", "rye.yaml", ".git"} {
			_, err := os.Lstat(filepath.Join(dir, mark))
			if err == nil {
				roots = append(roots, dir)
				if mark == ".git" {
					return roots
				}
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return roots
}

func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

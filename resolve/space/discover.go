package space

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// Params are the directories to search for spaces. The zero value finds none.
type Params struct {
	Project string                  // --project; "" looks upward from Dir
	Dir     string                  // working directory, absolute
	Home    string                  // home directory; "" means no user space by default
	Getenv  func(key string) string // nil means an empty environment
	System  fs.FS                   // compiled-in system bundle; nil means none
	Layer   string                  // id of the compiled-in bundle
}

// Spaces are the roots in order of precedence.
type Spaces struct {
	Roots []*Root
	// ProjectDir is the root of the project, "" without one. It contains rye.yaml,
	// .ai or both; the directory of Params.Project may contain neither.
	ProjectDir string
	// UserDir is the directory that contains the user's .ai, "" if unknown.
	UserDir string
}

// Discover finds the spaces. A missing space is left out; only a --project that
// is not a directory is an error.
func Discover(p Params) (*Spaces, error) {
	if p.Getenv == nil {
		p.Getenv = func(string) string { return "" }
	}
	s := &Spaces{UserDir: userDir(p)}
	var err error
	if s.ProjectDir, err = projectDir(p); err != nil {
		return nil, err
	}
	if s.ProjectDir != "" {
		s.Roots = append(s.Roots, NewDir(Project, "", s.ProjectDir, false))
	}
	if s.UserDir != "" {
		s.Roots = append(s.Roots, NewDir(User, "", s.UserDir, true))
	}
	if dir := p.absolute(p.Getenv("RYE_SYSTEM_SPACE")); dir != "" {
		s.Roots = append(s.Roots, NewDir(System, filepath.Base(dir), dir, false))
	}
	if p.System != nil {
		s.Roots = append(s.Roots, NewEmbedded(p.Layer, p.System))
	}
	return s, nil
}

// absolute returns a path of the environment or of the user relative to the
// working directory, "" if there is none.
func (p Params) absolute(dir string) string {
	switch {
	case filepath.IsAbs(dir):
		return filepath.Clean(dir)
	case dir == "" || p.Dir == "":
		return ""
	}
	return filepath.Join(p.Dir, dir)
}

func userDir(p Params) string {
	if p.Getenv == nil {
		return p.Home
	}
	for _, key := range []string{"RYE_USER_SPACE", "USER_SPACE", "USER_PATH"} {
		if dir := p.absolute(p.Getenv(key)); dir != "" {
			return dir
		}
	}
	return p.Home
}

// projectDir returns the directory of --project, or the root of the project that
// contains the working directory: the nearest directory upwards with rye.yaml,
// else the nearest with .ai. The search ends at the root of the git work tree.
func projectDir(p Params) (string, error) {
	if p.Project != "" {
		abs := p.absolute(p.Project)
		fi, err := os.Stat(abs)
		if err != nil || !fi.IsDir() {
			return "", diag.New(diag.Usage, "finding project %q: not a directory", p.Project)
		}
		if p.Reserved(abs) != "" {
			return "", nil
		}
		return abs, nil
	}
	dirs := p.candidates()
	for _, marked := range []func(dir string) bool{hasProjectFile, hasSpace} {
		for _, dir := range dirs {
			if marked(dir) && p.Reserved(dir) == "" {
				return dir, nil
			}
		}
	}
	return "", nil
}

// candidates returns the working directory and its parents up to the root of the
// git work tree. A directory inside .ai belongs to the project above it, also an
// installed bundle that has a rye.yaml of its own.
func (p Params) candidates() (dirs []string) {
	if p.Dir == "" {
		return nil
	}
	for dir := filepath.Clean(p.Dir); ; dir = filepath.Dir(dir) {
		if dirs = append(dirs, dir); filepath.Base(dir) == Dir {
			dirs = nil
		}
		_, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil || dir == filepath.Dir(dir) {
			return dirs
		}
	}
}

// Reserved returns the meaning of dir if it cannot be the root of a project, "" for any
// other directory. The .ai of the home is the user space, and a project at the
// root of the file system would contain everything.
func (p Params) Reserved(dir string) string {
	user := userDir(p)
	switch {
	case dir == filepath.Dir(dir):
		return "the root of the file system"
	case sameDir(dir, p.Home):
		return "your home directory"
	case sameDir(dir, user):
		return "the directory of the user space"
	case p.Home != "" && sameDir(dir, filepath.Join(p.Home, Dir)),
		user != "" && sameDir(dir, filepath.Join(user, Dir)):
		return "the user space"
	}
	return ""
}

// IsProject reports whether dir has what makes a directory the root of a project:
// a rye.yaml or an .ai directory. It does not check Params.Reserved.
func IsProject(dir string) bool {
	return hasProjectFile(dir) || hasSpace(dir)
}

// hasProjectFile reports whether dir has a rye.yaml that is not a directory. A
// link or a pipe of that name is an error when it is read; skipping it here would
// use the project of a parent directory instead.
func hasProjectFile(dir string) bool {
	fi, err := os.Lstat(filepath.Join(dir, ProjectFile))
	return err == nil && !fi.IsDir() && openat.Spelled(dir, ProjectFile)
}

// hasSpace reports whether dir has an .ai directory, or a link of that name, for
// the same reason.
func hasSpace(dir string) bool {
	fi, err := os.Lstat(filepath.Join(dir, Dir))
	return err == nil && !fi.Mode().IsRegular()
}

func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	if b == "" {
		return false
	}
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

// Of returns the root of a space's own items, or nil.
func (s *Spaces) Of(n Name) *Root {
	for _, r := range s.Roots {
		if r.Space == n && r.Layer == "" {
			return r
		}
	}
	return nil
}

// From returns the roots that an item of root may depend on: root itself and all
// roots of lower precedence. An item of a bundle may depend on the bundle, the
// bundles it needs and the lower spaces. The result is nil for an unknown root.
func (s *Spaces) From(root *Root) []*Root {
	if root.Bundled() {
		return s.from(root)
	}
	for i, r := range s.Roots {
		if r == root {
			return s.Roots[i:]
		}
	}
	return nil
}

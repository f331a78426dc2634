package space

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
)

// Params says where to look for spaces. Its zero value finds nothing.
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
	// ProjectDir is the folder that holds the project's .ai, "" when there is
	// no project.
	ProjectDir string
	// UserDir is the folder that holds the user's .ai, "" when unknown.
	UserDir string
}

// Discover finds the spaces. Only a --project that is not a folder is an
// error: a missing space is simply absent.
func Discover(p Params) (*Spaces, error) {
	if p.Getenv == nil {
		p.Getenv = func(string) string { return "" }
	}
	s := &Spaces{UserDir: userDir(p)}
	var err error
	if s.ProjectDir, err = projectDir(p, s.UserDir); err != nil {
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

// absolute returns a path that the environment or the user gave as counted
// from the working directory, "" when that cannot be told.
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
	for _, key := range []string{"RYE_USER_SPACE", "USER_SPACE", "USER_PATH"} {
		if dir := p.absolute(p.Getenv(key)); dir != "" {
			return dir
		}
	}
	return p.Home
}

// projectDir returns the folder of --project, or the nearest ancestor of the
// working directory with an .ai folder. The search ends at the root of the git
// work tree, and the user's own .ai never makes a project.
func projectDir(p Params, user string) (string, error) {
	if p.Project != "" {
		abs := p.absolute(p.Project)
		if fi, err := os.Stat(abs); err != nil || !fi.IsDir() {
			return "", diag.New(diag.Usage, "finding project %q: it is not a folder", p.Project)
		}
		if sameDir(abs, user) || sameDir(abs, p.Home) {
			return "", nil
		}
		return abs, nil
	}
	if p.Dir == "" {
		return "", nil
	}
	for dir := filepath.Clean(p.Dir); ; dir = filepath.Dir(dir) {
		if holdsSpace(dir) && !sameDir(dir, user) && !sameDir(dir, p.Home) {
			return dir, nil
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return "", nil
		}
	}
}

// holdsSpace reports whether dir has an .ai folder, or a link of that name,
// which is refused when something is read.
func holdsSpace(dir string) bool {
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

// Of returns the first root of a space without a layer, or nil.
func (s *Spaces) Of(n Name) *Root {
	for _, r := range s.Roots {
		if r.Space == n && r.Layer == "" {
			return r
		}
	}
	return nil
}

// From returns the roots that an item of root may depend on: root itself and
// everything of lower precedence; for a bundle itself, what it needs and the
// lower spaces.
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

// IsMissing reports whether err says that a file does not exist.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

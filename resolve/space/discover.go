package space

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
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
	// ProjectDir is the directory that contains the project's .ai, "" without a
	// project.
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
	for _, key := range []string{"RYE_USER_SPACE", "USER_SPACE", "USER_PATH"} {
		if dir := p.absolute(p.Getenv(key)); dir != "" {
			return dir
		}
	}
	return p.Home
}

// projectDir returns the directory of --project, or the nearest ancestor of the
// working directory with an .ai directory. The search ends at the root of the
// git work tree. The home directory is not a project: its .ai is the user space.
func projectDir(p Params, user string) (string, error) {
	if p.Project != "" {
		abs := p.absolute(p.Project)
		if fi, err := os.Stat(abs); err != nil || !fi.IsDir() {
			return "", diag.New(diag.Usage, "finding project %q: not a directory", p.Project)
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
		if hasSpace(dir) && !sameDir(dir, user) && !sameDir(dir, p.Home) {
			return dir, nil
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return "", nil
		}
	}
}

// hasSpace reports whether dir has an .ai directory, or a link of that name.
// Reading through the link is an error; skipping it here would use the project
// of a parent directory instead.
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

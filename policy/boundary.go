package policy

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/runsoutside"
)

// BoundaryVar names the variable that passes a Boundary, as JSON, to the process
// of a file tool.
const BoundaryVar = "RYE_BOUNDARY"

// Boundary is what the file tools of one project may reach: the files of the
// project without the protected paths and without the user's own directories.
type Boundary struct {
	// Project is the real path of the project's root, "" without a project.
	Project string `json:"project"`
	// Private are the user's own directories, wherever the project is.
	Private []Private `json:"private,omitempty"`
	// Removed are the rows of the protected paths that the allowance of the user
	// removes.
	Removed []string `json:"removed,omitempty"`
	// Git are the settings of git that apply to every repository: where its files are.
	Git GitSettings `json:"git,omitzero"`
	// Named are the paths that git itself answers as named by settings that only git finds.
	Named []runsoutside.Path `json:"named,omitempty"`
	// Copy marks a working copy of the project. It is below a private directory, which
	// stays private outside of the copy.
	Copy bool `json:"copy,omitempty"`
	// ReadOnly marks that tools write no file at all.
	ReadOnly bool `json:"read_only,omitempty"`
}

// GitSettings name the files of git's settings of the user and the machine.
type GitSettings struct {
	Home    string   `json:"home,omitempty"`
	Environ []string `json:"environ,omitempty"`
}

// Private is a directory of the user that tools do not write.
type Private struct {
	Path     string `json:"path"` // absolute
	What     string `json:"what"` // as errors name it
	Readable bool   `json:"readable,omitempty"`
}

// CheckProject returns an error if there is no project.
func (b Boundary) CheckProject() error {
	if b.Project != "" {
		return nil
	}
	return diag.New(diag.ItemNotFound, "opening the project: the file tools work in a project, and this directory is not in one").WithReason("file_tools")
}

// CheckWrite returns an error if tools do not write a path relative to the
// project. given is the path in the error.
func (b Boundary) CheckWrite(rel, given string) error {
	if b.ReadOnly {
		return diag.New(diag.PolicyDenied, "writing %q: the tools of this thread read files and change none", given).WithReason("read_only")
	}
	if dir, ok := b.Own(rel); ok {
		return diag.New(diag.PolicyDenied, "writing %q: tools do not write files of %s", given, dir.What).WithReason("protected_path")
	}
	if row, at, ok := ProtectedExcept(b.Removed)(rel); ok {
		what := row.named(rel, at)
		return diag.New(diag.PolicyDenied, "writing %q: tools do not write %s: %s", given, what, row.Why).WithReason("protected_path")
	}
	if setting, ok := b.NamedBy(rel); ok {
		return diag.New(diag.PolicyDenied, "writing %q: tools do not write what the setting %s of git names: git runs it, or programs that it names", given, setting).WithReason("protected_path")
	}
	if dir, ok := b.repository(rel); ok {
		return diag.New(diag.PolicyDenied, "writing %q: tools do not write files of the git repository %s: git runs programs that they name", given, dir).WithReason("protected_path")
	}
	return nil
}

// NamedBy returns the setting of git that names a path of the project or a directory above
// it. The repositories are those in the directories above the path. They are read at each call:
// a setting can have changed since the last one.
func (b Boundary) NamedBy(rel string) (setting string, ok bool) {
	if b.Project == "" {
		return "", false
	}
	abs := filepath.Join(b.Project, filepath.FromSlash(rel))
	names := pathNames(abs)
	has := func(list []runsoutside.Path) bool {
		for _, p := range runsoutside.Below(b.Project, list) {
			if startsWith(names, pathNames(p.Abs)) {
				setting = p.Key
				return true
			}
		}
		return false
	}
	if has(b.Named) {
		return setting, true
	}
	git := &runsoutside.Finder{Home: b.Git.Home, Environ: b.Git.Environ}
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		if _, err := os.Lstat(at); err == nil {
			if has(git.Repository(dir, at)) {
				return setting, true
			}
		}
		if filepath.Dir(dir) == dir {
			return "", false
		}
	}
}

// repository returns the directory above a path of the project that git takes for a
// repository: one with HEAD, objects and refs, or with HEAD and the path of another
// repository. The table protects HEAD, so no tool makes a directory one.
func (b Boundary) repository(rel string) (dir string, ok bool) {
	if b.Project == "" {
		return "", false
	}
	for dir := path.Dir(rel); ; dir = path.Dir(dir) {
		has := func(name string) bool {
			_, err := os.Lstat(filepath.Join(b.Project, filepath.FromSlash(dir), name))
			return err == nil
		}
		if has("HEAD") && (has("objects") && has("refs") || has("commondir")) {
			return dir, true
		}
		if dir == "." || dir == "/" {
			return "", false
		}
	}
}

// CheckCreate returns an error if tools do not create a directory, whose path is
// relative to the project. A second .ai would be a project without the lock and the
// settings of this one, and a name that only some file systems take for .ai would
// contain items that no other check reads.
func (b Boundary) CheckCreate(dir, given string) error {
	if dir == ".ai" || !SameName(path.Base(dir), ".ai") {
		return nil
	}
	return diag.New(diag.PolicyDenied, "writing %q: tools do not create the directory %s, which would be another project", given, dir).WithReason("protected_path")
}

// CheckRead returns an error if tools do not read a path relative to the project.
func (b Boundary) CheckRead(rel, given string) error {
	if dir, ok := b.Own(rel); ok && !dir.Readable {
		return diag.New(diag.PolicyDenied, "reading %q: tools do not read files of %s", given, dir.What).WithReason("protected_path")
	}
	row, at, ok := ProtectedExcept(b.Removed)(rel)
	if ok && row.Secret {
		what := row.named(rel, at)
		return diag.New(diag.PolicyDenied, "reading %q: tools do not read %s: %s", given, what, row.Why).WithReason("protected_path")
	}
	return nil
}

// named returns the protected path as errors name it. at is the part of rel that
// the row matches.
func (p ProtectedPath) named(rel, at string) string {
	name := p.Path
	if strings.Contains(name, "*") {
		name = at
	}
	if len(at) < len(rel) {
		return "files below " + name
	}
	return name
}

// Own returns the user's directory that contains a path of the project.
func (b Boundary) Own(rel string) (Private, bool) {
	if len(b.Private) == 0 {
		return Private{}, false
	}
	names := pathNames(filepath.Join(b.Project, filepath.FromSlash(rel)))
	for _, dir := range b.Private {
		if b.Copy && startsWith(pathNames(b.Project), pathNames(dir.Path)) {
			continue
		}
		if startsWith(names, pathNames(dir.Path)) {
			return dir, true
		}
	}
	return Private{}, false
}

// pathNames returns the names of an absolute path, with the volume as the first.
func pathNames(abs string) []string {
	return strings.FieldsFunc(abs, func(r rune) bool {
		return r == '/' || r == filepath.Separator
	})
}

func startsWith(names, dir []string) bool {
	if len(dir) == 0 || len(names) < len(dir) {
		return false
	}
	for i, want := range dir {
		if !SameName(names[i], want) {
			return false
		}
	}
	return true
}

// SameName reports whether two names are one on some file system.
func SameName(name, want string) bool {
	name = foldName(name)
	want = foldName(want)
	return name == want || isShortName(name, want)
}

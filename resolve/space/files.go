package space

import (
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Files is what stands below a .ai folder that lies on no disk, such as that
// of a revision. Paths are relative to .ai, slash-separated, "." is .ai itself.
type Files interface {
	// Read returns a file's bytes, at most limit. A missing file satisfies
	// IsMissing.
	Read(rel string, limit int64) ([]byte, error)
	// Exists reports whether a file or a folder stands at rel.
	Exists(rel string) bool
	// Executable reports whether the file at rel is one that the system runs.
	Executable(rel string) bool
	// Walk calls fn for everything at or below the folder rel that is no
	// folder, sorted by path. A missing folder is empty.
	Walk(rel string, fn func(Entry) error) error
}

// NewFiles returns a root over files. It is no embedded root: nothing compiled
// in vouches for it.
func NewFiles(name Name, files Files) *Root { return &Root{Space: name, files: files} }

// OnDisk reports whether the root's files have paths.
func (r *Root) OnDisk() bool { return r.files == nil && !r.Embedded() }

// Executable reports whether the file at rel is marked as a program, for a root
// that is not on disk.
func (r *Root) Executable(rel string) bool { return r.files != nil && r.files.Executable(rel) }

// Below returns the .ai folder of an installed bundle, as Layer.Install names
// it, among the files of a space.
func Below(files Files, install string) Files {
	return bundleFiles{files, path.Join(BundlesFolder, install)}
}

// bundleFiles is a bundle in the files of a space.
type bundleFiles struct {
	in  Files
	top string // the folder that holds its .ai
}

func (b bundleFiles) at(rel string) string { return path.Join(b.top, Dir, rel) }

// Read implements Files.
func (b bundleFiles) Read(rel string, limit int64) ([]byte, error) {
	return b.in.Read(b.at(rel), limit)
}

// Exists implements Files.
func (b bundleFiles) Exists(rel string) bool { return b.in.Exists(b.at(rel)) }

// Executable implements Files.
func (b bundleFiles) Executable(rel string) bool { return b.in.Executable(b.at(rel)) }

// Walk implements Files.
func (b bundleFiles) Walk(rel string, fn func(Entry) error) error {
	return b.in.Walk(b.at(rel), func(e Entry) error {
		e.Rel = strings.TrimPrefix(e.Rel, b.at(".")+"/")
		return fn(e)
	})
}

// Beside returns a file that stands beside the bundle's .ai.
func (b bundleFiles) Beside(name string, limit int64) (text []byte, executable bool, err error) {
	at := path.Join(b.top, name)
	text, err = b.in.Read(at, limit)
	return text, b.in.Executable(at), err
}

// treeOf is Root.Tree for an installed bundle that lies on no disk.
func treeOf(files Files, limit int64, fn func(rel string, b []byte, executable bool) error) error {
	b, ok := files.(bundleFiles)
	if !ok {
		return diag.New(diag.Internal, "listing a bundle: it is not installed")
	}
	return b.in.Walk(b.top, func(e Entry) error {
		if e.Err != nil {
			return e.Err
		}
		text, err := b.in.Read(e.Rel, limit)
		if err != nil {
			return err
		}
		return fn(strings.TrimPrefix(e.Rel, b.top+"/"), text, b.in.Executable(e.Rel))
	})
}

// installsIn is Root.Installs for a space that lies on no disk.
func installsIn(files Files) []string {
	var out []string
	// What cannot be listed is an error of whoever needs it.
	_ = files.Walk(BundlesFolder, func(e Entry) error {
		names := strings.Split(e.Rel, "/")
		for i, name := range names {
			dir := path.Join(names[:i+1]...)
			if strings.Contains(name, "@") && files.Exists(path.Join(dir, Dir)) {
				out = append(out, strings.TrimPrefix(dir, BundlesFolder+"/"))
				break
			}
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out)
}

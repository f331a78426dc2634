package space

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Files is the content of one .ai directory: on disk, compiled in, in a git
// tree, or in memory. Paths are relative to .ai and slash-separated; "." is .ai
// itself.
type Files interface {
	// Read returns a file's bytes, at most limit. A missing file satisfies
	// IsMissing.
	Read(rel string, limit int64) ([]byte, error)
	// Exists reports whether rel is in use. What cannot be inspected exists.
	Exists(rel string) bool
	// Executable reports whether the storage records the file as a program.
	Executable(rel string) bool
	// Walk calls fn for everything at or below the directory rel that is not a
	// directory, sorted by path. A missing directory is empty.
	Walk(rel string, fn func(Entry) error) error
}

// siblings are Files that can also read the directory that contains .ai. The
// method is exported because package verify implements it for a commit.
type siblings interface {
	// ReadSibling returns a file's bytes and whether it is executable. It fails
	// as Read does.
	ReadSibling(name string, limit int64) (b []byte, executable bool, err error)
}

// installation are Files of an installed bundle, which owns the directory that
// contains .ai.
type installation interface {
	// tree calls fn for every file of that directory.
	tree(limit int64, fn func(rel string, b []byte, executable bool) error) error
}

// NewFiles returns a root over files that are not on disk. It is not embedded:
// its items need a trusted signature.
func NewFiles(name Name, files Files) *Root {
	return &Root{Space: name, files: files}
}

// Read returns the bytes of rel in one read under the open rules. A missing
// file or root satisfies errors.Is(err, fs.ErrNotExist).
func (r *Root) Read(rel string, limit int64) ([]byte, error) {
	return r.files.Read(rel, limit)
}

// ReadInto is Read for callers that read many files one after the other: the bytes may be
// in the memory of buf.
func (r *Root) ReadInto(buf []byte, rel string, limit int64) ([]byte, error) {
	if r.disk != nil {
		return r.disk.readInto(buf, rel, limit)
	}
	return r.files.Read(rel, limit)
}

// Exists reports whether rel is in use. A link and a file that cannot be
// inspected exist, so that an item of lower precedence does not replace them.
func (r *Root) Exists(rel string) bool {
	return r.files.Exists(rel)
}

// Executable reports whether the storage records the file at rel as a program.
// It is false on disk, where the mode depends on the umask and the file system.
func (r *Root) Executable(rel string) bool {
	return r.files.Executable(rel)
}

// Walk calls fn for everything below rel that is not a directory, sorted by
// path, never following a link, and for directories that cannot be listed. A
// missing directory is empty. Installed bundles are roots of their own and are
// left out, unless rel is in one.
func (r *Root) Walk(rel string, fn func(Entry) error) error {
	if Installed(rel) {
		return r.files.Walk(rel, fn)
	}
	return r.files.Walk(rel, func(e Entry) error {
		if Installed(e.Rel) {
			return nil
		}
		return fn(e)
	})
}

// Sibling returns the bytes of a file in the directory that contains .ai, such as
// rye.yaml, and whether it is executable. A missing file satisfies IsMissing.
func (r *Root) Sibling(name string, limit int64) (b []byte, executable bool, err error) {
	if files, ok := r.files.(siblings); ok {
		return files.ReadSibling(name, limit)
	}
	return nil, false, &fs.PathError{Op: "reading", Path: name, Err: fs.ErrNotExist}
}

// Tree calls fn for every file of an installed bundle, with its path from the
// directory that contains .ai, its bytes and whether it is executable. A file
// that is not regular is an error.
func (r *Root) Tree(limit int64, fn func(rel string, b []byte, executable bool) error) error {
	if files, ok := r.files.(installation); ok {
		return files.tree(limit, fn)
	}
	return diag.New(diag.Internal, "listing a bundle: it is not installed")
}

// Installs returns the directories of the bundles that are installed in a space,
// locked or not, as Layer.Install names them.
func (r *Root) Installs() []string {
	if r.disk != nil {
		return r.disk.installs()
	}
	var out []string
	// A directory that cannot be listed is an error of the caller that needs it.
	_ = r.files.Walk(BundlesFolder, func(e Entry) error {
		names := strings.Split(e.Rel, "/")
		for i, name := range names {
			dir := path.Join(names[:i+1]...)
			if strings.Contains(name, "@") && r.files.Exists(path.Join(dir, Dir)) {
				out = append(out, strings.TrimPrefix(dir, BundlesFolder+"/"))
				break
			}
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// IsMissing reports whether err states that a file does not exist.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist)
}

// Below returns the .ai directory of an installed bundle, as Layer.Install names
// it, among the files of a space.
func Below(files Files, install string) Files {
	return bundleFiles{files, path.Join(BundlesFolder, install)}
}

// bundleFiles is a bundle among the files of a space.
type bundleFiles struct {
	in  Files
	top string // the directory that contains its .ai
}

func (b bundleFiles) at(rel string) string {
	return path.Join(b.top, Dir, rel)
}

// Read implements Files.
func (b bundleFiles) Read(rel string, limit int64) ([]byte, error) {
	return b.in.Read(b.at(rel), limit)
}

// Exists implements Files.
func (b bundleFiles) Exists(rel string) bool {
	return b.in.Exists(b.at(rel))
}

// Executable implements Files.
func (b bundleFiles) Executable(rel string) bool {
	return b.in.Executable(b.at(rel))
}

// Walk implements Files.
func (b bundleFiles) Walk(rel string, fn func(Entry) error) error {
	return b.in.Walk(b.at(rel), func(e Entry) error {
		e.Rel = strings.TrimPrefix(e.Rel, b.at(".")+"/")
		return fn(e)
	})
}

// ReadSibling implements siblings.
func (b bundleFiles) ReadSibling(name string, limit int64) (text []byte, executable bool, err error) {
	at := path.Join(b.top, name)
	text, err = b.in.Read(at, limit)
	return text, b.in.Executable(at), err
}

func (b bundleFiles) tree(limit int64, fn func(rel string, b []byte, executable bool) error) error {
	return b.in.Walk(b.top, func(e Entry) error {
		if e.Err != nil {
			return e.Err
		}
		text, err := b.in.Read(e.Rel, limit)
		if err != nil {
			return err
		}
		return fn(
			strings.TrimPrefix(e.Rel, b.top+"/"),
			text,
			b.in.Executable(e.Rel),
		)
	})
}

package space

import (
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// NewEmbedded returns a root whose files are compiled in. fsys contains .ai.
func NewEmbedded(layer string, fsys fs.FS) *Root {
	r := &Root{Space: System, Layer: layer, embedded: true}
	r.files = embeddedFiles{fsys, r.Label(), &embeddedNames{m: map[string]bool{}}}
	return r
}

// covering are embedded files that a trusted manifest lists.
type covering interface {
	// Covered returns the signer of the manifest if it lists the file with these bytes
	// and a signature line of their own, else zero.
	Covered(name string, d item.Digest) sign.Fingerprint
}

// Covered returns the signer of a trusted manifest that lists the file at rel with these
// bytes as signed, zero if there is none. Only embedded files have one.
func (r *Root) Covered(rel string, d item.Digest) sign.Fingerprint {
	if files, ok := r.files.(embeddedFiles); ok {
		if v, ok := files.fsys.(covering); ok {
			return v.Covered(path.Join(Dir, rel), d)
		}
	}
	return sign.Fingerprint{}
}

// embeddedFiles are files that are compiled in. They need no open rules: the
// program itself is as trusted as its files.
type embeddedFiles struct {
	fsys  fs.FS  // its paths begin with .ai/
	label string // of the root, for messages
	known *embeddedNames
}

// embeddedNames are the files that exist, and those that do not, as far as they were asked for.
// They do not change, and a thread asks for each of some fifty items several times, with each
// suffix that it can have.
type embeddedNames struct {
	mu sync.Mutex
	m  map[string]bool
}

// maxNames bounds the names that are remembered.
const maxNames = 10_000

// Read implements Files.
func (f embeddedFiles) Read(rel string, limit int64) ([]byte, error) {
	return f.read(path.Join(Dir, rel), limit)
}

func (f embeddedFiles) read(name string, limit int64) ([]byte, error) {
	b, err := fs.ReadFile(f.fsys, name)
	if err == nil && int64(len(b)) > limit {
		return nil, diag.New(
			diag.TooLarge,
			"reading %s: it has %d bytes, at most %d are allowed",
			path.Join(f.label, name),
			len(b),
			limit,
		)
	}
	return b, err
}

// Exists implements Files, for files only.
func (f embeddedFiles) Exists(rel string) bool {
	f.known.mu.Lock()
	defer f.known.mu.Unlock()
	exists, known := f.known.m[rel]
	if !known {
		fi, err := fs.Stat(f.fsys, path.Join(Dir, rel))
		exists = err == nil && !fi.IsDir()
		if len(f.known.m) < maxNames {
			f.known.m[rel] = exists
		}
	}
	return exists
}

// Executable implements Files: embedded files have no mode.
func (f embeddedFiles) Executable(string) bool {
	return false
}

// Walk implements Files.
func (f embeddedFiles) Walk(rel string, fn func(Entry) error) error {
	err := fs.WalkDir(f.fsys, path.Join(Dir, rel), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return fn(Entry{Rel: strings.TrimPrefix(p, Dir+"/"), Type: d.Type()})
	})
	if IsMissing(err) {
		return nil
	}
	return err
}

// ReadSibling implements siblings.
func (f embeddedFiles) ReadSibling(name string, limit int64) ([]byte, bool, error) {
	b, err := f.read(name, limit)
	return b, false, err
}

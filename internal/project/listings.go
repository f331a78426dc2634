package project

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/memo"
	"github.com/ryeos/rye/internal/openat"
)

const (
	// listingsDir is the directory of listings below that of the user's state. It is
	// not visible to confined programs, as the memo is not.
	listingsDir = "listings"
	// maxListings bounds the file of a project: about 100,000 directories.
	maxListings = 8 << 20
)

// ownFiles are files of the user's state that this program alone writes. They need no trust: the
// memo knows which bytes it wrote.
type ownFiles struct {
	memo  *memo.Memo
	kind  memo.Kind
	dir   string
	build [sha256.Size]byte
}

func (p *Project) ownFiles(dir string, kind memo.Kind) ownFiles {
	return ownFiles{p.memo, kind, filepath.Join(p.Dirs.State, dir), p.Env.program()}
}

// listings is the sandbox.Store of one project.
type listings struct {
	ownFiles
	name string
}

// listings returns what the sandbox remembers of directories, nil for nothing.
func (p *Project) listings() *sandbox.Listings {
	dir := p.Spaces.ProjectDir
	if p.Env.Listings != nil || p.memo == nil || dir == "" {
		return p.Env.Listings
	}
	name := sha256.Sum256([]byte(dir))
	return sandbox.Stored(listings{p.ownFiles(listingsDir, memo.Listings), hex.EncodeToString(name[:16])})
}

// Load implements sandbox.Store.
func (l listings) Load() []byte { return l.ownFiles.Load(l.name) }

// Save implements sandbox.Store. What cannot be written is listed again.
func (l listings) Save(b []byte) { l.ownFiles.Save(l.name, b) }

// Load implements runsoutside.Store.
func (k ownFiles) Load(name string) []byte {
	dir, err := openat.OpenFolder(k.dir)
	if err != nil {
		return nil
	}
	defer dir.Close()
	f, err := dir.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() > maxListings {
		return nil
	}
	b := make([]byte, fi.Size())
	if _, err := io.ReadFull(f, b); err != nil || !k.memo.Known(k.kind, k.fact(name, b)) {
		return nil
	}
	return b
}

// Save implements runsoutside.Store.
func (k ownFiles) Save(name string, b []byte) {
	if len(b) <= maxListings && atomicfile.Private(k.dir).Write(name, b, 0o600) == nil {
		k.memo.Add(k.kind, k.fact(name, b))
	}
}

// fact names the program too: which entries are kept depends on its table of protected
// paths.
func (k ownFiles) fact(name string, b []byte) [sha256.Size]byte {
	sum := sha256.Sum256(b)
	return sha256.Sum256(append(append(k.build[:], name...), sum[:]...))
}

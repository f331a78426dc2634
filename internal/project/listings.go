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

// listings is the sandbox.Store of one project. The file needs no trust: the memo knows
// which bytes this program wrote.
type listings struct {
	memo  *memo.Memo
	dir   string
	name  string
	build [sha256.Size]byte
}

// listings returns what the sandbox remembers of directories, nil for nothing.
func (p *Project) listings() *sandbox.Listings {
	dir := p.Spaces.ProjectDir
	if p.Env.Listings != nil || p.memo == nil || dir == "" {
		return p.Env.Listings
	}
	name := sha256.Sum256([]byte(dir))
	return sandbox.Stored(listings{p.memo, filepath.Join(p.Dirs.State, listingsDir), hex.EncodeToString(name[:16]), p.Env.program()})
}

// Load implements sandbox.Store.
func (l listings) Load() []byte {
	dir, err := openat.OpenFolder(l.dir)
	if err != nil {
		return nil
	}
	defer dir.Close()
	f, err := dir.OpenFile(l.name, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxListings+1))
	if err != nil || len(b) > maxListings || !l.memo.Known(memo.Listings, l.fact(b)) {
		return nil
	}
	return b
}

// Save implements sandbox.Store. What cannot be written is listed again.
func (l listings) Save(b []byte) {
	if len(b) <= maxListings && atomicfile.Private(l.dir).Write(l.name, b, 0o600) == nil {
		l.memo.Add(memo.Listings, l.fact(b))
	}
}

// fact names the program too: which entries are kept depends on its table of protected
// paths.
func (l listings) fact(b []byte) [sha256.Size]byte {
	sum := sha256.Sum256(b)
	return sha256.Sum256(append(append(l.build[:], l.name...), sum[:]...))
}

package project

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/memo"
)

const (
	// listingsDir is the directory of listings below the directory of the user's state. It is
	// not visible to confined programs, as the memo is not.
	listingsDir = "listings"
	// maxListings bounds the file of a project: about 100,000 directories.
	maxListings = 8 << 20
)

// listings is the sandbox.Store of one project.
type listings struct {
	ownFiles
	name string
}

// listings returns the listings of directories that the sandbox remembers, nil for none.
func (p *Project) listings() *sandbox.Listings {
	dir := p.Spaces.ProjectDir
	if p.Env.Listings != nil || p.memo == nil || dir == "" {
		return p.Env.Listings
	}
	name := sha256.Sum256([]byte(dir))
	return sandbox.Stored(listings{p.ownFiles(listingsDir, memo.Listings), hex.EncodeToString(name[:16])})
}

// Load implements sandbox.Store.
func (l listings) Load() []byte {
	return l.ownFiles.Load(l.name)
}

// Save implements sandbox.Store. What cannot be written is listed again.
func (l listings) Save(b []byte) {
	l.ownFiles.Save(l.name, b)
}

// Package lock holds the three files that say what a project is made of:
// rye.yaml (what its author asks for), rye.lock (what was chosen, to the byte)
// and rye.sum (every hash ever trusted here), and the ids, versions and hashes
// that stand in them.
//
// It parses, edits, renders and compares texts, and says whether what is there
// is what was recorded. It never resolves, fetches, signs or installs; it opens
// no file and runs no program.
//
// # Limits
//
// Manifest 1 MiB, lock 16 MiB, sum 16 MiB, an id 512 bytes, a hashed tree
// 20,000 files of at most 64 MiB each.
package lock

import "github.com/ryeos/rye/internal/mvs"

// The names of the files, beside .ai of a project and inside it for a user.
const (
	ManifestFile = "rye.yaml"
	LockFile     = "rye.lock"
	SumFile      = "rye.sum"
)

// Limits of the files.
const (
	MaxManifest = 1 << 20
	MaxLock     = 16 << 20
	MaxSum      = 16 << 20
)

// Module is one version of a bundle, by its canonical id.
type Module = mvs.Module

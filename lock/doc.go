// Package lock handles the three files that define the dependencies of a project:
// rye.yaml (the requirements), rye.lock (the selected versions with their hashes)
// and rye.sum (every hash that was ever accepted), and the ids, versions and hashes
// in them. It reads, edits, renders and compares them, and compares recorded with
// found values.
//
// It does not resolve, fetch, sign or install bundles, writes no file and runs no
// program.
//
// # Limits
//
// Manifest 1 MiB, lock 16 MiB, sum 16 MiB, an id 512 bytes, a hashed tree
// 20,000 files of at most 64 MiB each.
package lock

// The names of the files: next to .ai in a project, in .ai for a user.
const (
	ProjectFileName = "rye.yaml"
	LockFile        = "rye.lock"
	SumFile         = "rye.sum"
)

// Limits of the files.
const (
	MaxProjectFile = 1 << 20
	MaxLock        = 16 << 20
	MaxSum         = 16 << 20
)

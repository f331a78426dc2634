// Package cas puts verified bytes into read-only files named by their digest,
// so that the bytes that were checked are the bytes that run.
//
// It does not verify signatures and decides nothing about trust. What lies in
// the store is never believed: an entry is read and compared before its path
// is given out, and one that differs in anything is replaced.
package cas

import "time"

// Store is a cache folder. Its zero value with Dir set is ready, and safe for
// many goroutines and processes at once. It must not be copied.
type Store struct {
	Dir string           // created with mode 0700 when missing
	Now func() time.Time // nil means time.Now
}

// TreeFile is one file of a tree.
type TreeFile struct {
	Rel   string // canonical, with forward slashes
	Bytes []byte
	Exec  bool
}

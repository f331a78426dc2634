//go:build !unix

package project

import "io/fs"

// ownedPrivately reports whether a folder may hold private files: elsewhere the
// folder of temporary files is the user's own.
func ownedPrivately(fi fs.FileInfo) bool { return fi.IsDir() }

// ownFile knows a plain file only: the profile's access lists keep others out.
func ownFile(fi fs.FileInfo) bool { return fi.Mode().IsRegular() }

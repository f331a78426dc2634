//go:build !unix

package owner

import "io/fs"

const checked = false

// Other returns "": this system has no numeric owners. The access lists of the
// profile directory keep other users out.
func Other(fs.FileInfo, string) string { return "" }

// Name returns a user for messages.
func Name(uid string) string { return "user " + uid }

func writers(fs.FileInfo) string { return "" }

// OnlyMine reports whether fi is a regular file.
func OnlyMine(fi fs.FileInfo) bool { return fi.Mode().IsRegular() }

// Secret returns nil: the access lists of the profile directory keep other users out.
func Secret(string, fs.FileInfo) error { return nil }

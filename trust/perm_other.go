//go:build !unix

package trust

import "io/fs"

// private returns nil: this system has no permission bits. The access lists of
// the profile directory keep other accounts out.
func private(Tier, fs.FileInfo) error { return nil }

func mine(fs.FileInfo) error { return nil }

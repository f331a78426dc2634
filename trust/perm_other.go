//go:build !unix

package trust

import "io/fs"

// private knows no permission bits here: access lists of the profile folder
// keep other accounts out.
func private(Tier, fs.FileInfo) error { return nil }

func mine(fs.FileInfo) error { return nil }

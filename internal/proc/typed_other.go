//go:build !linux

package proc

import "os"

// DropTyped discards what was typed at a terminal, on Linux only.
func DropTyped(*os.File) (line bool) { return false }

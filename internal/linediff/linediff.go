// Package linediff writes the difference of two texts in the unified format,
// which git apply reads.
//
// It reads no files and applies no differences.
package linediff

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// Unified returns the unified difference of two texts, "" if they are equal.
// The names appear after "--- " and "+++ " as they are.
func Unified(oldName, newName string, old, new []byte) string {
	_, rest, _ := bytes.Cut(
		diff.Diff(oldName, old, newName, new),
		[]byte("\n"),
	) // "diff oldName newName"
	return string(rest)
}

// Package glob matches slash-separated names against patterns such as
// "acme/**" and "drafts/*".
//
// It never lists a directory. Capabilities have their own matching rules, which
// are not these.
package glob

import "github.com/ryeos/rye/diag"

// Match reports whether the whole name fits the pattern. A pattern that Check
// refuses matches nothing.
func Match(pattern, name string) bool { return false }

// Check reports what is wrong with a pattern.
func Check(pattern string) []diag.Finding { return nil }

// IsPattern reports whether s holds a character special in patterns.
func IsPattern(s string) bool { return false }

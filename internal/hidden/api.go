// Package hidden finds characters that a reader cannot see, and makes them
// visible.
//
// It looks at bytes only: it knows no item, decides no trust and prints nothing.
package hidden

import "github.com/ryeos/rye/diag"

// Scan reports each run of hidden characters: critical ones as errors,
// suspicious ones as warnings.
func Scan(b []byte) []diag.Finding { return nil }

// Encoding reports what keeps b from being plain UTF-8 text: a byte order mark
// (of any UTF), NUL, invalid UTF-8; the first place of each.
func Encoding(b []byte) []diag.Finding { return nil }

// Visible returns s in a form that is safe on one line of a terminal: hidden
// and control characters, newlines included, become \u{1b}, invalid bytes \x{ff}.
func Visible(s string) string { return s }

// MixedScript reports whether a word mixes Latin letters with Cyrillic or Greek
// ones.
func MixedScript(word string) bool { return false }

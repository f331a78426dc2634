// Package suggest finds the word a user most likely meant.
//
// It only compares words: callers phrase the hint.
package suggest

// Nearest returns the candidate closest to word, or "" when none is close.
func Nearest(word string, candidates []string) string { return "" }

// List returns at most n close candidates, best first.
func List(word string, candidates []string, n int) []string { return nil }

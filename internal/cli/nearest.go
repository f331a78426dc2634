package cli

import "github.com/ryeos/rye/internal/suggest"

// Nearest returns the candidate that a mistyped word most likely meant, or "".
func Nearest(word string, candidates []string) string { return suggest.Nearest(word, candidates) }

package cli

import (
	"strings"

	"github.com/ryeos/rye/internal/suggest"
)

// Nearest returns the candidate that a mistyped word most likely meant, or "".
func Nearest(word string, candidates []string) string {
	return suggest.Nearest(word, candidates)
}

// nearestFlag is Nearest for a flag. A flag that is the first half of the word or more is close,
// too: --language means --lang.
func nearestFlag(word string, flags []string) string {
	if near := Nearest(word, flags); near != "" {
		return near
	}
	longest := ""
	for _, f := range flags {
		isHalf := 2*len(f) >= len(word)
		if isHalf && strings.HasPrefix(word, f) && len(f) > len(longest) {
			longest = f
		}
	}
	return longest
}

package cli

import (
	_ "embed"
	"strings"

	"github.com/ryeos/rye/diag"
)

// ExplanationsText holds the longer text of each code: a line with the code,
// then its paragraph, then an empty line.
//
//go:embed explanations.txt
var ExplanationsText string

// Explanation returns the meaning of a code and its usual causes, "" for a code without a
// text.
func Explanation(c diag.Code) string {
	_, rest, found := strings.Cut("\n\n"+ExplanationsText, "\n\n"+string(c)+"\n")
	if !found {
		return ""
	}
	text, _, _ := strings.Cut(rest, "\n\n")
	return strings.TrimSpace(text)
}

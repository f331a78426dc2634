package agent

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// TestSuggestionsNameNoCommand: a model that has a shell would run a command line.
func TestSuggestionsNameNoCommand(t *testing.T) {
	command := regexp.MustCompile(`\brye [a-z]|--[a-z]|` + "`")
	for at, text := range suggestions() {
		if command.MatchString(text) {
			t.Errorf("%v: %q names a command line", at, text)
		}
		if _, known := diag.Lookup(at.code); at.code != "" && !known {
			t.Errorf("%v: unknown code", at)
		}
		if strings.Count(text, "{") != strings.Count(text, "}") {
			t.Errorf("%v: %q", at, text)
		}
	}
	for class, text := range classSuggestions() {
		if command.MatchString(text) {
			t.Errorf("%s: %q names a command line", class, text)
		}
	}
}

func TestSuggestion(t *testing.T) {
	for want, e := range map[string]*diag.Error{
		"call load again with {\"item_id\":\"a\"}": diag.New(diag.UnknownParameter, "x").WithReason("arguments_corrected").
			WithDetail("tool", "load").WithDetail("corrected_call", map[string]any{"item_id": "a"}),
		"ask the user to review and sign tool:a, tool:b": diag.New(diag.PermissionDenied, "x").WithReason("sign_disabled").WithDetail("refs", []string{"tool:a", "tool:b"}),
		"did you mean tool:a?":                           {Code: diag.ItemNotFound, Findings: []diag.Finding{diag.Errorf(diag.ItemNotFound, 0, 0, "x").WithReason("nearest", "nearest", "tool:a")}},
		"call search to find the id":                     diag.New(diag.ItemNotFound, "x").WithReason("unknown_reason"),
		"ask the user to permit it":                      diag.New(diag.PermissionDenied, "x"), // no fact "missing"
		"":                                               diag.New(diag.FileSystemError, "x"),
	} {
		if got := suggestion(e); got != want {
			t.Errorf("%s %s: %q, want %q", e.Code, e.Reason, got, want)
		}
	}
}

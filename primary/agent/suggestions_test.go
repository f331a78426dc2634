package agent

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hinttable"
)

// TestSuggestionsNameNoCommand: a model that has a shell would run a command line.
func TestSuggestionsNameNoCommand(t *testing.T) {
	command := regexp.MustCompile(`\brye [a-z]|--[a-z]|` + "`")
	classes := 0
	for row := range hinttable.Rows(suggestionTable) {
		if command.MatchString(row.Text) {
			t.Errorf("line %d: %q names a command line", row.Line, row.Text)
		}
		if strings.Count(row.Text, "{") != strings.Count(row.Text, "}") {
			t.Errorf("line %d: %q", row.Line, row.Text)
		}
		_, known := diag.Lookup(diag.Code(row.Code))
		switch {
		case row.Code == classRow:
			classes++
		case row.Code != everyCode && !known:
			t.Errorf("line %d: unknown code", row.Line)
		}
	}
	if classes < 10 {
		t.Errorf("only %d defaults of classes", classes)
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

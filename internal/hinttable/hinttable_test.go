package hinttable

import (
	"slices"
	"testing"
)

const table = "# Hints.\nUSAGE nearest: did you mean: a?\nUSAGE nearest_long: other\nUSAGE: run --help\nDRIFT none:\n\n* tool:x: anywhere\nLAST row: the end"

func TestLookup(t *testing.T) {
	for _, c := range []struct{ code, reason, want string }{
		{"USAGE", "nearest", "did you mean: a?"},
		{"USAGE", "", "run --help"},
		{"USAGE", "near", ""},
		{"USAGE", "run", ""},
		{"DRIFT", "none", ""},
		{"*", "tool:x", "anywhere"},
		{"LAST", "row", "the end"},
		{"", "", ""},
		{"AGE", "nearest", ""},
	} {
		if got := Lookup(table, c.code, c.reason); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.code, c.reason, got, c.want)
		}
	}
}

// Every row is found by its code and reason.
func TestRows(t *testing.T) {
	var lines []int
	for row := range Rows(table) {
		lines = append(lines, row.Line)
		if got := Lookup(table, row.Code, row.Reason); got != row.Text {
			t.Errorf("line %d: %q, want %q", row.Line, got, row.Text)
		}
	}
	if want := []int{2, 3, 4, 5, 7, 8}; !slices.Equal(lines, want) {
		t.Errorf("lines %v, want %v", lines, want)
	}
}

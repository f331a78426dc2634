package wire

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// One error lists every problem, also those of nested objects, with their
// position.
func TestArgs(t *testing.T) {
	t.Parallel()
	a := NewArgs(map[string]any{
		"name": 5, "extra": true, "count": 1.5, "ratio": int64(7), "on": "yes",
		"list": []any{"a", 1}, "items": []any{map[string]any{"id": "", "x": nil}, "no"}, "limits": []any{},
	}, "name", "count", "ratio", "on", "list", "items", "limits", "missing")
	a.Required("name")
	a.Required("missing")
	a.Int("count", 1, 0, 10)
	a.Number("ratio", 1, 0, 1)
	a.Bool("on")
	a.Strings("list")
	for _, item := range a.Objects("items", "id") {
		item.Required("id")
	}
	a.Object("limits", "max")
	err := a.Err()
	e, ok := err.(*diag.Error)
	if !ok {
		t.Fatalf("%v", err)
	}
	var got []string
	for _, f := range e.Findings {
		got = append(got, f.Message)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		`unknown field "extra": the fields here are name, count`, "name must be a string, not a number", "missing is missing",
		"count must be a whole number from 0 to 10, not 1.5", "ratio must be a number from 0 to 1, not 7", "on must be true or false, not a string",
		"list[1] must be a string, not a number", "items[0].id is empty", `unknown field "items[0].x": the fields here are id`,
		"items[1] must be a mapping, not a string", "limits must be a mapping, not a list",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no problem %q in\n%s", want, all)
		}
	}
	if len(got) != 11 {
		t.Errorf("%d problems:\n%s", len(got), all)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	v := map[string]any{"a": []any{map[string]any{"b": "x"}}}
	if got, ok := Lookup(v, "a.0.b"); !ok || got != "x" {
		t.Errorf("%v %v", got, ok)
	}
	for _, path := range []string{"a.1", "a.-1", "a.x", "b", "a.0.b.c"} {
		if got, ok := Lookup(v, path); ok {
			t.Errorf("%s: %v", path, got)
		}
	}
}

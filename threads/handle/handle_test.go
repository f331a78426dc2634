package handle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// TestMatches names threads by each form, and shows which one is used if several fit.
func TestMatches(t *testing.T) {
	t.Parallel()
	ulid := func(c string) string { return strings.Repeat(c, 26) }
	project := t.TempDir()
	a, b, digits, x := "triage-"+ulid("1"), "triage-"+ulid("2"), "12-"+ulid("3"), "review-"+ulid("4")
	for _, id := range []string{a, b, digits, x} {
		if err := os.MkdirAll(filepath.Join(project, ".ai", "threads", id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	known := []Known{
		{ID: a, Project: project, Number: 1, Name: "Why does the test fail?"},
		{ID: b, Project: project, Number: 5, Name: "triage"},
		{ID: digits, Project: project, Number: 7, Name: "review"},
		{ID: x, Project: project, Number: 9, Name: "why does the test fail again?"},
		{ID: "other-" + ulid("5"), Project: "/elsewhere", Number: 12},
		{ID: "gone-" + ulid("6"), Project: project, Number: 3, Name: "gone"},
	}
	match := func(text string) ([]string, error) {
		return Matches(project, text, func() ([]Known, error) { return known, nil })
	}
	for text, want := range map[string][]string{
		a: {a}, "1": {a}, "@1": {a}, "5": {b}, "@7": {digits}, "9": {x},
		"triage":                  {b, a},   // the beginning of ids, and the name of one
		"triage-1":                {a},      //
		"12":                      {digits}, // the number is of another project
		"12-":                     {digits}, //
		"review":                  {x},      // an id before a name
		"why does the test fail?": {a},      // a whole name before the beginning of another one
		"Why does":                {x, a},
	} {
		if got, err := match(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, not %v: %v", text, got, want, err)
		}
	}
	for text, want := range map[string]string{
		"3": "it was gone-", "@12": "it is other-" + ulid("5") + " of /elsewhere", "@99": "has this number, name or id", "gone": "has this number, name or id",
		"@x": "must be a number", "@-0": "must be a number", "@": "fewer threads", "18446744073709551616": "has this number, name or id", "0": "has this number, name or id",
	} {
		if got, err := match(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v: %v, not %q", text, got, err, want)
		}
	}
	lost := errors.New("the registry cannot be read")
	if got, err := Matches(project, b, func() ([]Known, error) { return nil, lost }); err != nil || !slices.Equal(got, []string{b}) {
		t.Errorf("an id needs the registry: %v %v", got, err)
	}
	if _, err := Matches(project, "1", func() ([]Known, error) { return nil, lost }); !errors.Is(err, lost) {
		t.Errorf("the error of the registry is lost: %v", err)
	}
	if _, err := match("none"); diag.CodeOf(err) != diag.ThreadNotFound {
		t.Errorf("%v", err)
	}
}

// TestName makes one short line of inputs.
func TestName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		inputs map[string]any
		want   string
	}{
		{nil, ""},
		{map[string]any{"prompt": "What is\n  here? "}, "What is here?"},
		{map[string]any{"file": "issue.md", "n": float64(3), "left": nil, "empty": ""}, "file=issue.md n=3"},
		{map[string]any{"items": []any{"a", "b"}}, `["a","b"]`},
		{map[string]any{"prompt": strings.Repeat("é", 100)}, strings.Repeat("é", 59) + "…"},
	} {
		if got := Name(c.inputs); got != c.want {
			t.Errorf("%v is %q, not %q", c.inputs, got, c.want)
		}
	}
}

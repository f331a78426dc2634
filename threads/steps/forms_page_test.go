package steps

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
)

// docs/reference/loop.md has the form of each step between two marks, and docs/reference/format/steps.json has the
// schemas. RYE_UPDATE_GOLDEN=1 writes both. A changed type is a difference.
func TestLoopPageForms(t *testing.T) {
	const page, begin, end = "../../docs/reference/loop.md", "<!-- forms of the steps, written by RYE_UPDATE_GOLDEN=1 go test ./threads/steps -run LoopPageForms -->\n", "<!-- end of the forms -->\n"
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(old), begin)
	_, foot, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no marks of the forms", page)
	}
	var b strings.Builder
	all := map[string]any{"input": inputForm()}
	for _, name := range slices.Sorted(maps.Keys(All())) {
		f, _ := formOf(name)
		all[name] = map[string]any{"params": f.Params, "result": f.Result}
		fmt.Fprintf(&b, "#### `%s`\n\n```text\n%s```\n\n", name, formText("params", f.Params)+formText("result", f.Result))
	}
	schemas, err := jsonx.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{page: head + begin + "\n```text\n" + formText("input", inputForm()) + "```\n\n" + b.String() + end + foot, "../../docs/reference/format/steps.json": string(schemas) + "\n"} {
		got, _ := os.ReadFile(file)
		if string(got) == want {
			continue
		}
		if os.Getenv("RYE_UPDATE_GOLDEN") != "1" {
			t.Errorf("%s differs from the types of the steps; RYE_UPDATE_GOLDEN=1 go test ./threads/steps -run LoopPageForms writes it", file)
			continue
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// formText writes a schema as a tree: one member a line, with ? if it can be absent.
func formText(name string, s map[string]any) string {
	var b strings.Builder
	writeForm(&b, "", name, s)
	return b.String()
}

func writeForm(b *strings.Builder, indent, name string, s map[string]any) {
	kind, below := formType(s)
	fmt.Fprintf(b, "%s%s: %s\n", indent, name, kind)
	properties, _ := below["properties"].(map[string]any)
	required, _ := below["required"].([]any)
	if below["title"] != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		sub, _ := properties[key].(map[string]any)
		shown := key
		if !slices.Contains(required, any(key)) {
			shown += "?"
		}
		writeForm(b, indent+"  ", shown, sub)
	}
}

// formType returns the type of a schema for readers, and the object whose members follow.
func formType(s map[string]any) (kind string, below map[string]any) {
	if title, ok := s["title"].(string); ok {
		return title, s
	}
	name, null := s["type"].(string)
	null = !null
	if list, ok := s["type"].([]any); ok {
		name, _ = list[0].(string)
	}
	switch name {
	case "array":
		items, _ := s["items"].(map[string]any)
		kind, below = formType(items)
		return "list of " + kind, below
	case "object":
		if values, ok := s["additionalProperties"].(map[string]any); ok {
			kind, _ = formType(values)
			return "mapping of " + kind, nil
		}
		if null {
			return "object or null", s
		}
		return "object", s
	case "":
		return "any value", nil
	}
	if null {
		name += " or null"
	}
	return name, nil
}

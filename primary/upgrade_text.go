package primary

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// replacement is one word of a file of the Python original that rye writes differently.
type replacement struct {
	path     string // of the field
	name     string // a word before the value on its line, "" if the field's position is the value's
	old, new string
}

// translated returns a tool of the Python original with the words that rye writes
// differently, and a note for each. A word is replaced only if the file then has the
// metadata that were meant and no other difference; else the file stays as it is, and
// its findings name what a person must change.
func (v *Verbs) translated(it *resolve.Item) (*resolve.Item, []diag.Finding) {
	if it.Ref.Kind != item.Tool || it.Support() {
		return it, nil
	}
	var notes []diag.Finding
	if _, named := it.Meta.Fields["executor_id"]; !named && it.Meta.ToolType != item.Library {
		r := replacement{"tool_type", "tool_type", it.Meta.ToolType, item.Library}
		if next, at := v.replaced(it, r); next != nil {
			it = next
			notes = append(notes, diag.Warnf(diag.Legacy, at.Line, at.Column,
				"tool_type %q without executor_id is now %q: the file is signed and listed, and is not run", r.old, r.new))
		}
	}
	for i, arg := range tree.NewReader(&tree.Doc{Root: it.Meta.Config}, diag.ConfigError).Texts("args", nil) {
		if !certain(it, arg) {
			continue
		}
		r := replacement{tree.Index("config.args", i), "", arg, "{param:" + arg[1:]}
		if next, at := v.replaced(it, r); next != nil {
			it = next
			notes = append(notes, diag.Warnf(diag.Legacy, at.Line, at.Column, "the parameter %s is now %s", r.old, r.new))
		}
	}
	return it, diag.WithPath(notes, it.Path())
}

// certain reports whether an argument was the value of a parameter in the original: it
// is a template as a whole, the tool declares the parameter, and neither rye nor the
// tool's config has another value of that name.
func certain(it *resolve.Item, arg string) bool {
	name, ok := strings.CutPrefix(arg, "{")
	name, closed := strings.CutSuffix(name, "}")
	if !ok || !closed || !it.RunsCommand() || slices.Contains(tmpl.Names(), name) {
		return false
	}
	if _, own := it.Meta.Config[name]; own {
		return false
	}
	return slices.Contains(declared(&it.Meta), name)
}

// declared returns the names of the parameters of a tool: those of its schema, and of
// the list that the original's YAML tools have.
func declared(m *item.Metadata) []string {
	var out []string
	properties, _ := m.Schema["properties"].(map[string]any)
	for name := range properties {
		out = append(out, name)
	}
	list, _ := m.Fields["parameters"].([]any)
	for _, p := range list {
		if o, ok := p.(map[string]any); ok {
			name, _ := o["name"].(string)
			out = append(out, name)
		}
	}
	return out
}

// replaced returns the item with one word replaced, and its position; nil if the word is
// not found on the line of its field, or if anything else of the metadata would change.
func (v *Verbs) replaced(it *resolve.Item, r replacement) (*resolve.Item, diag.Position) {
	at := (&tree.Doc{Pos: it.Meta.Pos}).At(r.path)
	start, end := lineAt(it.Bytes, at.Line)
	if start == end {
		return nil, at
	}
	from := min(start+max(at.Column-1, 0), end)
	if r.name != "" {
		from = start + bytes.Index(it.Bytes[start:end], []byte(r.name)) + len(r.name)
	}
	i := bytes.Index(it.Bytes[min(from, end):end], []byte(r.old))
	if r.old == "" || i < 0 {
		return nil, at
	}
	next := v.p.Resolver.WithBytes(it, slices.Concat(it.Bytes[:from+i], []byte(r.new), it.Bytes[from+i+len(r.old):]))
	if !reflect.DeepEqual(next.Meta.Fields, withValue(it.Meta.Fields, strings.Split(r.path, "."), r.new)) {
		return nil, at
	}
	return next, at
}

// lineAt returns the offsets of a line, which is numbered from 1.
func lineAt(b []byte, number int) (start, end int) {
	for line := range bytes.Lines(b) {
		if number--; number == 0 {
			return start, start + len(line)
		}
		start += len(line)
	}
	return 0, 0
}

// withValue returns a copy of v with another value at a path.
func withValue(v any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = e
		}
		out[path[0]] = withValue(v[path[0]], path[1:], value)
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			if tree.Index("", i) == path[0] {
				out[i] = withValue(out[i], path[1:], value)
			}
		}
		return out
	}
	return v
}

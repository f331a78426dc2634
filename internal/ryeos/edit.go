package ryeos

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Translate returns an item of the original with the words that rye writes differently,
// and a note for each.
func Translate(r *resolve.Resolver, it *resolve.Item) (*resolve.Item, []diag.Finding) {
	t := &translation{r: r, it: it}
	switch {
	case it.Ref.Kind == item.Tool && !it.Support():
		t.tool()
	case it.Ref.Kind == item.Directive:
		t.directive()
	case it.Ref.Kind == item.Config:
		t.config()
	}
	return t.it, diag.WithPath(t.notes, it.Path())
}

// translation is an item with the rewrites so far.
type translation struct {
	r     *resolve.Resolver
	it    *resolve.Item
	notes []diag.Finding
}

// edit replaces the bytes from one offset to another.
type edit struct {
	from, to int
	text     string
}

func (e edit) apply(b []byte) []byte {
	return slices.Concat(
		b[:e.from],
		[]byte(e.text),
		b[e.to:],
	)
}

// try makes an edit if the item that follows is accepted, and adds a note.
func (t *translation) try(
	e edit,
	at diag.Position,
	accept func(next *resolve.Item) bool,
	format string,
	args ...any,
) bool {
	next := t.r.WithBytes(t.it, e.apply(t.it.Bytes))
	if !accept(next) {
		return false
	}
	t.it = next
	t.notes = append(t.notes, diag.Warnf(
		diag.Legacy,
		at.Line,
		at.Column,
		format,
		args...,
	))
	return true
}

// fields returns a function that accepts an item with exactly these metadata.
func fields(want map[string]any) func(*resolve.Item) bool {
	return func(next *resolve.Item) bool {
		return reflect.DeepEqual(next.Meta.Fields, want)
	}
}

// at returns the position of a field.
func (t *translation) at(path string) diag.Position {
	return (&tree.Doc{Pos: t.it.Meta.Pos}).At(path)
}

// word returns the edit that replaces one word on the line of a field: the first one
// behind name, or behind the position of the field if name is empty. It returns false
// if the word is not there.
func (t *translation) word(path, name, old, word string) (edit, bool) {
	at := t.at(path)
	start, end := lineAt(t.it.Bytes, at.Line)
	from := min(start+max(at.Column-1, 0), end)
	if name != "" {
		from = start + bytes.Index(
			t.it.Bytes[start:end],
			[]byte(name),
		) + len(name)
	}
	i := bytes.Index(
		t.it.Bytes[min(from, end):end],
		[]byte(old),
	)
	if old == "" || i < 0 {
		return edit{}, false
	}
	return edit{from + i, from + i + len(old), word}, true
}

// value replaces the value of a field, a word on its line, and reports whether it did.
func (t *translation) value(path, name, old, word, format string, args ...any) bool {
	e, ok := t.word(path, name, old, word)
	want, _ := withValue(
		t.it.Meta.Fields,
		strings.Split(path, "."),
		word,
	).(map[string]any)
	return ok && t.try(e, t.at(path), fields(want), format, args...)
}

// commented returns the edit that makes the lines of top-level fields comments. It
// returns false if the name of a field is not on its line.
func (t *translation) commented(sign string, names ...string) (edit, bool) {
	var starts []int
	for _, name := range names {
		if _, has := t.it.Meta.Fields[name]; !has {
			continue
		}
		start, end := lineAt(t.it.Bytes, t.at(name).Line)
		if !bytes.Contains(t.it.Bytes[start:end], []byte(name)) {
			return edit{}, false
		}
		starts = append(starts, start)
	}
	slices.Sort(starts)
	b := t.it.Bytes
	for _, start := range slices.Backward(starts) {
		b = edit{start, start, sign + " "}.apply(b)
	}
	return edit{0, len(t.it.Bytes), string(b)}, true
}

// without returns a copy of fields without some of them.
func without(in map[string]any, names ...string) map[string]any {
	out := maps.Clone(in)
	for _, name := range names {
		delete(out, name)
	}
	return out
}

// errorsOf returns the number of errors in the metadata of an item.
func errorsOf(it *resolve.Item) int {
	n := 0
	for _, f := range it.Findings {
		if f.Severity == diag.SeverityError {
			n++
		}
	}
	return n
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

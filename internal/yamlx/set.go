package yamlx

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Set returns the document b with one value changed, and everything else as it is.
// value is in flow style, on one line. Mappings on the path that do not exist are
// added.
func Set(b []byte, path []string, value string) ([]byte, error) {
	root, found := Outline(b)
	if root == nil {
		return nil, diag.FromFindings("reading the file to edit", found)
	}
	b = setIn(b, root, path, value)
	if err := onlyChanged(b, root, path, value); err != nil {
		return nil, err
	}
	return b, nil
}

func setIn(b []byte, n *Node, path []string, value string) []byte {
	e := n.Find(path[0])
	switch {
	case e == nil:
		return addEntry(b, n, path[0], flowOf(path[1:], value))
	case len(path) > 1 && e.Value.Kind == MappingNode:
		return setIn(b, e.Value, path[1:], value)
	}
	text := flowOf(path[1:], value)
	start := e.Value.Start
	end := e.Value.End
	if e.Value.Kind != ScalarNode && !e.Value.Flow || start == end {
		// A block begins on a later line: the value begins after the colon of the key.
		start = e.Key.End + bytes.IndexByte(b[e.Key.End:], ':') + 1
		end = max(end, start)
		text = " " + text
	}
	return splice(b, start, end, text)
}

// flowOf nests a value below names: {a: {b: value}}.
func flowOf(path []string, value string) string {
	var opened strings.Builder
	for _, name := range path {
		opened.WriteString("{" + Scalar(name, 0) + ": ")
	}
	return opened.String() + value + strings.Repeat("}", len(path))
}

// addEntry adds a key at the end of a mapping.
func addEntry(b []byte, n *Node, key, value string) []byte {
	text := Scalar(key, 0) + ": " + value
	if n.Flow {
		if len(n.Entries) > 0 {
			text = ", " + text
			last := n.Entries[len(n.Entries)-1].Value
			return splice(b, last.End, last.End, text)
		}
		return splice(b, n.Start+1, n.Start+1, text)
	}
	if len(n.Entries) == 0 {
		return append(bytes.TrimRight(b, "\n"), "\n"+text+"\n"...)
	}
	last := n.Entries[len(n.Entries)-1]
	first := n.Entries[0].Key
	column := first.Start - (bytes.LastIndexByte(b[:first.Start], '\n') + 1)
	at := len(b)
	from := max(last.Value.End, last.Key.End)
	if from > 0 && b[from-1] == '\n' { // a block scalar ends after its line
		from--
	}
	if i := bytes.IndexByte(b[from:], '\n'); i >= 0 {
		at = from + i
	}
	return splice(b, at, at, "\n"+strings.Repeat(" ", column)+text)
}

func splice(b []byte, start, end int, text string) []byte {
	return bytes.Join(
		[][]byte{b[:start], []byte(text), b[end:]},
		nil,
	)
}

// onlyChanged returns an error unless the document has the value at the path, and the
// other values of root.
func onlyChanged(b []byte, root *Node, path []string, value string) error {
	unable := diag.New(diag.ConfigError, "setting %s: the file is written in a way that rye does not edit: change it in an editor", strings.Join(path, "."))
	after, found := Parse(b)
	want, _ := Parse([]byte("v: " + value + "\n"))
	if diag.Failed(found) || want == nil {
		return unable
	}
	now, _ := Outline(b)
	got := any(after.Root)
	for _, name := range path {
		m, _ := got.(map[string]any)
		got = m[name]
	}
	if !reflect.DeepEqual(got, want.Root["v"]) || !sameBut(root, now, path) {
		return unable
	}
	return nil
}

// sameBut reports whether two outlines have the same values but at a path.
func sameBut(a, b *Node, path []string) bool {
	if len(path) == 0 {
		return true
	}
	seen := 0
	for _, e := range a.Entries {
		other := b.Find(e.Key.Text)
		switch {
		case e.Key.Text == path[0]:
			if other == nil ||
				e.Value.Kind == MappingNode && !sameBut(e.Value, other.Value, path[1:]) {
				return false
			}
		case other == nil || !sameNode(e.Value, other.Value):
			return false
		}
		seen++
	}
	extra := 0
	if a.Find(path[0]) == nil {
		extra = 1
	}
	return len(b.Entries) == seen+extra
}

func sameNode(a, b *Node) bool {
	if a.Kind != b.Kind ||
		a.Text != b.Text ||
		a.Quote != b.Quote ||
		len(a.Entries) != len(b.Entries) ||
		len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Entries {
		if a.Entries[i].Key.Text != b.Entries[i].Key.Text ||
			!sameNode(a.Entries[i].Value, b.Entries[i].Value) {
			return false
		}
	}
	for i := range a.Items {
		if !sameNode(a.Items[i], b.Items[i]) {
			return false
		}
	}
	return true
}

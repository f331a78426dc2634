// Package edit changes entries of rye.yaml and keeps all other lines as they are. It does not
// write the file.
package edit

import (
	"github.com/ryeos/rye/lock"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
)

// Edit sets or removes one entry of rye.yaml.
// Only the lines of the entry change. Comments and an empty section stay, so removing may leave
// "require:".
type Edit struct {
	Section string   // require, use, prefer, replace or exclude
	Key     string   // a bundle id, for prefer a ref
	Value   string   // of require, prefer and replace; "" removes the entry
	Values  []string // of use and exclude; none removes the entry
}

// SetRequire requires a bundle in at least a version.
func SetRequire(id lock.ID, version string) Edit {
	return Edit{Section: "require", Key: id.String(), Value: version}
}

// SetUse limits a bundle to items.
func SetUse(id lock.ID, items []string) Edit {
	return Edit{Section: "use", Key: id.String(), Values: items}
}

// Remove returns the edits that remove a bundle from the manifest: its requirement
// and every entry that names it.
func Remove(m *lock.ProjectFile, id lock.ID) []Edit {
	var out []Edit
	for _, section := range []string{"require", "use", "replace", "exclude"} {
		out = append(out, Edit{Section: section, Key: id.String()})
	}
	for _, ref := range slices.Sorted(maps.Keys(m.Prefer)) {
		if m.Prefer[ref] == id {
			out = append(out, Edit{Section: "prefer", Key: ref})
		}
	}
	return out
}

func (e Edit) lists() bool {
	return e.Section == "use" || e.Section == "exclude"
}

func (e Edit) removes() bool {
	return e.Value == "" && len(e.Values) == 0
}

// canonicalKey returns the form of a key by which entries are compared.
func canonicalKey(section, key string) (string, error) {
	if section == "prefer" {
		ref, err := item.ParseRef(key, "")
		return ref.String(), err
	}
	id, err := lock.ParseID(key)
	return id.String(), err
}

// ProjectFile changes entries of a manifest. It keeps comments, order, quotes and
// blank lines of all other lines. An empty text becomes a new manifest. The result
// is parsed again and has exactly the requested values.
func ProjectFile(b []byte, edits ...Edit) ([]byte, error) {
	if len(b) == 0 {
		b = []byte("rye: 1\n")
	}
	want, fs := lock.ParseProjectFile(b)
	if want == nil {
		return nil, diag.FromFindings("reading "+lock.ProjectFileName, fs)
	}
	out := b
	for _, e := range edits {
		key, err := canonicalKey(e.Section, e.Key)
		if err != nil {
			return nil, err
		}
		e.Key = key
		if err := apply(want, e); err != nil {
			return nil, err
		}
		if out, err = e.text(out); err != nil {
			return nil, err
		}
	}
	got, fs := lock.ParseProjectFile(out)
	if got == nil {
		return nil, diag.FromFindings("editing "+lock.ProjectFileName, fs)
	}
	if got.Hash() != want.Hash() || got.Vendor != want.Vendor {
		return nil, notEditable(edits)
	}
	return out, nil
}

func notEditable(edits []Edit) error {
	e := edits[len(edits)-1]
	return diag.New(diag.ValidationFailed, "editing %s: the entry %q below %s cannot be edited automatically", lock.ProjectFileName, e.Key, e.Section).
		WithReason("not_editable").WithDetail("key", e.Key)
}

// apply applies an edit to the values.
func apply(m *lock.ProjectFile, e Edit) error {
	if e.Section == "prefer" {
		id, err := lock.ParseID(e.Value)
		if err != nil && !e.removes() {
			return err
		}
		m.Prefer = set(m.Prefer, e.Key, id, e.removes())
		return nil
	}
	id, err := lock.ParseID(e.Key)
	if err != nil {
		return err
	}
	switch e.Section {
	case "require":
		m.Require = set(m.Require, id, e.Value, e.removes())
	case "use":
		m.Use = set(m.Use, id, e.Values, e.removes())
	case "exclude":
		m.Exclude = set(m.Exclude, id, e.Values, e.removes())
	case "replace":
		r, err := lock.ParseReplacement(e.Value)
		if err != nil && !e.removes() {
			return err
		}
		m.Replace = set(m.Replace, id, r, e.removes())
	default:
		return diag.New(diag.Internal, "editing %s: unknown section %q", lock.ProjectFileName, e.Section)
	}
	return nil
}

func set[K comparable, T any](
	m map[K]T,
	key K,
	v T,
	remove bool,
) map[K]T {
	m = maps.Clone(m)
	switch {
	case remove:
		delete(m, key)
		return m
	case m == nil:
		m = map[K]T{}
	}
	m[key] = v
	return m
}

// text applies an edit to a text that parses.
func (e Edit) text(b []byte) ([]byte, error) {
	for range 2 + 2*(len(e.Values)+len(b)) {
		root, fs := yamlx.Outline(b)
		if root == nil {
			return nil, diag.FromFindings("editing "+lock.ProjectFileName, fs)
		}
		cut, done := e.step(b, root)
		if !done && cut.bad {
			return nil, notEditable([]Edit{e})
		}
		if done {
			return b, nil
		}
		b = cut.apply(b)
	}
	return nil, notEditable([]Edit{e})
}

// step returns the next change of the text; done reports that the text has the
// edit. A list needs one step for each element.
func (e Edit) step(b []byte, root *yamlx.Node) (s splice, done bool) {
	section := root.Find(e.Section)
	if section == nil || section.Value.Kind != yamlx.MappingNode {
		if e.removes() {
			return splice{}, true
		}
		return e.addSection(b, root, section), false
	}
	m := section.Value
	i := slices.IndexFunc(m.Entries, func(x yamlx.Entry) bool {
		key, err := canonicalKey(e.Section, x.Key.Text)
		return err == nil && key == e.Key
	})
	switch {
	case i < 0 && e.removes():
		return splice{}, true
	case i < 0:
		return e.addEntry(b, section), false
	case e.removes():
		return removePart(b, m, i), false
	case e.lists() && m.Entries[i].Value.Kind == yamlx.ListNode:
		return e.list(b, m.Entries[i].Value)
	}
	return e.scalar(m.Entries[i].Value)
}

func (e Edit) scalar(v *yamlx.Node) (splice, bool) {
	if v.Kind == yamlx.ScalarNode && v.Text == e.Value {
		return splice{}, true
	}
	text := yamlx.Scalar(e.Value, v.Quote)
	if e.lists() {
		text = flowList(e.Values)
	}
	if v.Start == v.End {
		text = " " + text
	}
	return splice{start: v.Start, end: v.End, text: text}, false
}

func (e Edit) list(b []byte, v *yamlx.Node) (splice, bool) {
	have := make([]string, len(v.Items))
	for i, n := range v.Items {
		have[i] = n.Text
	}
	for _, want := range e.Values {
		if !slices.Contains(have, want) {
			return addPart(b, v, len(v.Items), yamlx.Scalar(want, 0)), false
		}
	}
	for i, s := range have {
		if !slices.Contains(e.Values, s) {
			return removePart(b, v, i), false
		}
	}
	return splice{}, true
}

func flowList(values []string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = yamlx.Scalar(v, 0)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (e Edit) line() string {
	value := yamlx.Scalar(e.Value, 0)
	if e.lists() {
		value = flowList(e.Values)
	}
	return yamlx.Scalar(e.Key, 0) + ": " + value
}

// addEntry adds a line, or a part of a flow mapping, in the order of the keys, or
// after the last if they are not sorted.
func (e Edit) addEntry(b []byte, section *yamlx.Entry) splice {
	m := section.Value
	keys := make([]string, len(m.Entries))
	for i, x := range m.Entries {
		keys[i] = x.Key.Text
	}
	i := len(keys)
	if slices.IsSorted(keys) {
		i, _ = slices.BinarySearch(keys, e.Key)
	}
	if i == 0 && !m.Flow {
		return newLine(
			b,
			section.Key.End,
			indentOf(b, m.Entries[0].Key.Start)+e.line(),
		)
	}
	return addPart(b, m, i, e.line())
}

// addSection adds the section after its predecessor in the order of sections.
func (e Edit) addSection(b []byte, root *yamlx.Node, section *yamlx.Entry) splice {
	if section != nil && section.Value.Start == section.Value.End && !root.Flow {
		return newLine(b, section.Key.End, "  "+e.line())
	}
	if section != nil {
		return splice{start: section.Value.Start, end: section.Value.End, text: "{" + e.line() + "}"}
	}
	order := lock.SectionNames()
	after := 0
	for i, x := range root.Entries {
		at := slices.Index(order, x.Key.Text)
		if at >= 0 && at < slices.Index(order, e.Section) {
			after = i + 1
		}
	}
	if root.Flow {
		return addPart(b, root, after, e.Section+": {"+e.line()+"}")
	}
	eol := eolAt(b, root.Start)
	return addPart(b, root, after, e.Section+":"+eol+"  "+e.line())
}

package lock

import (
	"maps"
	"slices"
	"strings"
)

// Op is the kind of a change.
type Op string

// The values of Op.
const (
	Added   Op = "added"
	Removed Op = "removed"
	Changed Op = "changed"
)

// Change is the difference of one entry between two locks.
type Change struct {
	Op     Op            `json:"op"`
	Kind   string        `json:"kind"` // head, bundle, member or item
	Name   string        `json:"name"` // bundle id, path or ref; "" for the head
	Fields []FieldChange `json:"fields"`
}

// FieldChange is the difference of one field. A list keeps its elements; the words
// of another field are joined with spaces.
type FieldChange struct {
	Name string   `json:"name"`
	Old  []string `json:"old,omitempty"`
	New  []string `json:"new,omitempty"`
}

// Added returns the elements that are only in New, such as the capabilities that an
// update adds.
func (f FieldChange) Added() []string {
	return without(f.New, f.Old)
}

// Removed returns the elements that are only in Old.
func (f FieldChange) Removed() []string {
	return without(f.Old, f.New)
}

func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		return slices.Contains(other, s)
	})
}

// Field returns the change of a field; its Name is "" when it did not change.
func (c Change) Field(name string) FieldChange {
	for _, f := range c.Fields {
		if f.Name == name {
			return f
		}
	}
	return FieldChange{}
}

// String renders one line: "github.com/acme/tools v1.0.0 -> v1.2.0".
func (c Change) String() string {
	name := strings.TrimSpace(c.Kind + " " + c.Name)
	if v := c.Field("version"); v.Name != "" {
		switch {
		case len(v.Old) == 0:
			return name + " " + v.New[0] + " " + string(c.Op)
		case len(v.New) == 0:
			return name + " " + v.Old[0] + " " + string(c.Op)
		}
		return name + " " + v.Old[0] + " -> " + v.New[0]
	}
	if c.Op != Changed {
		return name + " " + string(c.Op)
	}
	names := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		names[i] = f.Name
	}
	if c.Kind == "head" {
		name = "settings"
	}
	return name + " changed: " + strings.Join(names, ", ")
}

// Compare returns the differences between two locks, entry by entry: the head,
// then bundles, registries, members and items in their order. A nil lock has no entries.
// It is empty exactly when both render the same bytes.
func Compare(old, new *Lock) []Change {
	old = old.sorted()
	new = new.sorted()
	a := old.records(new)
	b := new.records(old)
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.SortFunc(names, func(x, y entryName) int {
		return x.compare(y)
	})
	var out []Change
	for _, n := range slices.Compact(names) {
		ra, inOld := a[n]
		rb, inNew := b[n]
		c := Change{
			Op:     Changed,
			Kind:   n.kind,
			Name:   n.name,
			Fields: compareFields(ra, rb),
		}
		switch {
		case !inOld:
			c.Op = Added
		case !inNew:
			c.Op = Removed
		case len(c.Fields) == 0:
			continue
		}
		out = append(out, c)
	}
	return out
}

type entryName struct{ kind, name string }

func (n entryName) compare(o entryName) int {
	order := []string{"head", "bundle", "adopted", "registry", "member", "item"}
	c := slices.Index(order, n.kind) - slices.Index(order, o.kind)
	if c != 0 {
		return c
	}
	return strings.Compare(n.name, o.name)
}

// sorted returns the lock in the format and the order that Render writes.
func (l *Lock) sorted() *Lock {
	if l == nil {
		return nil
	}
	c := l.Clone()
	c.Minor = l.Written()
	c.System = System{}
	c.Sort()
	return c
}

// records returns the entries by name, without the items that are equal in other. Both are
// sorted.
func (l *Lock) records(other *Lock) map[entryName]record {
	out := map[entryName]record{}
	if l == nil {
		return out
	}
	out[entryName{kind: "head"}] = l.head()
	for _, x := range l.Bundles {
		out[entryName{"bundle", x.ID.String()}] = x.record()
	}
	for _, x := range l.Adopted {
		out[entryName{"adopted", x.ID.String()}] = x.record()
	}
	for _, x := range l.Registries {
		out[entryName{"registry", x.Host}] = x.record()
	}
	for _, x := range l.Members {
		out[entryName{"member", x.Path}] = x.record()
	}
	for _, x := range l.Items {
		same := other.Item(x.Ref)
		if same == nil || !same.Equal(&x) {
			out[entryName{"item", x.Ref.String()}] = x.record()
		}
	}
	return out
}

// compareFields returns the fields that differ, in the order of the file.
func compareFields(a, b record) []FieldChange {
	var out []FieldChange
	for _, f := range a.fields {
		now := b.texts(f.key)
		if was := f.texts(); !slices.Equal(was, now) {
			out = append(out, FieldChange{oneName(f.key), was, now})
		}
	}
	for _, f := range b.fields {
		if a.texts(f.key) == nil {
			out = append(out, FieldChange{Name: oneName(f.key), New: f.texts()})
		}
	}
	return mergeSigners(out)
}

// oneName maps the fields signer and signers to one name.
func oneName(key string) string {
	if key == "signer" {
		return "signers"
	}
	return key
}

func mergeSigners(fields []FieldChange) []FieldChange {
	first := slices.IndexFunc(fields, func(f FieldChange) bool {
		return f.Name == "signers"
	})
	for i := len(fields) - 1; i > first && first >= 0; i-- {
		if fields[i].Name == "signers" {
			fields[first].Old = append(fields[first].Old, fields[i].Old...)
			fields[first].New = append(fields[first].New, fields[i].New...)
			fields = slices.Delete(fields, i, i+1)
		}
	}
	return fields
}

func (r record) texts(key string) []string {
	for _, f := range r.fields {
		if f.key == key {
			return f.texts()
		}
	}
	return nil
}

func (f field) texts() []string {
	if f.words == nil {
		return []string{f.raw}
	}
	out := make([]string, len(f.words))
	for i, words := range f.words {
		out[i] = strings.Join(words, " ")
	}
	return out
}

// Package layered merges settings of several layers into one value and records
// the layer of every part.
//
// It reads no files and verifies nothing: the caller has verified the layers.
package layered

import (
	"maps"
	"slices"

	"github.com/ryeos/rye/internal/tree"
)

// IDKey is the key that identifies elements of lists.
const IDKey = "id"

// Layer is one document and its name in origins.
type Layer struct {
	Name string
	Root map[string]any
}

// Merged is the merged value and the layer of each part. Origins are keyed by
// path, as in tree.Doc: every scalar, every list that was replaced as a whole,
// and every empty mapping has one.
type Merged struct {
	Root    map[string]any
	Origins map[string]string
}

// Merge lays the later layers over the earlier ones. Mappings merge deep. A
// list merges by id if every element of both lists is a mapping with an id:
// equal ids merge, new ones are appended. Any other value replaces the earlier
// value, null too.
func Merge(layers []Layer) *Merged {
	m := &Merged{Root: map[string]any{}, Origins: map[string]string{}}
	for _, l := range layers {
		m.Root = m.mapping(m.Root, l.Root, "", l.Name)
	}
	return m
}

func (m *Merged) mapping(base, over map[string]any, path, name string) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for _, k := range slices.Sorted(maps.Keys(over)) {
		old, known := base[k]
		out[k] = m.value(old, over[k], known, tree.Join(path, k), name)
	}
	return out
}

// value returns what over makes of base. known is false if no earlier layer has the path,
// so that it has no origins to forget.
func (m *Merged) value(base, over any, known bool, path, name string) any {
	if o, ok := over.(map[string]any); ok {
		if b, ok := base.(map[string]any); ok {
			return m.mapping(b, o, path, name)
		}
		m.forget(path, known)
		if len(o) == 0 {
			m.Origins[path] = name
		}
		return m.mapping(nil, o, path, name)
	}
	if o, ok := over.([]any); ok {
		b, isList := base.([]any)
		if isList && identified(b) && identified(o) {
			return m.list(b, o, path, name)
		}
		m.forget(path, known)
		if identified(o) && len(o) > 0 {
			return m.list(nil, o, path, name)
		}
		m.Origins[path] = name
		return o
	}
	m.forget(path, known)
	m.Origins[path] = name
	return over
}

// identified reports whether every element is a mapping with an id of its own.
func identified(list []any) bool {
	seen := map[string]bool{}
	for _, e := range list {
		o, _ := e.(map[string]any)
		id, ok := o[IDKey].(string)
		if !ok || seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

// list merges by id. Origins of elements are keyed by id, which does not change
// with the order.
func (m *Merged) list(base, over []any, path, name string) []any {
	out := slices.Clone(base)
	for _, e := range over {
		o := e.(map[string]any)
		at := tree.Join(path, o[IDKey].(string))
		i := slices.IndexFunc(out, func(b any) bool { return b.(map[string]any)[IDKey] == o[IDKey] })
		if i < 0 {
			out = append(out, m.mapping(nil, o, at, name))
			continue
		}
		out[i] = m.mapping(out[i].(map[string]any), o, at, name)
	}
	return out
}

// forget deletes the origins at and below a path whose value is replaced.
func (m *Merged) forget(path string, known bool) {
	if !known {
		return
	}
	for p := range m.Origins {
		if p == path || len(p) > len(path) && p[:len(path)] == path && p[len(path)] == '.' {
			delete(m.Origins, p)
		}
	}
}

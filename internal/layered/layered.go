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

// Merge lays the later layers over the earlier ones. Mappings merge deep. A
// list merges by id if every element of both lists is a mapping with an id:
// equal ids merge, new ones are appended. Any other value replaces the earlier
// value, null too. Parts that only one layer has are shared with it, so no caller may change
// a value below the result.
func Merge(layers []Layer) map[string]any {
	m := merger{}
	root := map[string]any{}
	for _, l := range layers {
		root = m.mapping(root, l.Root, "", l.Name)
	}
	return root
}

// Origins returns the layer of each part of the merged value, keyed by path, as in
// tree.Doc: every scalar, every list that was replaced as a whole, and every empty
// mapping has one.
func Origins(layers []Layer) map[string]string {
	m := merger{origins: map[string]string{}}
	root := map[string]any{}
	for _, l := range layers {
		root = m.mapping(root, l.Root, "", l.Name)
	}
	return m.origins
}

// merger merges layers. The paths of the parts take most of the time, so they are made for
// origins only.
type merger struct {
	origins map[string]string // nil records none
}

func (m *merger) join(path, key string) string {
	if m.origins == nil {
		return ""
	}
	return tree.Join(path, key)
}

func (m *merger) from(path, name string) {
	if m.origins != nil {
		m.origins[path] = name
	}
}

func (m *merger) mapping(base, over map[string]any, path, name string) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = make(map[string]any, len(over))
	}
	for k, v := range over {
		old, known := base[k]
		out[k] = m.value(old, v, known, m.join(path, k), name)
	}
	return out
}

// value returns base, changed by over. known is false if no earlier layer has the path, so
// that it has no origins to forget.
func (m *merger) value(base, over any, known bool, path, name string) any {
	if m.origins == nil && !known {
		return over
	}
	if o, ok := over.(map[string]any); ok {
		if b, ok := base.(map[string]any); ok {
			return m.mapping(b, o, path, name)
		}
		m.forget(path, known)
		if len(o) == 0 {
			m.from(path, name)
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
		m.from(path, name)
		return o
	}
	m.forget(path, known)
	m.from(path, name)
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
func (m *merger) list(base, over []any, path, name string) []any {
	out := slices.Clone(base)
	for _, e := range over {
		o := e.(map[string]any)
		at := m.join(path, o[IDKey].(string))
		i := slices.IndexFunc(out, func(b any) bool {
			return b.(map[string]any)[IDKey] == o[IDKey]
		})
		if i < 0 {
			out = append(out, m.mapping(nil, o, at, name))
			continue
		}
		out[i] = m.mapping(
			out[i].(map[string]any),
			o,
			at,
			name,
		)
	}
	return out
}

// forget deletes the origins at and below a path whose value is replaced.
func (m *merger) forget(path string, known bool) {
	if !known {
		return
	}
	for p := range m.origins {
		if p == path ||
			len(p) > len(path) && p[:len(path)] == path && p[len(path)] == '.' {
			delete(m.origins, p)
		}
	}
}

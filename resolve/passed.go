package resolve

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Parsed is what Passed returned when the embedded bundle was signed: a start of the program
// reads no YAML of the items in it. Like what a process passes, it is used only for the same
// bytes and the same extractor, after the verdict on them. Nil has nothing.
type Parsed struct{ items func() passed }

// NewParsed returns the metadata in a text of Passed that the program contains. A text that is
// not in its form has none.
func NewParsed(text string) *Parsed {
	return &Parsed{sync.OnceValue(func() passed {
		all, err := readPassed(text)
		if err != nil {
			return nil
		}
		return all
	})}
}

func (p *Parsed) has(it *Item) bool {
	if p == nil {
		return false
	}
	_, ok := p.items()[passedKey(it)]
	return ok
}

// AtStart reports whether an embedded item is one that runs of tools read, for NewParsed.
func AtStart(ref item.Ref) bool {
	if ref.Kind == item.Config {
		return ref.ID == policy.AllowanceID
	}
	return ref.Kind == item.Tool &&
		(strings.HasPrefix(ref.ID, "rye/core/") || strings.HasPrefix(ref.ID, "rye/bash/") || strings.HasPrefix(ref.ID, "rye/file-system/"))
}

// passed has the metadata of embedded items as another process of the same program read it,
// encoded, by the key of passedKey.
type passed map[string]string

// passedKey identifies what metadata depends on: the bytes of the file, and what reads them.
func passedKey(it *Item) string {
	return string(it.Digest[:]) + string(it.Extractor.Source[:]) + it.Ref.String() + it.Type.Ext
}

// isPassed reports whether the metadata of an item can be passed to another process. Only files
// of the embedded bundle are, which are the same bytes in each process of a program.
func isPassed(it *Item) bool {
	return it.Root.Embedded() && it.Type.Codec == extract.CodecYAML
}

// maxPassed bounds what Passed returns.
const maxPassed = 1 << 20

// Passed returns the metadata of the embedded items that this Resolver has read and use accepts,
// for Pass in another process of the same program, without what each process has of Parsed. Nothing
// else is passed: the process reads the bytes of each item by itself, and verifies them.
func (r *Resolver) Passed(use func(item.Ref) bool) []byte {
	if r.embedded == nil {
		return nil
	}
	r.embedded.mu.Lock()
	defer r.embedded.mu.Unlock()
	found := map[string][]byte{}
	size := 0
	for _, j := range r.embedded.m {
		it := j.it
		if !isPassed(it) ||
			!use(it.Ref) ||
			r.p.Parsed.has(it) ||
			it.Skipped ||
			len(it.Findings) > 0 ||
			it.Meta.Fallback ||
			len(it.Meta.Body) > 0 ||
			!it.Verdict.OK() {
			continue
		}
		var keys any
		if it.Meta.Keys != nil {
			m := map[string]any{}
			for k, v := range it.Meta.Keys {
				m[k] = v
			}
			keys = m
		}
		b, ok := tree.Append(nil, it.Meta.Fields)
		if ok {
			b, ok = tree.Append(b, keys)
		}
		for _, at := range slices.Sorted(maps.Keys(it.Meta.Pos)) {
			for _, v := range []any{at, int64(it.Meta.Pos[at].Line), int64(it.Meta.Pos[at].Column)} {
				b, _ = tree.Append(b, v)
			}
		}
		if size += len(b); ok && size <= maxPassed {
			found[passedKey(it)] = b
		}
	}
	var out []byte
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out, _ = tree.Append(out, key)
		out, _ = tree.Append(out, string(found[key]))
	}
	return out
}

// Pass accepts what Passed returned in another process of the same program. It must be called
// before the Resolver is used, with bytes that only that process can have written.
func (r *Resolver) Pass(b []byte) error {
	all, err := readPassed(string(b))
	if err == nil {
		r.passed = all
	}
	return err
}

func readPassed(s string) (passed, error) {
	all := passed{}
	for s != "" {
		key, rest, err := tree.Decode(s)
		if err != nil {
			return nil, err
		}
		value, rest, err := tree.Decode(rest)
		if err != nil {
			return nil, err
		}
		k, isText := key.(string)
		v, isBytes := value.(string)
		if !isText || !isBytes {
			return nil, diag.New(diag.Usage, "reading what to start: passed items are not in the form of this program")
		}
		all[k], s = v, rest
	}
	return all, nil
}

// parsed returns the metadata of an item that another process passed or that the program
// contains.
func (r *Resolver) parsed(it *Item) (m item.Metadata, ok bool) {
	if m, ok = r.passed.take(it); !ok && r.p.Parsed != nil && isPassed(it) {
		m, ok = r.p.Parsed.items().take(it)
	}
	return m, ok
}

// take returns the metadata of an item that was passed.
func (p passed) take(it *Item) (m item.Metadata, ok bool) {
	if p == nil || !isPassed(it) {
		return m, false
	}
	s, ok := p[passedKey(it)]
	if !ok {
		return m, false
	}
	fields, s, err := tree.Decode(s)
	if err != nil {
		return m, false
	}
	keys, s, err := tree.Decode(s)
	if err != nil {
		return m, false
	}
	if m.Fields, ok = fields.(map[string]any); !ok {
		return m, false
	}
	if list, _ := keys.(map[string]any); list != nil {
		m.Keys = map[string]string{}
		for k, v := range list {
			m.Keys[k], _ = v.(string)
		}
	}
	if m.Pos, ok = positions(s); !ok {
		return m, false
	}
	m.FromFields()
	return m, true
}

// positions reads paths, each with its line and column.
func positions(s string) (map[string]diag.Position, bool) {
	// A path has 20 bytes, or more.
	out := make(map[string]diag.Position, len(s)/30)
	for s != "" {
		var parts [3]any
		var err error
		for i := range parts {
			if parts[i], s, err = tree.Decode(s); err != nil {
				return nil, false
			}
		}
		path, isText := parts[0].(string)
		line, isLine := parts[1].(int64)
		column, isColumn := parts[2].(int64)
		if !isText || !isLine || !isColumn {
			return nil, false
		}
		out[path] = diag.Position{Line: int(line), Column: int(column)}
	}
	return out, true
}

package resolve

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// passed has the metadata of embedded items as another process of the same program read it,
// encoded, by the key of passedKey.
type passed map[string]string

// passedKey identifies what metadata depends on: the bytes of the file, and what reads them.
func passedKey(it *Item) string {
	return string(it.Digest[:]) + string(it.Extractor.Source[:]) + it.Ref.String() + it.Type.Ext
}

// isPassed reports whether the metadata of an item can be passed to another process. Only files
// of the embedded bundle are, which are the same bytes in each process of a program.
func isPassed(it *Item) bool { return it.Root.Embedded() && it.Type.Codec == extract.CodecYAML }

// hasLines reports whether people read the lines of an item as the origin of a rule: its
// positions are passed, too.
func hasLines(ref item.Ref) bool {
	return ref.Kind == item.Config && (ref.ID == policy.AllowanceID || ref.ID == policy.RiskID)
}

// maxPassed bounds what Passed returns.
const maxPassed = 1 << 20

// Passed returns the metadata of the embedded items that this Resolver has read, for Pass in
// another process of the same program. Nothing else is passed: the process reads the bytes of
// each item by itself, and verifies them.
func (r *Resolver) Passed() []byte {
	if r.embedded == nil {
		return nil
	}
	r.embedded.mu.Lock()
	defer r.embedded.mu.Unlock()
	var out []byte
	for _, j := range r.embedded.m {
		it := j.it
		if !isPassed(it) || it.Skipped || len(it.Findings) > 0 || it.Meta.Fallback || len(it.Meta.Body) > 0 || !it.Verdict.OK() {
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
		if hasLines(it.Ref) {
			for at, pos := range it.Meta.Pos {
				for _, v := range []any{at, int64(pos.Line), int64(pos.Column)} {
					b, _ = tree.Append(b, v)
				}
			}
		}
		if !ok || len(out)+len(b) > maxPassed {
			continue
		}
		out, _ = tree.Append(out, passedKey(it))
		out, _ = tree.Append(out, string(b))
	}
	return out
}

// Pass accepts what Passed returned in another process of the same program. It must be called
// before the Resolver is used, with bytes that only that process can have written.
func (r *Resolver) Pass(b []byte) error {
	all := passed{}
	for s := string(b); s != ""; {
		key, rest, err := tree.Decode(s)
		if err != nil {
			return err
		}
		value, rest, err := tree.Decode(rest)
		if err != nil {
			return err
		}
		k, isText := key.(string)
		v, isBytes := value.(string)
		if !isText || !isBytes {
			return diag.New(diag.Usage, "reading what to start: passed items are not in the form of this program")
		}
		all[k], s = v, rest
	}
	r.passed = all
	return nil
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

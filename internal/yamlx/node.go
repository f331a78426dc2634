package yamlx

import (
	"encoding/json"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ryeos/rye/internal/tree"
)

const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// value returns the value of a node and reports the errors in it.
func (r *reader) value(n *yaml.Node, path string, depth int) any {
	r.properties(n)
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		if depth > MaxDepth {
			return r.fail(r.position(n), "nested more than %d deep", MaxDepth)
		}
		if n.Kind == yaml.MappingNode {
			return r.mapping(n, path, depth)
		}
		return r.sequence(n, path, depth)
	case yaml.ScalarNode:
		return r.scalar(n)
	}
	return nil
}

// properties refuses anchors, aliases and tags.
func (r *reader) properties(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		r.fail(r.position(n), "aliases (*%s) are not allowed", n.Value)
		return
	}
	if n.Anchor != "" {
		r.fail(r.position(n), "anchors (&%s) are not allowed", n.Anchor)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		r.fail(r.position(n), "tags (%s) are not allowed", n.Tag)
	} else if r.bang && r.bareTag(n) {
		r.fail(r.position(n), "tags (!) are not allowed")
	}
}

// bareTag reports whether a node has the tag "!". The module keeps nothing of it
// but the position: the node begins at the "!". A block mapping begins at its
// first key.
func (r *reader) bareTag(n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode &&
		len(n.Content) > 0 &&
		n.Line == n.Content[0].Line &&
		n.Column == n.Content[0].Column {
		return false
	}
	off := r.offset(n.Line, n.Column)
	return off < len(r.b) && r.b[off] == '!' && n.Anchor == ""
}

func (r *reader) mapping(n *yaml.Node, path string, depth int) any {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		v := n.Content[i+1]
		if !r.key(k) {
			r.value(v, path, depth+1)
			continue
		}
		if len(path)+len(k.Value) > MaxPath {
			r.fail(r.position(k), "the keys down to here have more than %d bytes", MaxPath)
			continue
		}
		sub := r.join(path, k.Value)
		if _, twice := out[k.Value]; twice {
			r.fail(r.position(k), "duplicate key %q, first given in line %d", k.Value, r.pos[sub].Line)
			r.value(v, sub, depth+1)
			continue
		}
		r.pos[sub] = r.position(k)
		out[k.Value] = r.value(v, sub, depth+1)
	}
	return out
}

// join is tree.Join. The paths of a document are in few allocations.
func (r *reader) join(path, key string) string {
	if path == "" ||
		strings.IndexByte(key, '.') >= 0 ||
		strings.IndexByte(key, '\\') >= 0 {
		return tree.Join(path, key)
	}
	need := len(path) + 1 + len(key)
	if r.paths.Cap()-r.paths.Len() < need {
		r.paths.Reset()
		r.paths.Grow(max(need, min(len(r.b)/2, 1<<10)))
	}
	from := r.paths.Len()
	r.paths.WriteString(path)
	r.paths.WriteByte('.')
	r.paths.WriteString(key)
	return r.paths.String()[from:]
}

// key reports whether k is a string, and adds findings about it.
func (r *reader) key(k *yaml.Node) bool {
	r.properties(k)
	at := r.position(k)
	switch {
	case k.Kind == yaml.AliasNode:
		return false
	case k.Kind != yaml.ScalarNode:
		r.fail(at, "a key must be a string, this is a mapping or list")
		return false
	case k.Value == "<<":
		r.fail(at, "merge keys (<<) are not allowed")
		return false
	case k.Style&quoted != 0:
		return true
	}
	v, problem := plain(k.Value)
	if _, ok := v.(string); !ok || problem.refuse {
		r.fail(at, "a key must be a string, %q is %s: quote it", k.Value, typeName(v))
		return false
	}
	if problem.text != "" {
		r.warn(at, "%s", problem.text)
	}
	return true
}

func (r *reader) sequence(n *yaml.Node, path string, depth int) any {
	out := make([]any, len(n.Content))
	for i, c := range n.Content {
		sub := r.join(path, strconv.Itoa(i))
		r.pos[sub] = r.position(c)
		out[i] = r.value(c, sub, depth+1)
	}
	return out
}

func (r *reader) scalar(n *yaml.Node) any {
	if n.Style&quoted != 0 {
		return n.Value
	}
	v, problem := plain(n.Value)
	switch {
	case problem.refuse && r.large && isLarge(n.Value):
		return json.Number(n.Value)
	case problem.text == "":
	case problem.refuse:
		r.fail(r.position(n), "%s", problem.text)
	default:
		r.warn(r.position(n), "%s", problem.text)
	}
	return v
}

// maxLarge is the length of the longest integer that ParseItem accepts.
const maxLarge = 64

// isLarge reports whether a scalar that plain refused is an integer that JSON
// writes in the same way.
func isLarge(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return len(s) <= maxLarge && allOf(digits, '0', '9') && digits[0] != '0'
}

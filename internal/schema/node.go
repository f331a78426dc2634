package schema

import (
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// draft is a version of JSON Schema, ordered by age.
type draft int

const (
	draft4 draft = iota
	draft6
	draft7
	draft2019
	draft2020
)

// drafts are the values of $schema, without a trailing "#".
func drafts() map[string]draft {
	return map[string]draft{
		"http://json-schema.org/draft-04/schema":       draft4,
		"http://json-schema.org/draft-06/schema":       draft6,
		"http://json-schema.org/draft-07/schema":       draft7,
		"https://json-schema.org/draft/2019-09/schema": draft2019,
		"https://json-schema.org/draft/2020-12/schema": draft2020,
	}
}

// resource is a schema with an address of its own: the document, or a subschema with
// $id.
type resource struct {
	base    *url.URL
	doc     *document
	at      string // JSON pointer of the resource in the document
	draft   draft
	anchors map[string]*node
	dynamic map[string]*node // those that a $dynamicRef finds from outside
}

// document is a value with schemas: the compiled one or a meta-schema.
type document struct {
	root  any
	nodes map[string]*node // by JSON pointer
}

// recursive is the name for $recursiveAnchor, which has none. No anchor contains
// a space.
const recursive = "$recursiveAnchor of 2019-09"

// node is a compiled schema: the parsed values of its keywords. A keyword that is
// absent has the zero value.
type node struct {
	always *bool // a boolean schema
	res    *resource

	ref, dynRef *node
	dynName     string // the name that dynRef looks for in the dynamic scope

	types    []string // in the order of typeNames
	enum     []any
	hasEnum  bool
	constant any
	hasConst bool

	minimum, maximum, above, below, multipleOf *big.Rat
	minLength, maxLength                       *int
	minItems, maxItems                         *int
	minProps, maxProps                         *int
	minContains, maxContains                   *int

	pattern *regexp.Regexp
	format  string
	unique  bool

	required          []string
	dependentRequired map[string][]string
	dependentSchemas  map[string]*node

	props        map[string]*node
	patterns     []patternNode
	extraProps   *node // additionalProperties
	names        *node
	prefix       []*node
	items        *node // the items behind prefix
	contains     *node
	unevalProps  *node
	unevalItems  *node
	allOf        []*node
	anyOf        []*node
	oneOf        []*node
	not          *node
	cond         *node
	then, orElse *node
}

type patternNode struct {
	re  *regexp.Regexp
	sub *node
}

// typeNames is the order in which messages name types.
var typeNames = [...]string{"null", "boolean", "number", "integer", "string", "array", "object"}

// refError is a reference or address that cannot be resolved.
type refError struct {
	at  location
	msg string
}

func (e *refError) Error() string {
	return e.msg
}

// compiler creates the nodes of a schema.
type compiler struct {
	resources map[string]*resource // by absolute address
	keywords  map[string]shape
	pending   []pendingRef
	tracks    bool // a node needs to know what other nodes have evaluated
	err       error
}

// pendingRef is a $ref whose target is searched for when all nodes exist.
type pendingRef struct {
	from    *node
	text    string
	dynamic bool
	at      location
}

func newCompiler() *compiler {
	return &compiler{resources: map[string]*resource{}, keywords: keywords()}
}

// compile returns the node of a document at an address.
func (c *compiler) compile(root any, addr string, d draft) (*node, error) {
	base, err := url.Parse(addr)
	if err != nil {
		return nil, err
	}
	doc := &document{root: root, nodes: map[string]*node{}}
	res := &resource{
		base:    base,
		doc:     doc,
		draft:   d,
		anchors: map[string]*node{},
		dynamic: map[string]*node{},
	}
	c.resources[addr] = res
	n := c.node(root, nil, res)
	for len(c.pending) > 0 && c.err == nil {
		r := c.pending[0]
		c.pending = c.pending[1:]
		c.resolve(r)
	}
	return n, c.err
}

func (c *compiler) fail(at location, format string, args ...any) {
	if c.err == nil {
		c.err = &refError{at: at, msg: fmt.Sprintf(format, args...)}
	}
}

// pointer returns a path as a JSON pointer.
func (p location) pointer() string {
	var b strings.Builder
	for _, part := range p {
		b.WriteByte('/')
		switch part := part.(type) {
		case int:
			b.WriteString(strconv.Itoa(part))
		case string:
			b.WriteString(escapePointer(part))
		}
	}
	return b.String()
}

func escapePointer(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// node compiles the schema at a path of the document of res.
func (c *compiler) node(v any, at location, res *resource) *node {
	ptr := at.pointer()
	if n := res.doc.nodes[ptr]; n != nil {
		return n
	}
	n := &node{res: res}
	res.doc.nodes[ptr] = n
	m, ok := v.(map[string]any)
	if !ok {
		b, _ := v.(bool)
		n.always = &b
		return n
	}
	c.address(n, m, at, ptr)
	if ref, is := m["$ref"].(string); is {
		c.pending = append(c.pending, pendingRef{n, ref, false, at.key("$ref")})
		if n.res.draft <= draft7 { // the other keywords are ignored; schemas below them can be targets
			c.index(m, at, n.res)
			return n
		}
	}
	ref, is := m["$dynamicRef"].(string)
	if is && n.res.draft == draft2020 {
		c.pending = append(c.pending, pendingRef{n, ref, true, at.key("$dynamicRef")})
	}
	ref, is = m["$recursiveRef"].(string)
	if is && n.res.draft == draft2019 {
		c.pending = append(c.pending, pendingRef{n, ref, true, at.key("$recursiveRef")})
	}
	n.values(m)
	c.strings(n, m)
	c.objects(n, m, at)
	c.arrays(n, m, at)
	c.applicators(n, m, at)
	c.index(m, at, n.res)
	return n
}

// index compiles the schemas that no keyword applies, such as the schemas of $defs.
func (c *compiler) index(m map[string]any, at location, res *resource) {
	isSchema := func(v any) bool {
		switch v.(type) {
		case bool, map[string]any:
			return true
		}
		return false
	}
	for k, v := range m {
		switch c.keywords[k] {
		case one:
			if list, ok := v.([]any); ok {
				for i := range list {
					if isSchema(list[i]) {
						c.node(list[i], at.key(k).index(i), res)
					}
				}
			} else if isSchema(v) {
				c.node(v, at.key(k), res)
			}
		case many:
			sub, _ := v.(map[string]any)
			for name := range sub {
				if isSchema(sub[name]) {
					c.node(sub[name], at.key(k).key(name), res)
				}
			}
		}
	}
}

// address registers $id and the anchors of a schema.
func (c *compiler) address(n *node, m map[string]any, at location, ptr string) {
	res := n.res
	key := "$id"
	if res.draft == draft4 {
		key = "id"
	}
	id, _ := m[key].(string)
	if _, isRef := m["$ref"]; isRef && res.draft <= draft7 {
		id = ""
	}
	name, ok := strings.CutPrefix(id, "#")
	if ok && res.draft <= draft7 {
		res.anchors[name] = n
		id = ""
	}
	if id != "" {
		res = c.resource(n, m, id, at, ptr)
	}
	name, ok = m["$anchor"].(string)
	if ok && res.draft >= draft2019 {
		res.anchors[name] = n
	}
	name, ok = m["$dynamicAnchor"].(string)
	if ok && res.draft == draft2020 {
		res.anchors[name], res.dynamic[name] = n, n
	}
	yes, _ := m["$recursiveAnchor"].(bool)
	if yes && res.draft == draft2019 {
		res.dynamic[recursive] = n
	}
}

// resource makes a schema with $id a resource.
func (c *compiler) resource(
	n *node,
	m map[string]any,
	id string,
	at location,
	ptr string,
) *resource {
	u, err := n.res.base.Parse(id)
	if err != nil {
		c.fail(at, "has the address %q, which is not valid: %v", show(id), err)
		return n.res
	}
	u.Fragment = ""
	u.RawFragment = ""
	res := &resource{
		base:    u,
		doc:     n.res.doc,
		at:      ptr,
		draft:   n.res.draft,
		anchors: map[string]*node{},
		dynamic: map[string]*node{},
	}
	if s, ok := m["$schema"].(string); ok {
		d, known := drafts()[strings.TrimSuffix(s, "#")]
		if known {
			res.draft = d
		} else {
			c.fail(at.key("$schema"), "refers to %q: %v", show(s), errDenied)
		}
	}
	if ptr == "" { // the document has two addresses now
		res.anchors = n.res.anchors
		res.dynamic = n.res.dynamic
	}
	c.resources[u.String()] = res
	n.res = res
	return res
}

// resolve finds the target of a reference.
func (c *compiler) resolve(r pendingRef) {
	u, err := r.from.res.base.Parse(r.text)
	if err != nil {
		c.fail(r.at, "refers to %q, which is not an address: %v", show(r.text), err)
		return
	}
	fragment := u.Fragment
	u.Fragment = ""
	u.RawFragment = ""
	res := c.resources[u.String()]
	if res == nil {
		res = c.meta(u.String())
	}
	if res == nil {
		c.fail(r.at, "refers to %q: %v", show(u.String()), errDenied)
		return
	}
	target := c.target(res, fragment, r.at)
	if target == nil {
		c.fail(r.at, "refers to %q, which does not exist", "#"+fragment)
		return
	}
	if !r.dynamic {
		r.from.ref = target
		return
	}
	r.from.dynRef = target
	switch {
	case r.from.res.draft == draft2019 && res.dynamic[recursive] == target:
		r.from.dynName = recursive
	case fragment != "" && res.dynamic[fragment] == target:
		r.from.dynName = fragment
	}
}

// meta returns a meta-schema, nil if the address names none.
func (c *compiler) meta(addr string) *resource {
	d, ok := drafts()[addr]
	if !ok {
		return nil
	}
	waiting := c.pending
	c.pending = nil
	_, err := c.compile(metaSchema(d), addr, draft2020)
	if err != nil {
		c.err = err
	}
	c.pending = waiting
	return c.resources[addr]
}

// target returns the node that a fragment of a resource names, nil if it has none.
func (c *compiler) target(res *resource, fragment string, from location) *node {
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		return res.anchors[fragment]
	}
	ptr := res.at
	at, v := locate(res.doc.root, ptr)
	owner := res
	for tok := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
		if fragment == "" {
			break
		}
		var ok bool
		if at, v, ok = step(at, v, tok); !ok {
			return nil
		}
		if n := res.doc.nodes[at.pointer()]; n != nil {
			owner = n.res
		}
	}
	if n := res.doc.nodes[at.pointer()]; n != nil {
		return n
	}
	switch v.(type) {
	case bool, map[string]any:
	default:
		return nil
	}
	if bad := checkSchema(v, owner.draft); len(bad) > 0 {
		c.fail(from, "refers to %q, which is not a schema: %s", "#"+fragment, bad[0].Message)
		return nil
	}
	return c.node(v, at, owner)
}

// locate returns the path and value of a JSON pointer of the document.
func locate(v any, ptr string) (location, any) {
	var at location
	if ptr == "" {
		return at, v
	}
	for tok := range strings.SplitSeq(ptr[1:], "/") {
		at, v, _ = step(at, v, tok)
	}
	return at, v
}

// step returns the value that a token of a JSON pointer names.
func step(at location, v any, tok string) (location, any, bool) {
	tok = strings.ReplaceAll(strings.ReplaceAll(tok, "~1", "/"), "~0", "~")
	switch v := v.(type) {
	case map[string]any:
		sub, ok := v[tok]
		return at.key(tok), sub, ok
	case []any:
		i, err := strconv.Atoi(tok)
		if err != nil || i < 0 || i >= len(v) {
			return at, nil, false
		}
		return at.index(i), v[i], true
	}
	return at, nil, false
}

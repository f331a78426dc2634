package provider

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// maxArgumentDepth bounds the depth of arguments that arrive in pieces.
const maxArgumentDepth = 100

// geminiPieces is a call whose arguments arrive in pieces, each at a JSONPath. It ends with
// a functionCall that does not continue.
// An incomplete value is PARSING_ERROR, and so is MALFORMED_FUNCTION_CALL: nothing of the
// answer runs, and the call is repeated once.
type geminiPieces struct {
	part  fields // members of the parts so far, with the members of functionCall in call
	call  fields
	block int // of the answer, which the call becomes
	args  argument
}

// argument is a value that grows by pieces.
type argument struct {
	kind    byte          // 0 before the first piece, '{', '[', '"', or 'v' for another value
	members []namedMember // of an object, in the order in which they arrived
	items   []*argument   // of an array
	text    growing       // of a string
	open    bool          // the string continues
	value   []byte        // of another value
}

type namedMember struct {
	name  string
	value *argument
}

// callPiece reads a part of a call in pieces. It returns the part of the whole call once it
// is complete, nil before.
func (s *geminiStream) callPiece(part, call fields) ([]byte, error) {
	name := call.text("name")
	switch {
	case s.pieces == nil && name == "":
		return nil, unreadable("arguments in pieces without the name of a tool")
	case s.pieces != nil && name != "":
		return nil, unreadable("the arguments of %s are not complete", short(s.pieces.call.text("name")))
	case call.get("args") != nil:
		return nil, unreadable("the arguments of %s arrived as an object and in pieces", short(name))
	case s.pieces == nil:
		s.pieces = &geminiPieces{block: len(s.blocks), args: argument{kind: '{'}}
		s.blocks = append(s.blocks, message.Block{})
	}
	p := s.pieces
	for _, m := range part {
		if m.key != "functionCall" {
			p.part.set(m.key, m.value)
		}
	}
	for _, m := range call {
		if m.key != "partialArgs" && m.key != "willContinue" {
			p.call.set(m.key, m.value)
		}
	}
	for _, raw := range elements(call.get("partialArgs")) {
		if err := p.add(raw); err != nil {
			return nil, err
		}
	}
	if string(call.get("willContinue")) == "true" {
		return nil, nil
	}
	args, whole := p.args.raw()
	if !whole {
		return nil, unreadable("the arguments of %s are not complete", short(p.call.text("name")))
	}
	p.call.set("args", args)
	return object(append(
		fields{{"functionCall", object(p.call...)}},
		p.part...,
	)...), nil
}

func (p *geminiPieces) interrupted() error {
	return unreadable("another part arrived between the arguments of %s", short(p.call.text("name")))
}

// add reads one element of partialArgs.
func (p *geminiPieces) add(raw []byte) error {
	wrong := func(what string) error {
		return unreadable("the arguments of %s: the piece %s %s", short(p.call.text("name")), short(string(raw)), what)
	}
	f, err := readFields(raw)
	if err != nil {
		return wrong("is no object")
	}
	path, valid := pathSteps(f.text("jsonPath"))
	if !valid {
		return wrong("has no path that rye can read")
	}
	at := &p.args
	for _, step := range path {
		if at = at.child(step); at == nil {
			return wrong("does not fit the pieces before it")
		}
	}
	continues := string(f.get("willContinue")) == "true"
	text, number, truth, null := f.get("stringValue"), f.get("numberValue"), f.get("boolValue"), f.text("nullValue")
	if text != nil {
		if at.kind != 0 && !(at.kind == '"' && at.open) || text[0] != '"' {
			return wrong("does not fit the pieces before it")
		}
		at.kind = '"'
		at.text.WriteString(unquote(text))
		at.open = continues
		return nil
	}
	if at.kind != 0 || continues {
		return wrong("does not fit the pieces before it")
	}
	at.kind = 'v'
	switch {
	case number != nil && (number[0] == '-' || number[0] >= '0' && number[0] <= '9'):
		at.value = slices.Clone(number)
	case string(truth) == "true", string(truth) == "false":
		at.value = slices.Clone(truth)
	case null == "NULL_VALUE":
		at.value = []byte("null")
	default:
		return wrong("has no value that rye can read")
	}
	return nil
}

// child returns the member of a name or the item of an index. It begins one that does not
// exist; an item may begin only at the end of its array. It is nil if the value is of
// another kind.
func (a *argument) child(step any) *argument {
	switch step := step.(type) {
	case string:
		if a.kind == 0 {
			a.kind = '{'
		}
		if a.kind != '{' {
			return nil
		}
		for _, m := range a.members {
			if m.name == step {
				return m.value
			}
		}
		a.members = append(a.members, namedMember{step, &argument{}})
		return a.members[len(a.members)-1].value
	case int:
		if a.kind == 0 {
			a.kind = '['
		}
		if a.kind != '[' || step > len(a.items) {
			return nil
		}
		if step == len(a.items) {
			a.items = append(a.items, &argument{})
		}
		return a.items[step]
	}
	return nil
}

// raw returns the value, and whether all of it has arrived.
func (a *argument) raw() ([]byte, bool) {
	switch a.kind {
	case '{':
		var members fields
		for _, m := range a.members {
			value, whole := m.value.raw()
			if !whole {
				return nil, false
			}
			members = append(members, field{m.name, value})
		}
		return object(members...), true
	case '[':
		var items [][]byte
		for _, item := range a.items {
			value, whole := item.raw()
			if !whole {
				return nil, false
			}
			items = append(items, value)
		}
		return list(items), true
	case '"':
		return a.text.raw(), !a.open
	}
	return a.value, a.kind == 'v'
}

// pathSteps returns the names and indexes of a path such as $.recipe.steps[0] or $['a b'].
func pathSteps(path string) ([]any, bool) {
	rest, rooted := strings.CutPrefix(path, "$")
	if !rooted || rest == "" {
		return nil, false
	}
	var out []any
	for rest != "" {
		if len(out) == maxArgumentDepth {
			return nil, false
		}
		if name, dotted := strings.CutPrefix(rest, "."); dotted {
			end := strings.IndexAny(name, ".[")
			if end < 0 {
				end = len(name)
			}
			if end == 0 || strings.ContainsAny(name[:end], `*]'"`) {
				return nil, false
			}
			out = append(out, name[:end])
			rest = name[end:]
			continue
		}
		inner, bracketed := strings.CutPrefix(rest, "[")
		if !bracketed || inner == "" {
			return nil, false
		}
		if quote := inner[:1]; quote == "'" || quote == `"` {
			name, after, closed := strings.Cut(inner[1:], quote+"]")
			if !closed || strings.ContainsAny(name, `\'"`) {
				return nil, false
			}
			out = append(out, name)
			rest = after
			continue
		}
		digits, after, closed := strings.Cut(inner, "]")
		index, err := strconv.Atoi(digits)
		if !closed || err != nil || strconv.Itoa(index) != digits || index < 0 {
			return nil, false
		}
		out = append(out, index)
		rest = after
	}
	return out, true
}

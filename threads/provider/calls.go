package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/message"
)

// calls puts the calls of one answer together from the pieces in which a service sends
// them. It is the one rule of all dialects: a call is returned only with the arguments that
// arrived whole; if one call of an answer did not, the whole answer is an error, so that
// nothing of it runs.
type calls struct {
	turn    int // for ids of calls that the service did not name
	tools   []message.ToolDef
	objects bool // arguments are objects in the dialect, and not texts
	// emptyIsNone is the quirk of a service that writes an empty text for no arguments.
	emptyIsNone bool
	odd         *oddities
	list        []*call
}

// call is one call as it arrives.
type call struct {
	index     *int64   // as the service numbers it, or nil
	id        string   // in the conversation
	ids       []string // that the service wrote
	name      string
	text      growing // arguments that arrived as text
	object    []byte  // arguments that arrived as an object
	stated    bool    // arguments arrived, perhaps as an empty text
	announced bool    // people who watch know of it
	more      fields  // members that rye does not know
}

// piece is a part of a call.
type piece struct {
	index    *int64
	id, name string
	args     []byte // a JSON value as written, nil if it is absent or null
	fresh    bool   // with a name it begins another call: an element of a list without numbers
}

// unreadableCalls is the reason of a failure whose calls could not be put together.
const unreadableCalls = "call_unreadable"

func unreadable(format string, args ...any) error {
	return diag.New(diag.ParsingError, "reading the calls of the model: "+format, args...).WithReason(unreadableCalls)
}

// add reads a piece and returns its call with what people may watch. The call is nil if the
// piece is empty.
func (s *calls) add(p piece) (*call, []message.Delta, error) {
	if p.index == nil &&
		p.id == "" &&
		p.name == "" &&
		p.args == nil {
		return nil, nil, nil
	}
	c, err := s.callOf(p)
	if err != nil || c == nil {
		return nil, nil, err
	}
	if c.name == "" {
		c.name = p.name
	}
	if p.id != "" && !slices.Contains(c.ids, p.id) {
		if len(c.ids) > 0 {
			s.odd.add(RotatingIDs)
		}
		c.ids = append(c.ids, p.id)
	}
	var out []message.Delta
	if !c.announced && c.name != "" {
		c.announced = true
		out = append(out, message.Delta{Kind: message.DeltaCallStart, CallID: c.id, Name: c.name})
	}
	text, err := s.arguments(c, p.args)
	return c, append(out, watch(message.DeltaToolInput, text, c.id)...), err
}

// arguments extends the arguments of a call and returns the part that people may watch.
func (s *calls) arguments(c *call, raw []byte) (string, error) {
	switch {
	case len(raw) == 0:
		return "", nil
	case raw[0] == '"':
		c.stated = true
		text := unquote(raw)
		if text == "" {
			return "", nil
		}
		// The text replaces an empty object in the first piece.
		if c.object != nil && !emptyObject(c.object) {
			return "", unreadable("the arguments of %s arrived as an object and as a text", c.name)
		}
		c.object = nil
		c.text.WriteString(text)
		return text, nil
	case raw[0] == '{':
		if c.text.Len() > 0 ||
			c.object != nil && !emptyObject(c.object) && !bytes.Equal(c.object, raw) {
			return "", unreadable("the arguments of %s arrived twice", c.name)
		}
		repeated := c.object != nil && bytes.Equal(c.object, raw)
		c.stated, c.object = true, slices.Clone(raw)
		if repeated {
			return "", nil
		}
		if !s.objects {
			s.odd.add(ArgumentsAsObject)
		}
		return string(raw), nil
	}
	return "", unreadable("the arguments of %s are %s, not an object", c.name, short(string(raw)))
}

func emptyObject(raw []byte) bool {
	f, err := readFields(raw)
	return err == nil && len(f) == 0
}

// callOf returns the call that a piece belongs to. It opens a call if the piece begins one.
func (s *calls) callOf(p piece) (*call, error) {
	c := s.withID(p.id)
	if c != nil && !(p.fresh && p.name != "") {
		return s.known(c, p)
	}
	at := s.at(p.index)
	switch {
	case p.fresh && p.name != "":
		return s.open(p), nil
	case at == nil && p.name == "" && p.id == "":
		return nil, unreadable("arguments without the name of a tool, and no call has their index")
	case at == nil:
		return s.open(p), nil
	case p.name == "" || at.name == "":
		return at, nil // it continues the call of its index, whatever its id is
	case at.name == p.name && !at.whole():
		s.odd.add(RepeatedNames)
		return at, nil
	case at.name == p.name && p.id == "" && (p.args == nil || string(p.args) == `""`):
		s.odd.add(RepeatedNames)
		return at, nil
	}
	return s.open(p), nil // some services give all calls the same index
}

// known returns the call of a piece whose id a call has.
func (s *calls) known(c *call, p piece) (*call, error) {
	other := s.at(p.index)
	moved := p.index != nil && c.index != nil && *p.index != *c.index
	switch {
	case moved && other != nil && other != c:
		return nil, unreadable("a piece has the id of the call %d and the index of a different call", *c.index)
	case p.name == "" || c.name == "":
		return c, nil
	case c.whole() && moved, c.whole() && p.name != c.name:
		s.odd.add(RepeatedIDs) // one id for several calls, each with its name and arguments
		return s.open(p), nil
	case p.name != c.name:
		return nil, unreadable("a call has the names %s and %s", short(c.name), short(p.name))
	}
	s.odd.add(RepeatedNames)
	if c.whole() && sameArguments(c, p.args) {
		return nil, nil // the call again, as a whole
	}
	return c, nil
}

func sameArguments(c *call, raw []byte) bool {
	if c.object != nil {
		return bytes.Equal(c.object, raw)
	}
	return c.text.Len() > 0 &&
		len(raw) > 0 &&
		raw[0] == '"' &&
		unquote(raw) == c.text.String()
}

// withID returns the call that a service named so, or nil.
func (s *calls) withID(id string) *call {
	for i := len(s.list) - 1; i >= 0 && id != ""; i-- {
		if slices.Contains(s.list[i].ids, id) {
			return s.list[i]
		}
	}
	return nil
}

// at returns the newest call of an index; without an index it is the newest call.
func (s *calls) at(index *int64) *call {
	for i := len(s.list) - 1; i >= 0; i-- {
		c := s.list[i]
		if index == nil || c.index != nil && *c.index == *index {
			return c
		}
	}
	return nil
}

func (s *calls) open(p piece) *call {
	c := &call{index: p.index, id: p.id, name: p.name}
	s.list = append(s.list, c)
	if c.id == "" ||
		slices.ContainsFunc(s.list[:len(s.list)-1], func(o *call) bool { return o.id == p.id }) {
		c.id = callID(s.turn, len(s.list))
	}
	return c
}

// whole reports whether the arguments so far are one JSON object.
func (c *call) whole() bool {
	if c.object != nil {
		return true
	}
	text := strings.TrimSpace(c.text.String())
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// allWhole reports whether there are calls and each of them has a name and whole arguments.
func (s *calls) allWhole() bool {
	return len(s.list) > 0 &&
		!slices.ContainsFunc(s.list, func(c *call) bool {
			return c.name == "" || !c.whole()
		})
}

// end returns the blocks of the calls. cut is whether the answer ended at its maximum: only
// then may arguments be a part.
func (s *calls) end(cut bool, mark func(*call, message.Block) message.Block) ([]message.Block, error) {
	var out []message.Block
	for i, c := range s.list {
		if c.name == "" {
			return nil, unreadable("a call has no name")
		}
		text := strings.TrimSpace(c.text.String())
		if c.object != nil {
			text = string(c.object)
		}
		if text == "" && c.stated {
			s.odd.add(EmptyArguments)
		}
		if (text == "" || text == "null") && s.takesNothing(c) {
			text = "{}"
		}
		// Services write an empty object for arguments of which nothing arrived before the end.
		if cut &&
			i == len(s.list)-1 &&
			emptyObject([]byte(text)) &&
			!noParameters(s.tools, c.name) {
			text = ""
		}
		b, err := withArguments(
			message.Block{Type: message.ToolCall, ID: c.id, Name: c.name},
			text,
			cut,
		)
		if err != nil {
			return nil, err
		}
		out = append(out, mark(c, b))
	}
	return out, nil
}

// takesNothing reports whether a call without arguments can only mean {}: its tool has no
// parameters, or is not offered and so does not run.
func (s *calls) takesNothing(c *call) bool {
	return s.emptyIsNone && c.stated || noParameters(s.tools, c.name)
}

func noParameters(tools []message.ToolDef, name string) bool {
	i := slices.IndexFunc(tools, func(t message.ToolDef) bool {
		return t.Name == name
	})
	if i < 0 {
		return true
	}
	schema, err := readFields(schemaOf(tools[i]))
	if err != nil {
		return false
	}
	properties, err := readFields(schema.get("properties"))
	open := schema.get("additionalProperties") != nil && string(schema.get("additionalProperties")) != "false"
	return (err == nil || schema.get("properties") == nil) && len(properties) == 0 && !open && schema.get("patternProperties") == nil &&
		schema.get("anyOf") == nil && schema.get("oneOf") == nil && schema.get("allOf") == nil && schema.get("$ref") == nil
}

// withArguments returns a call with the arguments that a text has. A text that is a part of
// a value is an error, because pieces are missing, unless the answer was cut; one that no
// value begins with is a mistake of the model, which reads that nothing of its answer ran.
func withArguments(b message.Block, text string, cut bool) (message.Block, error) {
	text = strings.TrimSpace(text)
	d := json.NewDecoder(strings.NewReader(text))
	var v json.RawMessage
	err := d.Decode(&v)
	rest := ""
	if err == nil {
		rest = strings.TrimSpace(text[d.InputOffset():])
	}
	var syntax *json.SyntaxError
	missing := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case missing && cut:
		b.InvalidInput = text
	case missing && text == "":
		return b, unreadable("the call of %s arrived without arguments", short(b.Name))
	case missing:
		return b, unreadable("the arguments of %s are not complete", short(b.Name))
	case errors.As(err, &syntax):
		b.InvalidInput = text
	case err != nil:
		return b, unreadable("the arguments of %s: %v", short(b.Name), err)
	case rest != "":
		return b, unreadable("the arguments of %s are more than one value", short(b.Name))
	case string(v) == "null":
		return b, unreadable("the call of %s arrived without arguments", short(b.Name))
	case v[0] == '"' && objectIn(unquote(v)) != nil: // written as JSON in JSON
		b.Input = objectIn(unquote(v))
	default:
		b.Input = v
	}
	return b, nil
}

// objectIn returns the object that a text is, or nil.
func objectIn(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

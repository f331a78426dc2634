package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
)

// field is one member of a JSON object, with its value as written.
type field struct {
	key   string
	value []byte
}

// object writes an object. Fields with a nil value are left out. Values are copied
// byte for byte, which an encoder would not do.
func object(fields ...field) []byte {
	out := []byte{'{'}
	for _, f := range fields {
		if f.value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, encoded(f.key)...), ':'), f.value...)
	}
	return append(out, '}')
}

// list writes an array.
func list(items [][]byte) []byte {
	out := append([]byte{'['}, bytes.Join(items, []byte{','})...)
	return append(out, ']')
}

// encoded writes a value that cannot fail: texts, numbers, lists of texts, and values
// of an item.
func encoded(v any) []byte {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}

// fields is a JSON object whose members keep their order and spelling.
type fields []field

// readFields parses an object. The last one of equal keys applies: two readers of one
// document must not find different texts in it.
func readFields(raw []byte) (fields, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return nil, errors.New("a JSON object is required")
	}
	var out fields
	seen := map[string]int{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		if i, twice := seen[key]; twice {
			out[i].value = v
			continue
		}
		seen[key] = len(out)
		out = append(out, field{key, v})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	_, err = d.Token()
	if !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON object")
	}
	return out, nil
}

// get returns a value as written, nil if it is absent or null. The last
// one of equal keys applies.
func (f fields) get(key string) []byte {
	var v []byte
	for _, m := range f {
		if m.key == key {
			v = m.value
		}
	}
	if string(v) == "null" {
		return nil
	}
	return v
}

// set replaces a value or appends it.
func (f *fields) set(key string, value []byte) {
	for i := range *f {
		if (*f)[i].key == key {
			(*f)[i].value = value
			return
		}
	}
	*f = append(*f, field{key, value})
}

// merge sets the members of an object.
func (f *fields) merge(raw []byte) {
	members, err := readFields(raw)
	if err != nil {
		return
	}
	for _, m := range members {
		f.set(m.key, m.value)
	}
}

// text returns a string, "" if the value is absent or another type.
func (f fields) text(key string) string {
	return unquote(f.get(key))
}

// only reports whether the object has no other keys than these, except for null.
func (f fields) only(keys ...string) bool {
	for _, m := range f {
		known := string(m.value) == "null"
		for _, k := range keys {
			known = known || k == m.key
		}
		if !known {
			return false
		}
	}
	return true
}

func unquote(raw []byte) string {
	var s string
	if len(raw) == 0 ||
		raw[0] != '"' ||
		json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// elements returns the elements of an array, nil for any other value.
func elements(raw []byte) []json.RawMessage {
	var out []json.RawMessage
	if len(raw) == 0 ||
		raw[0] != '[' ||
		json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// growing is a text that arrives in pieces.
type growing struct{ strings.Builder }

func (g *growing) raw() []byte {
	return encoded(g.String())
}

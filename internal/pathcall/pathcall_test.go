package pathcall

import (
	"reflect"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	root := map[string]any{
		"t": " 42\n", "neg": "-3", "f": "2.5", "big": "9223372036854775808", "hex": "0x1p-2", "n": int64(7), "r": 3.0, "h": 3.5,
		"none": nil, "yes": true, "j": `{"a": [1, {"b": "x"}]}`, "bad": "{", "inf": "Inf", "list": []any{int64(1)}, "int": "4",
	}
	for _, c := range []struct {
		text string
		want any
		err  string
	}{
		{"t", " 42\n", ""}, {"int(t)", int64(42), ""}, {"int( t )", int64(42), ""}, {"int(neg)", int64(-3), ""}, {"int(n)", int64(7), ""},
		{"int(r)", int64(3), ""}, {"int(h)", nil, "not a whole number"}, {"int(f)", nil, `"2.5" is not a whole number`}, {"int(big)", nil, "not a whole"},
		{"int(yes)", nil, "boolean"}, {"int(none)", nil, ""}, {"float(f)", 2.5, ""}, {"float(t)", 42.0, ""}, {"float(hex)", nil, "not a number"},
		{"float(inf)", nil, "not a number"}, {"float(n)", int64(7), ""}, {"json(j).a.1.b", "x", ""}, {"json(j).a.0", int64(1), ""},
		{"json(bad)", nil, "is not JSON"}, {"json(list)", []any{int64(1)}, ""}, {"json(t)", int64(42), ""}, {"int", "4", ""}, {"int(int)", int64(4), ""},
	} {
		call, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		v, ok, err := call.Lookup(root)
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want %q", c.text, err, c.err)
		case c.err == "" && (err != nil || !ok || !reflect.DeepEqual(v, c.want)):
			t.Errorf("%s: %v, %v, %v, want %v", c.text, v, ok, err, c.want)
		}
	}
	for _, text := range []string{"json(j).a.9", "json(j).c", "int(gone)"} {
		call, err := Parse(text)
		if _, ok, lerr := call.Lookup(root); ok || err != nil || lerr != nil {
			t.Errorf("%s: found, or %v, %v", text, err, lerr)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"int(": "followed by a path", "int(a": "not closed", "int(a b)": "not closed", "int(a).b": "not expected", "json(a).": "name or an index",
		"json(a)b": "not expected", "round(a)": "not a path", "int(int(a))": "not closed", "int()": "followed by a path", "": "empty",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"a.b", "int(a.b)", "json(a.0).1.b"} {
		if c, err := Parse(text); err != nil || c.String() != text {
			t.Errorf("%q: %q, %v", text, c, err)
		}
	}
}

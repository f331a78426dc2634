package jsonx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func brief(fs []diag.Finding) string {
	var out []string
	for _, f := range fs {
		out = append(out, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Message))
	}
	return strings.Join(out, "; ")
}

func TestParse(t *testing.T) {
	d, fs := Parse([]byte("{\n  \"a\": {\"b.c\": [1, -2.5, true, null, \"\\u00e9\\ud83d\\ude00\\n\"]},\r\n\t\"é\": 9223372036854775807}\n"))
	if len(fs) > 0 {
		t.Fatal(brief(fs))
	}
	want := map[string]any{"a": map[string]any{"b.c": []any{int64(1), -2.5, true, nil, "é😀\n"}}, "é": int64(math.MaxInt64)}
	if !reflect.DeepEqual(d.Root, want) {
		t.Errorf("got %#v", d.Root)
	}
	for path, pos := range map[string]diag.Position{
		"": {Line: 1, Column: 1}, "a": {Line: 2, Column: 3}, `a.b\.c`: {Line: 2, Column: 9}, `a.b\.c.1`: {Line: 2, Column: 20}, "é": {Line: 3, Column: 2},
	} {
		if d.Pos[path] != pos {
			t.Errorf("position of %q is %v, want %v", path, d.Pos[path], pos)
		}
	}
}

// TestParseHostile includes V27.
func TestParseHostile(t *testing.T) {
	deep := func(n int) string {
		return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	for _, c := range []struct{ name, in, want string }{
		{"V27 duplicate", "{\"a\":1,\n\"b\":{\"x\":1,\"x\":2},\n\"a\":3}", `2:12 duplicate key "x", first given in line 2; 3:1 duplicate key "a", first given in line 1`},
		{"V27 duplicate by escape", `{"a":1,"\u0061":2}`, `1:8 duplicate key "a", first given in line 1`},
		{"V27 trailing", "{}\n{}", `2:1 unexpected "{" after the value`},
		{"trailing comma", `{"a":1,}`, `1:8 a key in double quotes is required, found "}"`},
		{"array comma", `{"a":[1,]}`, `1:9 a value is required, found "]"`},
		{"leading comma", `{,}`, `1:2 a key in double quotes is required, found ","`},
		{"comment", "{} // x", `1:4 unexpected "/" after the value`},
		{"single quotes", "{'a':1}", `1:2 a key in double quotes is required, found "'"`},
		{"empty", " \n", "2:1 the document is empty"},
		{"truncated object", `{"a":1`, `1:7 "," or "}" is required, found the end of the text`},
		{"truncated after colon", `{"a":`, `1:6 the text ends before a value`},
		{"truncated string", `{"a":"x`, `1:6 the string has no end`},
		{"truncated escape", `{"a":"x\`, `1:8 the string has no end`},
		{"truncated literal", `{"a":tru`, `1:6 a value is required, found "t"`},
		{"not an object", "\n [1]", "2:2 the top level is an array, an object is required"},
		{"number", "3", "1:1 the top level is a number, an object is required"},
		{"huge int", `{"a":9223372036854775808}`, "1:6 the integer 9223372036854775808 does not fit 64 bits"},
		{"huge float", `{"a":1e999}`, "1:6 the number 1e999 is too large"},
		{"both numbers", "{\"a\":1e999,\n\"b\":-9223372036854775809}", "1:6 the number 1e999 is too large; 2:5 the integer -9223372036854775809 does not fit 64 bits"},
		{"NaN", `{"a":NaN}`, `1:6 a value is required, found "N"`},
		{"octal", `{"a":012}`, `1:6 a number may not begin with 0`},
		{"plus", `{"a":+1}`, `1:6 a value is required, found "+"`},
		{"bare dot", `{"a":1.}`, `1:8 a digit is required after ".", found "}"`},
		{"bare exponent", `{"a":1e+}`, `1:9 a digit is required in the exponent, found "}"`},
		{"bare minus", `{"a":-}`, `1:7 a digit is required, found "}"`},
		{"BOM", "\xef\xbb\xbf{}", "1:1 the text begins with a UTF-8 byte order mark"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "1:1 the text begins with a UTF-16 byte order mark"},
		{"NUL", "{}\x00", "1:3 the text holds a NUL"},
		{"invalid UTF-8", "{\"a\":\n\"\xff\"}", "2:2 the text is not UTF-8: byte 0xFF"},
		{"raw newline", "{\"a\":\"x\ny\"}", `1:8 control character 0x0A in a string: write it as \u000a`},
		{"raw ESC", "{\"a\":\"\\n\x1b\"}", `1:9 control character 0x1B in a string: write it as \u001b`},
		{"lone high surrogate", `{"a":"\ud800x"}`, `1:7 \ud800 is half of a surrogate pair`},
		{"lone low surrogate", `{"a":"\udc00"}`, `1:7 \udc00 is half of a surrogate pair`},
		{"two highs", `{"a":"\ud800\ud800"}`, `1:7 \ud800 is half of a surrogate pair; 1:13 \ud800 is half of a surrogate pair`},
		{"bad escape", `{"a":"\x41"}`, `1:7 unknown escape \ before "x"`},
		{"bad unicode", `{"a":"\u00g0"}`, `1:7 \u needs four hexadecimal digits`},
		{"depth 64", deep(63), ""},
		{"depth 65", deep(64), "1:69 nested more than 64 deep"},
		{"depth 100000", deep(100000), "1:69 nested more than 64 deep"},
		{"long key with many members", `{"a":{"` + strings.Repeat("k", 1<<19) + `":{` + strings.Repeat(`"x":1,`, 1<<16) + `"y":1}}}`, "1:7 the keys down to here have more than 1024 bytes"},
		{"bidi at fault", "{\u202e}", `1:2 a key in double quotes is required, found "\u{202e}"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, fs := Parse([]byte(c.in))
			if got := brief(fs); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if (d == nil) != (c.want != "") {
				t.Errorf("doc is %v", d)
			}
		})
	}
}

func TestParseValue(t *testing.T) {
	for in, want := range map[string]any{
		"[]": []any{}, " 1 ": int64(1), "-0": int64(0), "1.0": 1.0, "1E2": 100.0, "null": nil, `"a\/b"`: "a/b", "{}": map[string]any{}, "true": true,
	} {
		got, fs := ParseValue([]byte(in))
		if len(fs) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %s", in, got, brief(fs))
		}
	}
	if v, fs := ParseValue([]byte(`{"a":1,"a":2}`)); v != nil || len(fs) != 1 {
		t.Errorf("duplicate: %v, %s", v, brief(fs))
	}
}

// TestParseMessage is about agents F2: no digit of another program's number is lost.
func TestParseMessage(t *testing.T) {
	for in, want := range map[string]any{
		"1": int64(1), "-9223372036854775808": int64(math.MinInt64), "9007199254740993": int64(9007199254740993),
		"9223372036854775808": json.Number("9223372036854775808"), "18446744073709551615": json.Number("18446744073709551615"),
		"1.0": 1.0, "0.10": 0.1, "1e3": 1000.0, "-0.0": math.Copysign(0, -1), "5e-324": 5e-324,
		"0.1000000000000000055511151231257827": json.Number("0.1000000000000000055511151231257827"),
		"1e999":                                json.Number("1e999"), "1e-999": json.Number("1e-999"), "9007199254740993.0": json.Number("9007199254740993.0"),
	} {
		v, fs := ParseMessage([]byte(`{"a":[` + in + `]}`))
		if len(fs) > 0 || !reflect.DeepEqual(v, map[string]any{"a": []any{want}}) {
			t.Errorf("%s: %#v %s", in, v, brief(fs))
		}
	}
	if _, fs := ParseMessage([]byte(strings.Repeat("[", 1001) + strings.Repeat("]", 1001))); len(fs) != 1 {
		t.Error("1001 deep is accepted")
	}
}

func TestMarshal(t *testing.T) {
	b, err := Marshal(struct {
		Z bool           `json:"success"`
		M map[string]any `json:"data"`
	}{true, map[string]any{"b": "<a&b>", "a": []any{int64(1), 1.5, nil}}})
	if err != nil || string(b) != `{"success":true,"data":{"a":[1,1.5,null],"b":"<a&b>"}}` {
		t.Errorf("got %s, %v", b, err)
	}
	if b, _ = MarshalIndent(map[string]any{"a": []any{int64(1)}}); string(b) != "{\n  \"a\": [\n    1\n  ]\n}" {
		t.Errorf("got %s", b)
	}
	if _, err = Marshal(math.NaN()); err == nil || diag.CodeOf(err) != diag.Internal {
		t.Errorf("NaN: %v", err)
	}
}

// FuzzParse compares jsonx with encoding/json: jsonx returns the same values,
// and what it refuses in addition breaks one of its stricter rules.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0,"x\u00e9"],"b":{"c":null}}`, `{"a":1,"a":2}`, "[[[]]] x", `"\ud83d\ude00\ud800"`, "\xef\xbb\xbf1", "1e400", "92233720368547758080", "\"\xff\"", " \r\n\t{}", `{"":{"":1}}`, "-", "01"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, fs := ParseValue(b)
		valid := json.Valid(b)
		if len(fs) == 0 {
			if !valid {
				t.Fatalf("accepted %q", b)
			}
			sameAsStandard(t, b, got)
			return
		}
		if valid && !stricter(fs) {
			t.Fatalf("refused %q: %s", b, brief(fs))
		}
		for _, f := range fs {
			if f.Line < 1 || f.Column < 1 || f.Severity != diag.SeverityError {
				t.Fatalf("finding %+v", f)
			}
		}
	})
}

func stricter(fs []diag.Finding) bool {
	for _, f := range fs {
		known := f.Code == diag.Encoding
		for _, s := range []string{"duplicate key", "nested more than", "does not fit 64 bits", "is too large", "surrogate"} {
			known = known || strings.Contains(f.Message, s)
		}
		if !known {
			return false
		}
	}
	return true
}

func sameAsStandard(t *testing.T, b []byte, got any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, plain(want)) {
		t.Fatalf("%q: got %#v, encoding/json %#v", b, got, want)
	}
	out, err := Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	again, fs := ParseValue(out)
	if len(fs) > 0 && strings.Contains(fs[0].Message, "does not fit 64 bits") && bytes.ContainsAny(b, "eE.") {
		return // see Marshal: 1e20 is written as an integer
	}
	if len(fs) > 0 || !reflect.DeepEqual(integral(again), integral(got)) {
		t.Fatalf("%q written as %s reads as %#v", b, out, again)
	}
}

// plain turns json.Number into the numbers of package tree.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			n, _ := v.Int64()
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// integral forgets whether a number was written with a fraction: 1.0 is
// written as 1.
func integral(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = integral(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = integral(v[k])
		}
		return out
	}
	return v
}

func BenchmarkParse(b *testing.B) {
	text := []byte(`{"items":[` + strings.Repeat(`{"id":"demo/hello","version":"1.0.0","n":[1,2,3],"ok":true},`, 200) + `{}]}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := Parse(text); d == nil {
			b.Fatal("refused")
		}
	}
}

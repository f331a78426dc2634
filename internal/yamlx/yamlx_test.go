package yamlx

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/ryeos/rye/diag"
)

func brief(fs []diag.Finding) string {
	var out []string
	for _, f := range fs {
		mark := ""
		if f.Severity == diag.SeverityWarning {
			mark = "warning "
		}
		out = append(out, fmt.Sprintf("%s%d:%d %s", mark, f.Line, f.Column, f.Message))
	}
	return strings.Join(out, "; ")
}

func TestParse(t *testing.T) {
	d, fs := Parse([]byte(`# comment
tool_id: demo/hello
"quoted key": 'it''s'
größe: {a.b: [1, 2.5, -7, 0x1F, .5], ü: "\x41\n"}
empty:
nothing: ~
list:
  - when: 2026-02-14T00:27:54Z
    ok: true
  - - nested
text: |
  one
   two
folded: >-
  a
  b
version: 1.0.0
date: 2026-02-14
`))
	if len(fs) > 0 {
		t.Fatal(brief(fs))
	}
	want := map[string]any{
		"tool_id": "demo/hello", "quoted key": "it's", "empty": nil, "nothing": nil, "text": "one\n two\n", "folded": "a b", "version": "1.0.0", "date": "2026-02-14",
		"größe": map[string]any{"a.b": []any{int64(1), 2.5, int64(-7), int64(31), 0.5}, "ü": "A\n"},
		"list":  []any{map[string]any{"when": "2026-02-14T00:27:54Z", "ok": true}, []any{"nested"}},
	}
	if !reflect.DeepEqual(d.Root, want) {
		t.Errorf("got %#v", d.Root)
	}
	for path, pos := range map[string]diag.Position{
		"": {Line: 2, Column: 1}, "tool_id": {Line: 2, Column: 1}, "quoted key": {Line: 3, Column: 1}, `größe.a\.b.1`: {Line: 4, Column: 20},
		"größe.ü": {Line: 4, Column: 40}, "list.0": {Line: 8, Column: 5}, "list.0.ok": {Line: 9, Column: 5}, "list.1.0": {Line: 10, Column: 7},
	} {
		if d.Pos[path] != pos {
			t.Errorf("place of %q is %v, want %v", path, d.Pos[path], pos)
		}
	}
}

// TestParseHostile holds V24 and V25 among others.
func TestParseHostile(t *testing.T) {
	deep := func(n int) string { return "a: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" }
	for _, c := range []struct{ name, in, want string }{
		{"V24 UTF-16LE", "\xff\xfea\x00:\x00 \x001\x00", "1:1 the text begins with a UTF-16 byte order mark"},
		{"V24 UTF-16BE", "\xfe\xff\x00a\x00:", "1:1 the text begins with a UTF-16 byte order mark"},
		{"BOM", "\xef\xbb\xbfa: 1\n", "1:1 the text begins with a UTF-8 byte order mark"},
		{"V25 two documents", "a: 1\n---\nb: 2\n", "2:1 a second document begins; one is allowed"},
		{"V25 empty second document", "a: 1\n---\n", "2:1 a second document begins; one is allowed"},
		{"V25 broken second document", "a: 1\n---\nb: [\n", "3:1 did not find expected node content"},
		{"V25 text after the end", "a: 1\n...\nb: 2\n", "3:1 did not find expected <document start>"},
		{"V25 many documents", strings.Repeat("---\n", 100000), "2:1 a second document begins; one is allowed"},
		{"end marker", "---\na: 1\n...\n", ""},
		{"V25 merge", "a:\n  <<: {b: 1}\n", "2:3 merge keys (<<) are not allowed"},
		{"V25 merge of alias", "x: &d {a: 1}\ny:\n  <<: *d\n", "1:4 anchors (&d) are not allowed; 3:3 merge keys (<<) are not allowed; 3:7 aliases (*d) are not allowed"},
		{"quoted merge", `"<<": 1`, "1:1 merge keys (<<) are not allowed"},
		{"V25 anchor", "a: &x 1\n", "1:4 anchors (&x) are not allowed"},
		{"anchored mapping", "a: &x\n  b: 1\n", "1:4 anchors (&x) are not allowed"},
		{"anchored key", "&k a: 1\n", "1:1 anchors (&k) are not allowed"},
		{"alias", "a: &x 1\nb: *x\n", "1:4 anchors (&x) are not allowed; 2:4 aliases (*x) are not allowed"},
		{"unknown alias", "a: 1\nb: *nope\n", "2:4 aliases (*nope) are not allowed"},
		{"alias as key", "a: &x 1\n*x : 2\n", "1:4 anchors (&x) are not allowed; 2:1 aliases (*x) are not allowed"},
		{"billion laughs", "a: &a [x,x]\nb: &b [*a,*a]\n", "1:4 anchors (&a) are not allowed; 2:4 anchors (&b) are not allowed; 2:8 aliases (*a) are not allowed; 2:11 aliases (*a) are not allowed"},
		{"V25 python tag", "a: !!python/object/apply:os.system [ls]\n", "1:4 tags (!!python/object/apply:os.system) are not allowed"},
		{"custom tag", "a: !secret x\n", "1:4 tags (!secret) are not allowed"},
		{"core tag", "a: !!str 1\nb: !!binary aGk=\n", "1:4 tags (!!str) are not allowed; 2:4 tags (!!binary) are not allowed"},
		{"verbatim tag", "a: !<tag:yaml.org,2002:int> \"1\"\n", "1:4 tags (!!int) are not allowed"},
		{"bare tag", "a: ! 12\n", "1:4 tags (!) are not allowed"},
		{"bare tag on a list", "é: ! [x]\n", "1:5 tags (!) are not allowed"},
		{"tagged key", "!x a: 1\n", "1:1 tags (!x) are not allowed"},
		{"exclamation in text", "a: hi! there\nb: '!x'\n", ""},
		{"directive", "%YAML 1.1\n---\na: 1\n", "1:1 directives (%) are not allowed"},
		{"tag directive", "# c\n\n%TAG ! tag:x,2000:\n---\na: !y 1\n", "3:1 directives (%) are not allowed"},
		{"percent in text", "a: |\n  %x\n", ""},
		{"V25 duplicate", "a: 1\nb: 2\na: 3\n", `3:1 duplicate key "a", first given in line 1`},
		{"duplicate in another spelling", "a: 1\n\"a\": 2\n'a': 3\n\"\\x61\": 4\n", `2:1 duplicate key "a", first given in line 1; 3:1 duplicate key "a", first given in line 1; 4:1 duplicate key "a", first given in line 1`},
		{"duplicate in flow", "x: {a: 1, a: 2}\n", `1:11 duplicate key "a", first given in line 1`},
		{"duplicate below a list", "x:\n  - a: 1\n    a: 2\n", `3:5 duplicate key "a", first given in line 2`},
		{"duplicate below a duplicate", "a: {b: 1}\na: {c: 1, c: 2}\n", `2:1 duplicate key "a", first given in line 1; 2:11 duplicate key "c", first given in line 2`},
		{"complex key", "? [a]\n: 1\n? {b: 1}\n: {c: 1, c: 2}\n", `1:3 a key must be a string, this is a mapping or list; 3:3 a key must be a string, this is a mapping or list; 4:10 duplicate key "c", first given in line 4`},
		{"number key", "1: a\n1.5: b\n", `1:1 a key must be a string, "1" is a number: quote it; 2:1 a key must be a string, "1.5" is a number: quote it`},
		{"boolean key", "true: a\n", `1:1 a key must be a string, "true" is a boolean: quote it`},
		{"null key", "~: a\n", `1:1 a key must be a string, "~" is null: quote it`},
		{"empty key", "? \n: a\n", `1:2 a key must be a string, "" is null: quote it`},
		{"quoted number key", "\"1\": a\n", ""},
		{"yes", "a: yes\nb: Off\nc: 'no'\n", "warning 1:4 yes stays text here, but some parsers take it for true: write true, or quote it; warning 2:4 Off stays text here, but some parsers take it for false: write false, or quote it"},
		{"on as key", "on: 1\n", "warning 1:1 on stays text here, but some parsers take it for true: write true, or quote it"},
		{"octal", "mode: 0777\n", "warning 1:7 0777 is read as the number 511, but some parsers see another value: write 511, or quote it"},
		{"octal new", "mode: 0o17\n", "warning 1:7 0o17 is read as the number 15, but some parsers see another value: write 15, or quote it"},
		{"not octal", "zip: 0899\n", "warning 1:6 0899 stays text here, but some parsers take it for a number: quote it"},
		{"binary", "a: 0b101\n", "warning 1:4 0b101 is read as the number 5, but some parsers see another value: write 5, or quote it"},
		{"underscores", "a: 1_000\n", "warning 1:4 1_000 is read as the number 1000, but some parsers see another value: write 1000, or quote it"},
		{"sixties", "at: 12:30\n", "warning 1:5 12:30 stays text here, but some parsers take it for a number: quote it"},
		{"signs before points", "a: +.5\nb: -.5\nc: .5\n", "warning 1:4 +.5 is read as the number 0.5, but some parsers take it for text: write a digit before the point and a sign in the exponent, or quote it; warning 2:4 -.5 is read as the number -0.5, but some parsers take it for text: write a digit before the point and a sign in the exponent, or quote it"},
		{"exponent without sign", "a: 1.0e3\nb: 1.0e+3\nc: 2.5E-3\n", "warning 1:4 1.0e3 is read as the number 1000, but some parsers take it for text: write a digit before the point and a sign in the exponent, or quote it"},
		{"sixties with fraction", "a: 1:30.5\nb: 0:30.\nc: -12:30:45.25\nd: 1:99.5\n", "warning 1:4 1:30.5 stays text here, but some parsers take it for a number: quote it; warning 2:4 0:30. stays text here, but some parsers take it for a number: quote it; warning 3:4 -12:30:45.25 stays text here, but some parsers take it for a number: quote it"},
		{"exponent", "sha: 12e4\n", "warning 1:6 12e4 is read as the number 120000, but some parsers take it for text: write it with a point, or quote it"},
		{"big int", "a: 9223372036854775807\nb: -9223372036854775808\n", ""},
		{"too big int", "a: 9223372036854775808\nb: 0xFFFFFFFFFFFFFFFF\n", "1:4 the integer 9223372036854775808 does not fit 64 bits; quote it if it is text; 2:4 the integer 0xFFFFFFFFFFFFFFFF does not fit 64 bits; quote it if it is text"},
		{"infinite", "a: .inf\nb: -.INF\nc: .nan\nd: 1.0e999\n", "1:4 .inf is not a finite number; quote it if it is text; 2:4 -.INF is not a finite number; quote it if it is text; 3:4 .nan is not a finite number; quote it if it is text; 4:4 the number 1.0e999 is too large; quote it if it is text"},
		{"odd texts", "a: 1.2.3\nb: '-'\nc: +\nd: 1e\ne: ..\nf: 1-2\ng: 0x\nh: --5\ni: 1e+-5\n", ""},
		{"depth 64", deep(63), ""},
		{"depth 65", deep(64), "1:67 nested more than 64 deep"},
		{"depth 5000", deep(5000), "1:67 nested more than 64 deep"},
		{"depth 100000", deep(100000), "1:1 exceeded max depth of 10000"},
		{"long key with many entries", "? \"" + strings.Repeat("k", 1<<19) + "\"\n: [" + strings.Repeat("{a: 1},", 1<<16) + "]\n", "1:3 the keys down to here have more than 1024 bytes"},
		{"list", "- a\n", "1:1 the top level is a list, a mapping is required"},
		{"text", "just text\n", "1:1 the top level is a string, a mapping is required"},
		{"empty", "", "1:1 the document is empty"},
		{"comment only", "# c\n", "1:1 the document is empty"},
		{"null document", "---\n", "2:1 the top level is null, a mapping is required"},
		{"colon in value", "a: 1\nb: c: d\n", "2:5 mapping values are not allowed in this context"},
		{"deeper key", "a: 1\n  b: 2\n", "2:4 mapping values are not allowed in this context"},
		{"tab", "a:\n\t- b\n", "2:1 found character that cannot start any token"},
		{"at sign", "a: 1\nb: @x\n", "2:4 found character that cannot start any token"},
		{"bad escape", "a: 1\nb: \"\\q\"\n", "2:5 found unknown escape character"},
		{"open list", "a: [1, 2\nb: 3\n", "2:1 did not find expected ',' or ']'"},
		{"open quote", "a: \"x\nb: 1\n", "2:1 found unexpected end of stream"},
		{"dedent", "a:\n  - x\n y\nb: 1\n", "3:2 did not find expected key"},
		{"NUL", "a: \x00\n", "1:4 the text holds a NUL"},
		{"invalid UTF-8", "a: 1\nb: \xff\n", "2:4 the text is not UTF-8: byte 0xFF"},
		{"ESC", "a: 1\nb: x\x1b[0m\n", `2:5 the control character \u{1b} is not allowed`},
		{"NEL", "a: 1\u0085b: 2\n", `1:5 the control character \u{85} is not allowed`},
		{"line separator", "a: 1\u2028b: 2\n", `1:5 the control character \u{2028} is not allowed`},
		{"lone CR", "a: 1\rb: 2\n", `1:5 the control character \u{d} is not allowed`},
		{"noncharacter", "a: 1\nb: é\uffff\n", "2:6 control characters are not allowed"},
		{"CRLF", "a: 1\r\nb:\r\n  - x\r\n", ""},
		{"colon in a list item", "a:\n  - b: c: d\n", "2:9 mapping values are not allowed in this context"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, fs := Parse([]byte(c.in))
			if got := brief(fs); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if (d == nil) != diag.Failed(fs) {
				t.Errorf("doc is %v", d)
			}
		})
	}
}

// TestParseWarned holds the values that come with a warning.
// TestParseItem is about agents F2: the schema of another program may contain
// integers beyond 64 bits, as defaults and bounds.
func TestParseItem(t *testing.T) {
	in := "a: 18446744073709551615\nb: -9223372036854775809\nc: 9007199254740993\n"
	doc, fs := ParseItem([]byte(in))
	want := map[string]any{"a": json.Number("18446744073709551615"), "b": json.Number("-9223372036854775809"), "c": int64(9007199254740993)}
	if len(fs) > 0 || !reflect.DeepEqual(doc.Root, want) {
		t.Fatalf("%#v, %v", doc, fs)
	}
	if out, err := Marshal(doc.Root); err != nil || string(out) != in {
		t.Errorf("%s %v", out, err)
	}
	for _, bad := range []string{"0xFFFFFFFFFFFFFFFFF", "1e999", "+18446744073709551615", "18_446_744_073_709_551_615", strings.Repeat("9", 65)} {
		if doc, _ := ParseItem([]byte("a: " + bad)); doc != nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestParseWarned(t *testing.T) {
	d, _ := Parse([]byte("a: 0777\nb: yes\nc: 0899\nd: 1_000\ne: 12:30\nf: 0b11\ng: 1e3\nh: -0x10\non: 1\n"))
	want := map[string]any{"a": int64(511), "b": "yes", "c": "0899", "d": int64(1000), "e": "12:30", "f": int64(3), "g": 1000.0, "h": int64(-16), "on": int64(1)}
	if d == nil || !reflect.DeepEqual(d.Root, want) {
		t.Errorf("got %#v", d)
	}
}

// TestParseLongLine would take minutes if every node counted its column from
// the line's beginning.
func TestParseLongLine(t *testing.T) {
	d, fs := Parse([]byte("é: [" + strings.Repeat("a, ", 200000) + "]\n"))
	if len(fs) > 0 || len(d.Root["é"].([]any)) != 200000 {
		t.Fatal(brief(fs))
	}
	if p := d.Pos["é.199999"]; p.Column != 6+3*199999 {
		t.Errorf("last element at %v", p)
	}
}

func TestParseAny(t *testing.T) {
	v, pos, fs := ParseAny([]byte("- a\n- b: 1\n"))
	if len(fs) > 0 || !reflect.DeepEqual(v, []any{"a", map[string]any{"b": int64(1)}}) || pos["1.b"] != (diag.Position{Line: 2, Column: 3}) {
		t.Errorf("got %#v, %v, %s", v, pos, brief(fs))
	}
	if v, pos, fs = ParseAny([]byte("- a\n- {b: 1, b: 2}\n")); v != nil || pos != nil || len(fs) != 1 {
		t.Errorf("duplicate: %v %v %s", v, pos, brief(fs))
	}
}

func TestMarshal(t *testing.T) {
	b, err := Marshal(Map{
		{"version", int64(1)},
		{"ref", "tool:rye/bash/bash"},
		{"yes", "no"},
		{"odd", []string{"", "1", "0777", "null", "a: b", "x #y", "- a", "é", "tab\t", "\u202e", " lead", "12:30", "~", "y"}},
		{"text", "one\n  two\n\nthree\n"},
		{"tail", "one\ntwo"},
		{"edge", "one \ntwo"},
		{"bundles", []Map{{{"id", "a/b"}, {"files", map[string]any{"z": 1.0, "a": 1e21}}}, {}}},
		{"none", nil}, {"empty", map[string]any{}}, {"list", []any{[]any{int64(1), []any{}}, "x\ny"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `version: 1
ref: tool:rye/bash/bash
"yes": "no"
odd:
  - ""
  - "1"
  - "0777"
  - "null"
  - "a: b"
  - "x #y"
  - "- a"
  - "é"
  - "tab\t"
  - "\u202E"
  - " lead"
  - "12:30"
  - "~"
  - "y"
text: |
  one
    two

  three
tail: |-
  one
  two
edge: "one \ntwo"
bundles:
  - id: a/b
    files:
      a: 1.0e+21
      z: 1.0
  - {}
none: null
empty: {}
list:
  - - 1
    - []
  - |-
    x
    y
`
	if string(b) != want {
		t.Errorf("got\n%s", b)
	}
	if _, fs := Parse(b); len(fs) > 0 {
		t.Errorf("reading it back: %s", brief(fs))
	}
}

func TestMarshalRefuses(t *testing.T) {
	deep := any("x")
	for range MaxDepth + 1 {
		deep = []any{deep}
	}
	for name, v := range map[string]any{
		"double key": Map{{"a", 1}, {"a", 2}}, "merge key": Map{{"<<", 1}}, "long key": Map{{strings.Repeat("k", 2000), 1}},
		"type": Map{{"a", struct{}{}}}, "invalid": Map{{"a", "\xff"}}, "deep": deep,
	} {
		if b, err := Marshal(v); err == nil || b != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// FuzzParse holds Parse to the module's own decoder: what Parse accepts
// without a warning is the same value there.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, {c: 2.5}]\n", "? a\n: b\n", "a: |\n  x\n y\n", "a: &x 1\nb: *x\n", "<<: {a: 1}\n", "a: !!str 1\n", "%YAML 1.1\n---\na: 1\n", "é: \"\\u00e9\"\n", "a: 0777\n", "a:\r\n  - b\r\n", "a: 1\n...\n---\nb: 2", "- - a\n  - b\n", "{a: 'x', \"b\": ~}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, pos, fs := ParseAny(b)
		for _, f := range fs {
			if f.Line < 1 || f.Column < 1 {
				t.Fatalf("finding %+v for %q", f, b)
			}
		}
		if diag.Failed(fs) != (pos == nil) {
			t.Fatalf("positions %v with %s", pos, brief(fs))
		}
		if len(fs) > 0 {
			return
		}
		var want any
		if err := yaml.Unmarshal(b, &want); err != nil {
			t.Fatalf("accepted %q: %v", b, err)
		}
		if want = plainValues(want); !same(v, want) {
			t.Fatalf("%q: got %#v, yaml.v3 %#v", b, v, want)
		}
		roundTrip(t, v)
	})
}

func roundTrip(t *testing.T, v any) {
	t.Helper()
	out, err := Marshal(v)
	if err != nil {
		if !strings.Contains(err.Error(), "too long") {
			t.Fatalf("writing %#v: %v", v, err)
		}
		return
	}
	again, _, fs := ParseAny(out)
	if len(fs) > 0 || !reflect.DeepEqual(again, v) {
		t.Fatalf("%#v written as\n%s\nreads as %#v %s", v, out, again, brief(fs))
	}
}

type dated struct{}

// same compares, passing over dates, which stay text here.
func same(got, want any) bool {
	switch w := want.(type) {
	case dated:
		_, text := got.(string)
		return text
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			if !same(g[k], w[k]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

func plainValues(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case time.Time:
		return dated{}
	case []any:
		for i := range v {
			v[i] = plainValues(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainValues(v[k])
		}
	case map[any]any:
		return fmt.Sprintf("%T", v)
	}
	return v
}

const sample = `# rye:signed:2026-02-14T00:27:54Z:c5b5f9cdaaa77ef9537db8654d274c0c01ec38233b32bdd3fee821fbf567ee75:KKcAFw1svYikWOYv6mvSZJFeefpkINVDfZJwCEl36zQLBUu860IhLULOMU1jtBQbtaDyQgaAZvG3CQCboPwUAw:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
tool_id: demo/hello
tool_type: runtime
version: "1.2.0"
executor_id: rye/core/primitives/subprocess
category: demo
description: Says hello to whoever is named.
env_config:
  interpreter:
    type: venv_python
    var: PYTHON
    fallback: python3
config:
  command: "${PYTHON}"
  args: ["{tool_path}", "--params", "{params_json}"]
  timeout: 30
config_schema:
  type: object
  required: [name]
  properties:
    name: {type: string, description: whom to greet}
    times: {type: integer, default: 1, minimum: 1}
`

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := Parse([]byte(sample)); d == nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkModuleAlone(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	b.ReportAllocs()
	for b.Loop() {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(sample), &n); err != nil {
			b.Fatal(err)
		}
	}
}

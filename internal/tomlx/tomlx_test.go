package tomlx

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

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
	d, fs := Parse([]byte(`schema = "rye.trust/v1"
owner.name = 'leo'
"dotted.key" = 1
[validity]
not-before = 2026-11-20T02:00:00+02:00
[scope]
kinds = ["tool", "größe"]
inline = {a = {b = 1.5}, c = true}
[[hop]]
n = 1
[[hop]]
n = 0x1F
[hop.sub]
x = """
two
lines"""
`))
	if len(fs) > 0 {
		t.Fatal(brief(fs))
	}
	want := map[string]any{
		"schema": "rye.trust/v1", "owner": map[string]any{"name": "leo"}, "dotted.key": int64(1),
		"validity": map[string]any{"not-before": time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)},
		"scope":    map[string]any{"kinds": []any{"tool", "größe"}, "inline": map[string]any{"a": map[string]any{"b": 1.5}, "c": true}},
		"hop":      []any{map[string]any{"n": int64(1)}, map[string]any{"n": int64(31), "sub": map[string]any{"x": "two\nlines"}}},
	}
	if !reflect.DeepEqual(d.Root, want) {
		t.Errorf("got %#v", d.Root)
	}
	for path, pos := range map[string]diag.Position{
		"": {Line: 1, Column: 1}, "schema": {Line: 1, Column: 1}, "owner.name": {Line: 2, Column: 7}, `dotted\.key`: {Line: 3, Column: 1}, "validity": {Line: 4, Column: 2},
		"validity.not-before": {Line: 5, Column: 1}, "scope.kinds.1": {Line: 7, Column: 18}, "scope.inline.a.b": {Line: 8, Column: 16}, "scope.inline.c": {Line: 8, Column: 26},
		"hop": {Line: 9, Column: 3}, "hop.0.n": {Line: 10, Column: 1}, "hop.1.n": {Line: 12, Column: 1}, "hop.1.sub": {Line: 13, Column: 6}, "hop.1.sub.x": {Line: 14, Column: 1},
	} {
		if d.Pos[path] != pos {
			t.Errorf("place of %q is %v, want %v", path, d.Pos[path], pos)
		}
	}
}

// TestParseHostile holds V26 among others.
func TestParseHostile(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"V26 duplicate", "a = 1\nb = 2\na = 3\nb = 4\n", `3:1 duplicate key "a", first given in line 1; 4:1 duplicate key "b", first given in line 2`},
		{"V26 duplicate in another spelling", "a = 1\n\"\\u0061\" = 2\n", `2:1 duplicate key "a", first given in line 1`},
		{"V26 duplicate dotted", "a.b = 1\na.b = 2\n", `2:3 duplicate key "a.b", first given in line 1`},
		{"V26 duplicate in inline table", "a = {b = 1, b = 2}\n", `1:13 duplicate key "a.b", first given in line 1`},
		{"V26 duplicate table", "[a]\n[b]\n[a]\n", `3:2 duplicate table "a", first given in line 1`},
		{"V26 dotted redefinition of a value", "a = 1\na.b = 2\n", `2:1 `},
		{"V26 table over a value", "a = 1\n[a]\n", `2:2 `},
		{"V26 table over dotted keys", "[a]\nb.c = 1\n[a.b]\n", `3:2 `},
		{"V26 dotted keys into a table", "[a.b]\nx = 1\n[a]\nb.y = 2\n", `4:1 `},
		{"V26 inline table extended", "a = {}\na.b = 1\n", `2:1 `},
		{"V26 array of tables over array", "a = []\n[[a]]\n", `2:3 `},
		{"V26 BOM", "\xef\xbb\xbfa = 1\n", "1:1 the text begins with a UTF-8 byte order mark"},
		{"UTF-16", "\xff\xfea\x00=\x001\x00", "1:1 the text begins with a UTF-16 byte order mark"},
		{"NUL", "a = 1\n# \x00\n", "2:3 the text holds a NUL"},
		{"invalid UTF-8", "a = \"\xff\"\n", "1:6 the text is not UTF-8: byte 0xFF"},
		{"local times", "a = 2026-01-01\nb = 10:00:00\nc = [2026-01-01T10:00:00]\n",
			"1:1 the time 2026-01-01 has no UTC offset: write it in full, for example 2026-01-31T00:00:00Z; 2:1 the time 10:00:00 has no UTC offset: write it in full, for example 2026-01-31T00:00:00Z; 3:6 the time 2026-01-01T10:00:00 has no UTC offset: write it in full, for example 2026-01-31T00:00:00Z"},
		{"not finite", "a = inf\nb = {c = -nan}\n", "1:1 +Inf is not a finite number; 2:6 NaN is not a finite number"},
		{"impossible date", "a = 2026-02-30T00:00:00Z\n", "1:13 "},
		{"big integer", "a = 9223372036854775808\n", "1:5 "},
		{"lone CR", "a = 1\rb = 2\n", "1:6 "},
		{"CRLF", "a = 1\r\nb = 2\r\n", ""},
		{"truncated", "a = [1,\n", "1:8 "},
		{"no value", "a =\n", "1:4 "},
		{"open string", "a = \"x\n", "1:7 "},
		{"control in string", "a = \"x\x1b\"\n", "1:7 "},
		{"bad escape", "a = \"\\q\"\n", "1:6 "},
		{"octal", "a = 0777\n", "1:5 "},
		{"deep array", "a = " + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "\n", ""},
		{"too deep array", "a = " + strings.Repeat("[", 64) + strings.Repeat("]", 64) + "\n", "1:1 nested more than 64 deep"},
		{"huge depth", "a = " + strings.Repeat("[", 500000) + "\n", ""},
		{"too deep key", strings.Repeat("a.", 64) + "a = 1\n", "1:127 nested more than 64 deep"},
		{"very deep key", strings.Repeat("a.", 1<<19) + "a = 1\n", "1:1025 the keys down to here have more than 1024 bytes"},
		{"very deep table", "x = 1\n[" + strings.Repeat("a.", 1<<19) + "a]\n", "2:1026 the keys down to here have more than 1024 bytes"},
		{"long key with many entries", "[" + strings.Repeat("k", 1<<19) + "]\n" + strings.Repeat("a = 1\n", 1<<16), "1:2 the keys down to here have more than 1024 bytes"},
		{"deep inline tables", "a = " + strings.Repeat("{a = ", 5000) + "1" + strings.Repeat("}", 5000) + "\n", "1:2561 the keys down to here have more than 1024 bytes"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, fs := Parse([]byte(c.in))
			if c.name == "huge depth" {
				if d != nil || len(fs) != 1 {
					t.Errorf("accepted")
				}
				return
			}
			got := brief(fs)
			if got != c.want && !(len(fs) == 1 && strings.HasSuffix(c.want, " ") && strings.HasPrefix(got, c.want)) {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if (d == nil) != (c.want != "") {
				t.Errorf("doc is %v", d)
			}
			for _, f := range fs {
				if f.Severity != diag.SeverityError || f.Code != diag.ParsingError && f.Code != diag.Encoding {
					t.Errorf("finding %+v", f)
				}
			}
		})
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"leo": `"leo"`, `a"b\c`: `"a\"b\\c"`, "x\ny\t\r\x00\x7f": `"x\ny\t\u000D\u0000\u007F"`, "é日": `"é日"`, "\u202e\u0085": `"\u202E\u0085"`, "\U000E0041": `"\U000E0041"`, "\xff": "\"\ufffd\"",
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

// FuzzParse holds Parse to the module's decoder and Quote to Parse.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a = 1\n[b.c]\nd = [1, {e = 2}]\n[[f]]\ng = 2026-01-01T00:00:00Z\n[[f]]\n", "a.b = 1\na.b = 2", "x = '''\n'''", "\"\\u202e\" = 'x'\r\n", "a = [ # c\n1,\n]\n", "a = inf", "[[a]]\n[a.b]\n[[a.c]]", "a = 1979-05-27"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, fs := Parse([]byte(s))
		if (d == nil) != diag.Failed(fs) {
			t.Fatalf("doc %v with %s", d, brief(fs))
		}
		for _, f := range fs {
			if f.Line < 1 || f.Column < 1 {
				t.Fatalf("finding %+v for %q", f, s)
			}
		}
		var m map[string]any
		err := toml.Unmarshal([]byte(s), &m)
		if d != nil && err != nil || d == nil && err == nil && !stricter(fs) {
			t.Fatalf("%q: %s, module %v", s, brief(fs), err)
		}
		q, fs := Parse([]byte("k = " + Quote(s)))
		if len(fs) > 0 || q.Root["k"] != string([]rune(s)) {
			t.Fatalf("Quote(%q) reads as %v %s", s, q, brief(fs))
		}
	})
}

func stricter(fs []diag.Finding) bool {
	for _, f := range fs {
		known := f.Code == diag.Encoding
		for _, s := range []string{"UTC offset", "finite", "nested more"} {
			known = known || strings.Contains(f.Message, s)
		}
		if !known {
			return false
		}
	}
	return true
}

func BenchmarkParse(b *testing.B) {
	text := []byte("schema = \"rye.trust/v1\"\nkind = \"key\"\n[validity]\nnot-before = 2026-11-20T00:00:00Z\n[scope]\nkinds = [\"tool\"]\nnamespaces = [\"acme/**\"]\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if d, _ := Parse(text); d == nil {
			b.Fatal("refused")
		}
	}
}

// T22: the cost of a key grows with the keys before it, however they are given.
func TestT22ManyKeys(t *testing.T) {
	many := func(format, join string) string {
		var b strings.Builder
		for i := range MaxKeys + 1 {
			fmt.Fprintf(&b, format+join, i)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"keys": many("k%d=1", "\n"), "tables": many("[k%d]", "\n"), "dotted": many("k%d.a=1", "\n"),
		"inline": "a={" + many("k%d=1", ",") + "z=1}\n", "inline in a list": "a=[" + many("{k%d=1}", ",") + "]\n",
	} {
		doc, fs := Parse([]byte(text))
		if doc != nil || len(fs) != 1 || fs[0].Code != diag.TooLarge {
			t.Errorf("%s: %v, %d findings %v", name, doc != nil, len(fs), fs[:min(1, len(fs))])
		}
	}
	if doc, fs := Parse([]byte(strings.TrimSuffix(many("k%d=1", "\n"), fmt.Sprintf("k%d=1\n", MaxKeys)))); doc == nil {
		t.Errorf("%d keys: %v", MaxKeys, fs)
	}
}

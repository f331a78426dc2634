package cond

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
)

func document(t testing.TB) map[string]any {
	t.Helper()
	d, fs := yamlx.Parse([]byte(`
classification: {category: rate_limited, code: 429}
pressure_ratio: 0.85
error: {message: HTTP 429 too many requests}
tags: [a, b, 1, null]
big: 9007199254740993
nothing: null
yes: true
no: false
list: [{name: x}, {name: y}]
empty: {}
in: {not: 3}
`))
	if d == nil {
		t.Fatal(fs)
	}
	return d.Root
}

// matches are text conditions and their values for the document.
func matches() map[string]bool {
	return map[string]bool{
		"pressure_ratio > 0.8":     true,
		"pressure_ratio >= 0.85":   true,
		"pressure_ratio < 0.85":    false,
		"pressure_ratio <= 0.85":   true,
		"pressure_ratio > '0.8'":   false, // mixed types
		"pressure_ratio != '0.85'": false, // mixed types, ne too
		"pressure_ratio != 1":      true,
		"missing != 1":             false, // a missing path
		"missing == null":          false,
		"not missing == 1":         true,
		"nothing == null":          true,
		"nothing != null":          false,
		"nothing != 1":             false,
		"exists(nothing)":          true,
		"exists(missing.x)":        false,
		"!exists(missing)":         true,
		"classification.code == 429.0 and classification.category == 'rate_limited'":               true,
		"classification.category in ['transient', \"rate_limited\"] && pressure_ratio >= 0.8":      true,
		"error.message matches 'HTTP [45][0-9]+' || missing":                                       true,
		"error.message matches '^429'":                                                             false,
		"tags contains 'a' and not tags contains 'z' and tags contains 1.0 and tags contains null": true,
		"error.message contains '429'":                                                             true,
		"error contains 'message' and not error contains 'code'":                                   true,
		"pressure_ratio contains 0":                                                                false,
		"yes":                                                                                      true,
		"no":                                                                                       false,
		"not no":                                                                                   true,
		"nothing":                                                                                  false,
		"error.message":                                                                            false, // a text is not true
		"list.0.name == 'x'":                                                                       true,
		"list.2.name == 'x'":                                                                       false,
		"list == [{}]":                                                                             false,
		"big == 9007199254740993":                                                                  true,
		"big == 9007199254740992.0":                                                                false,
		"big > 9007199254740992.0":                                                                 true,
		"big < 1e300":                                                                              true,
		"big > -1e300":                                                                             true,
		"yes or no and no":                                                                         true, // and before or
		"(yes or no) and no":                                                                       false,
		"no or no or yes":                                                                          true,
		"!(yes && !no) || no":                                                                      false,
		"in.not == 3":                                                                              true, // keywords are names after the first one
		"error.message > 'HTTP 4'":                                                                 true,
		"tags == ['a', 'b', 1, null]":                                                              true,
		"tags != ['a', 'b', 1, 2]":                                                                 true,
		"tags != 1":                                                                                false,
		"nothing in [1, null]":                                                                     true,
		"yes in []":                                                                                false,
		"error.message == 'a\\u0062\\n'":                                                           false,
	}
}

func TestText(t *testing.T) {
	doc := document(t)
	for in, want := range matches() {
		if strings.Contains(in, "{}") {
			continue // mappings are values in the data form only
		}
		c, err := Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := c.Match(doc); got != want {
			t.Errorf("%s = %t", in, got)
		}
		again, err := Parse(c.String())
		if err != nil || again.String() != c.String() || again.Match(doc) != want {
			t.Errorf("%s: written as %s: %v", in, c, err)
		}
	}
}

func TestTextRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "column 1: expected a path such as state.count, and the condition ends",
		"a ==":                             "column 5: expected a value, and the condition ends",
		"a == b":                           "column 6: expected a value: a text in quotes, a number, true, false, null or a list, found \"b\"",
		"a contain 'x'":                    `column 3: expected and, or, or the end, found "contain"; did you mean contains?`,
		"a = 1":                            `column 3: expected and, or, or the end, found "="`,
		"a matches '('":                    "column 11: the regular expression is not valid",
		"a matches '(?=x)'":                "column 11: the regular expression is not valid",
		"a in 'abc'":                       "column 6: the operator in takes a list",
		"a > true":                         "column 5: the operator gt takes a number or a text",
		"a == 'x":                          "column 6: the text does not end: ' is missing",
		`a == '\x'`:                        `column 7: the escapes are \\ \' \" \n \t \uXXXX`,
		`a == '\ud800'`:                    `column 7: \u is followed by four hexadecimal digits of a character`,
		"a == 01":                          `column 6: "01" is not a number`,
		"a == 1e999":                       "column 6: the number 1e999 is too large or too small",
		"a == [1,]":                        `column 9: expected a value`,
		"a == [1 2]":                       `column 9: expected , or ], found "2"`,
		"(a":                               "column 3: expected ), and the condition ends",
		"a)":                               `column 2: expected and, or, or the end, found ")"`,
		"exists a":                         `column 8: expected ( after exists, found "a"`,
		"exists('a')":                      `column 8: expected a path`,
		"not":                              "column 4: expected a path",
		"in == 1":                          `column 1: expected a path such as state.count, found "in"`,
		"a.0b":                             `column 2: expected and, or, or the end, found "."`,
		"${a} == 1":                        `column 1: expected a path such as state.count, found "$"`,
		"a == 1; b":                        `found ";"`,
		"a == \xff":                        "column 1: the condition is not UTF-8",
		strings.Repeat("(", 9999):          "more than 4096 bytes",
		strings.Repeat("(", 4000):          "nested more than 16 deep",
		strings.Repeat("!", 4000) + "a":    "nested more than 16 deep",
		strings.Repeat("!", 16) + "a":      "nested more than 16 deep",
		"a" + strings.Repeat(" or a", 256): "more than 256 parts",
		"a == " + strings.Repeat("[", 17) + strings.Repeat("]", 17): "nested more than 16 deep",
		"a matches '" + strings.Repeat("a", 1001) + "'":             "a text of at most 1000 bytes",
		strings.Repeat("a", 1025):                                   "the path has more than 1024 bytes",
	} {
		c, err := Parse(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, %v, want %q", in, c, err, want)
		}
	}
	for _, in := range []string{strings.Repeat("!", 15) + "a", strings.Repeat("(", 60) + "a" + strings.Repeat(")", 60)} {
		if _, err := Parse(in); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// compile compiles the value of the key when of a YAML text.
func compile(t testing.TB, text string) (*Cond, []diag.Finding) {
	t.Helper()
	d, fs := yamlx.Parse([]byte(text))
	if d == nil {
		t.Fatalf("%s: %v", text, fs)
	}
	return Compile(d, "when", "when", d.Root["when"], diag.ValidationFailed)
}

func TestData(t *testing.T) {
	doc := document(t)
	for in, want := range map[string]bool{
		"{path: pressure_ratio, op: gte, value: 0.8}": true,
		"{path: yes}":                                        false, // without op: eq, which needs a value
		"{path: yes, value: true}":                           true,
		"{path: missing, op: exists}":                        false,
		"{path: missing, op: exists, value: false}":          true,
		"{path: yes, op: exists, value: false}":              false,
		"{path: empty, op: eq, value: {}}":                   true,
		"{path: list, op: contains, value: {name: y}}":       true,
		"{any: [{path: no, value: true}, 'yes and not no']}": true,
		"{all: [{path: yes, value: true}, {not: {path: no, value: true}}, 'not missing']}": true,
		"{not: {all: [yes]}}":          false,
		"{path: nothing, value: null}": true,
		"pressure_ratio > 0.5":         true,
	} {
		c, fs := compile(t, "when: "+in)
		if in == "{path: yes}" {
			if c != nil || len(fs) != 1 || !strings.Contains(fs[0].Message, "the operator eq needs a value") {
				t.Errorf("%s: %v", in, fs)
			}
			continue
		}
		if c == nil || c.Match(doc) != want {
			t.Errorf("%s is not %t: %v", in, want, fs)
		}
	}
	if !(*Cond)(nil).Match(doc) {
		t.Error("an absent condition is not true")
	}
}

func TestDataRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"{}":                                "1:1: VALIDATION_FAILED: when: the condition is empty",
		"[]":                                "1:1: VALIDATION_FAILED: when: a condition is a mapping or a text, not a list",
		"{op: eq, value: 1}":                "1:1: VALIDATION_FAILED: when: the condition has op and value and no path",
		"{path: a, any: []}":                "1:1: VALIDATION_FAILED: when: a condition has exactly one of path, any, all, not; this one has path and any",
		"{any: []}":                         "1:8: VALIDATION_FAILED: when.any is a list of at least one condition",
		"{all: x}":                          "1:8: VALIDATION_FAILED: when.all is a list of at least one condition",
		"{any: [a], value: 1}":              "1:1: VALIDATION_FAILED: when: op and value belong to a path, and this condition has any",
		"{path: a, operator: eq, value: 1}": `1:17: VALIDATION_FAILED: when: unknown key "operator": a condition has path, op and value, or one of any, all, not`,
		"{path: a, op: equals, value: 1}":   `1:17: VALIDATION_FAILED: when.op: unknown operator "equals": the operators are eq, ne, gt, gte, lt, lte, in, contains, regex, exists`,
		"{path: a, op: 3, value: 1}":        "1:17: VALIDATION_FAILED: when.op: unknown operator 3: the operators are eq, ne, gt, gte, lt, lte, in, contains, regex, exists",
		"{path: a..b, value: 1}":            `1:8: VALIDATION_FAILED: when.path: "a..b" is not a path: names and list indexes joined by dots, such as result.items.0`,
		"{path: 3, value: 1}":               "1:8: VALIDATION_FAILED: when.path is a text, not a number",
		"{path: a, op: in, value: abc}":     "1:25: VALIDATION_FAILED: when.value: the operator in takes a list",
		"{path: a, op: exists, value: abc}": "1:29: VALIDATION_FAILED: when.value: the operator exists takes true, false or no value",
		"{path: a, op: gt, value: [1]}":     "1:25: VALIDATION_FAILED: when.value: the operator gt takes a number or a text",
		"{any: [{not: {path: a, op: in}}]}": "1:15: VALIDATION_FAILED: when.any[0].not.value: the operator in takes a list",
		"{any: ['a ==']}":                   "1:14: VALIDATION_FAILED: when.any[0]: at column 5: expected a value, and the condition ends",
	} {
		c, fs := compile(t, "when: "+in)
		if c != nil || len(fs) != 1 || strings.TrimPrefix(fs[0].String(), "line ") != want {
			t.Errorf("%s: %v\nwant %s", in, fs, want)
		}
	}
	_, fs := compile(t, "when: {path: a, op: regx, value: x}")
	if len(fs) != 1 || fs[0].Reason != "nearest" || fs[0].Facts["nearest"] != "regex" {
		t.Errorf("regx: %+v", fs)
	}
}

// Every mistake is reported in one compilation, and the bounds cover texts inside.
func TestDataBounds(t *testing.T) {
	_, fs := compile(t, "when: {all: [{path: 1, op: nope}, {x: 1}, {any: [{}, 3]}]}")
	if len(fs) != 5 {
		t.Errorf("%d findings, want 5: %v", len(fs), fs)
	}
	var deep any = "a"
	for range 16 {
		deep = map[string]any{"not": deep}
	}
	doc := &tree.Doc{Root: map[string]any{"when": deep}}
	if c, fs := Compile(doc, "when", "when", deep, diag.ConfigError); c != nil || len(fs) != 1 || !strings.Contains(fs[0].Message, "nested more than 16 deep") {
		t.Errorf("deep: %v", fs)
	}
	wide := []any{}
	for range 26 {
		wide = append(wide, "a"+strings.Repeat(" or a", 9))
	}
	if c, fs := Compile(doc, "when", "when", map[string]any{"any": wide}, diag.ConfigError); c != nil || len(fs) != 1 || !strings.Contains(fs[0].Message, "more than 256 parts") {
		t.Errorf("wide: %v", fs)
	}
}

func TestPaths(t *testing.T) {
	c, err := Parse("a.b == 1 and (not c or exists(d.0)) and a.b in [2]")
	if err != nil || fmt.Sprint(c.Paths()) != "[a.b c d.0 a.b]" {
		t.Errorf("%v, %v", c.Paths(), err)
	}
}

// randomValue returns a value of any type, also of types that no parser returns.
func randomValue(r *rand.Rand, depth int) any {
	n := 12
	if depth > 3 {
		n = 10
	}
	switch r.IntN(n) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return int64(r.IntN(5))
	case 3:
		return float64(r.IntN(5)) / 2
	case 4:
		return json.Number([]string{"1", "1e999999999", "123456789012345678901234567890", "x", "0", "1e-999"}[r.IntN(6)])
	case 5, 6:
		return []string{"", "a", "b", "1", "${a}"}[r.IntN(5)]
	case 7:
		return int64(r.Uint64())
	case 8:
		return struct{}{}
	case 9:
		return r.IntN(3)
	case 10:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, randomValue(r, depth+1))
		}
		return list
	}
	m := map[string]any{}
	for range r.IntN(4) {
		m[[]string{"a", "b", "c", "0"}[r.IntN(4)]] = randomValue(r, depth+1)
	}
	return m
}

func randomCond(r *rand.Rand, depth int) any {
	part := func() any { return randomCond(r, depth+1) }
	switch n := r.IntN(10); {
	case n == 0 && depth < 4:
		return map[string]any{"any": []any{part(), part()}}
	case n == 1 && depth < 4:
		return map[string]any{"all": []any{part(), part(), part()}}
	case n == 2 && depth < 4:
		return map[string]any{"not": part()}
	}
	m := map[string]any{"path": []string{"a", "a.b", "b.0", "c.a.0.b"}[r.IntN(4)], "op": ops()[r.IntN(len(ops()))], "value": randomValue(r, 1)}
	return m
}

// Conditions are total: whatever compiles has a value for every document, equal to
// that of its text form, and de Morgan's laws apply.
func TestTotal(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	compiled := 0
	for range 20_000 {
		in := randomCond(r, 0)
		c, _ := Compile(tree.New(), "", "condition", in, diag.ConfigError)
		if c == nil {
			continue
		}
		compiled++
		doc := randomValue(r, 0)
		got := c.Match(doc)
		if not, _ := Compile(tree.New(), "", "condition", map[string]any{"not": in}, diag.ConfigError); not == nil || not.Match(doc) == got {
			t.Fatalf("not of %v", in)
		}
		if d, err := Parse(c.String()); err == nil && d.Match(doc) != got {
			t.Fatalf("%v is %t for %v, and its text %s is %t", in, got, doc, c, !got)
		}
		if c.kind == compare && got && c.op != "exists" {
			if _, ok := c.call.Path.Lookup(doc); !ok {
				t.Fatalf("%v is true for %v, where the path is missing", in, doc)
			}
		}
	}
	if compiled < 2000 {
		t.Errorf("only %d conditions compiled", compiled)
	}
}

// Order is total on numbers, whatever their Go type.
func TestNumbers(t *testing.T) {
	in := []any{json.Number("-1e30"), int64(-5), -0.5, 0, int64(1) << 53, json.Number("9007199254740993"), float64(1 << 60), int64(1)<<60 + 1, json.Number("18446744073709551616")}
	for i, a := range in {
		for j, b := range in {
			n, ok := numbers(a, b)
			want := 0
			if i != j {
				want = 1
				if i < j {
					want = -1
				}
			}
			if !ok || n != want {
				t.Errorf("compare %v with %v: %d, %t", a, b, n, ok)
			}
		}
	}
}

// FuzzText checks that parsing never panics and that a text written from a
// condition is read back to the same condition.
func FuzzText(f *testing.F) {
	for in := range matches() {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Parse(s)
		if err != nil {
			if e, ok := err.(*TextError); !ok || e.Column < 1 || e.Column > len(s)+1 {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		d, err := Parse(c.String())
		if err != nil && len(c.String()) <= MaxText {
			t.Fatalf("%q became %q: %v", s, c, err)
		}
		if err == nil && d.String() != c.String() {
			t.Fatalf("%q became %q, which is %v", s, c, d)
		}
		c.Match(map[string]any{"a": s, "b": []any{s, nil, 1}})
	})
}

// FuzzData checks that compilation of any JSON never panics.
func FuzzData(f *testing.F) {
	for _, s := range []string{`{"path":"a","op":"eq","value":1}`, `{"any":[{"not":"a"}]}`, `{}`, `"a in [1]"`, `{"all":[{},3]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, fs := jsonx.ParseMessage([]byte(s))
		if len(fs) > 0 {
			return
		}
		c, fs := Compile(tree.New(), "", "condition", v, diag.ConfigError)
		if (c == nil) != (len(fs) > 0) {
			t.Fatalf("%s: %v, %v", s, c, fs)
		}
		if c != nil {
			c.Match(v)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	doc := document(b)
	c, err := Parse(`classification.category in ['transient', 'rate_limited'] and pressure_ratio >= 0.8 and (error.message matches 'HTTP [45][0-9]+' or exists(missing.x)) and not tags contains 'z'`)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !c.Match(doc) {
			b.Fatal("false")
		}
	}
}

// A comparison with several names is true for each of them.
func TestNames(t *testing.T) {
	doc := map[string]any{"code": Names{"http_429", "rate_limit"}, "none": Names{}}
	for text, want := range map[string]bool{
		"code == 'http_429'": true, "code == 'rate_limit'": true, "code == 'x'": false, "code != 'x'": true, "code != 'rate_limit'": false,
		"code in ['x', 'rate_limit']": true, "code contains 'rate'": true, "code matches '^http'": true, "exists(code)": true,
		"none == 'x'": false, "none != 'x'": false, "code": false,
	} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Match(doc); got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
}

// A text is never compared with a number without a word, and the functions of package
// pathcall make a number of it.
func TestEval(t *testing.T) {
	doc := map[string]any{"state": map[string]any{"t": "12\n", "n": int64(12), "none": nil, "bad": "twelve", "j": `{"n": 3}`}}
	for text, want := range map[string]string{
		"state.t > 2":                      "the condition compares the text state.t with a number: write int(state.t) or float(state.t)",
		"state.t == 12":                    "compares the text state.t with a number",
		"state.n != '12'":                  "compares the number state.n with a text: write the number without quotes",
		"not state.t < 20":                 "compares the text",
		"state.n > 2 and state.t > 2":      "compares the text",
		"int(state.bad) > 2":               `int(state.bad): "twelve" is not a whole number`,
		"json(state.t).n > 2":              "false",
		"state.n > 2 or state.t > 2":       "true",
		"state.n > 20 and state.t > 2":     "false",
		"int(state.t) > 2":                 "true",
		"float(state.t) <= 2.5":            "false",
		"json(state.j).n == 3":             "true",
		"state.none > 2":                   "false",
		"state.gone > 2":                   "false",
		"int(state.gone) > 2":              "false",
		"state.t in [12, 13]":              "false",
		"state.t contains '2'":             "true",
		"state.n == true or state.n == 12": "true",
	} {
		c, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		yes, err := c.Eval(doc)
		got := strconv.FormatBool(yes)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if again, err := Parse(c.String()); err != nil || again.String() != c.String() {
			t.Errorf("%s: %s is read as %v, %v", text, c, again, err)
		}
	}
	for text, column := range map[string]string{"int(state.t > 2": "at column 1: int(state.t is not closed by )", "int(state.t).x > 2": "expected and, or, or the end"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), column) {
			t.Errorf("%s: %v, want %s", text, err, column)
		}
	}
}

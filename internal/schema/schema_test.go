package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

func parse(t testing.TB, text string) any {
	t.Helper()
	v, fs := jsonx.ParseValue([]byte(text))
	if len(fs) > 0 {
		t.Fatalf("%s: %v", text, fs)
	}
	return v
}

func compile(t testing.TB, text string) *Schema {
	t.Helper()
	s, fs := Compile(parse(t, text))
	if s == nil {
		t.Fatalf("%s: %v", text, fs)
	}
	return s
}

func brief(vs []Violation) string {
	var out []string
	for _, v := range vs {
		out = append(out, fmt.Sprintf("%s: %s (%s)", v.Path, v.Message, v.Keyword))
	}
	return strings.Join(out, "; ")
}

func TestValidate(t *testing.T) {
	for _, c := range []struct{ name, schema, value, want string }{
		{"type", `{"type":"integer"}`, `"x"`, "$: must be integer, is string (type)"},
		{"integral float", `{"type":"integer"}`, `3.0`, ""},
		{"fraction", `{"type":"integer"}`, `3.5`, "$: must be integer, is number (type)"},
		{"integer for a string", `{"type":"string"}`, `3`, "$: must be string, is integer (type)"},
		{"union", `{"type":["integer","null"]}`, `[]`, "$: must be null or integer, is array (type)"},
		{"all at once", `{"type":"object","required":["x","y"],"additionalProperties":false,"properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"integer"}}}},"fo":{}}}`,
			`{"a":[{"b":"z"},{"b":1},{"b":null}],"foo":1,"zzz":2}`,
			`$: missing property "x" (required); $: missing property "y" (required); $.a[0].b: must be integer, is string (type); $.a[2].b: must be integer, is null (type); $.foo: unknown property "foo", did you mean "fo" (additionalProperties); $.zzz: unknown property "zzz" (additionalProperties)`},
		{"near name", `{"properties":{"dry_run":{},"deep":{"properties":{"timeout":{}},"additionalProperties":false}},"additionalProperties":false}`, `{"dryrun":1,"deep":{"timeuot":1}}`,
			`$.deep.timeuot: unknown property "timeuot", did you mean "timeout" (additionalProperties); $.dryrun: unknown property "dryrun", did you mean "dry_run" (additionalProperties)`},
		{"additional allowed by default", `{"properties":{"a":{}}}`, `{"b":1}`, ""},
		{"enum", `{"enum":["user","project",1]}`, `"projetc"`, `$: must be one of "user", "project", 1, is "projetc", did you mean "project" (enum)`},
		{"const", `{"const":{"a":1}}`, `2`, `$: must be {"a":1}, is 2 (const)`},
		{"lengths", `{"type":"array","items":{"type":"string","minLength":2,"maxLength":3},"minItems":3,"uniqueItems":true}`, `["é","abcd"]`,
			"$: must have at least 3 items, has 2 (minItems); $[0]: must have at least 2 characters, has 1 (minLength); $[1]: must have at most 3 characters, has 4 (maxLength)"},
		{"unique", `{"uniqueItems":true}`, `[1,{"a":1},{"a":1.0}]`, "$: items 1 and 2 are equal (uniqueItems)"},
		{"range", `{"items":{"minimum":1,"maximum":2.5,"multipleOf":0.5}}`, `[0,3,1.2]`,
			"$[0]: must be at least 1, is 0 (minimum); $[1]: must be at most 2.5, is 3 (maximum); $[2]: must be a multiple of 0.5, is 1.2 (multipleOf)"},
		{"exclusive", `{"exclusiveMinimum":0,"exclusiveMaximum":9223372036854775807}`, `9223372036854775807`, "$: must be less than 9223372036854775807, is 9223372036854775807 (exclusiveMaximum)"},
		{"pattern", `{"pattern":"^[a-z]+$"}`, `"A\u001b"`, `$: must match the pattern "^[a-z]+$", is "A\u001b" (pattern)`},
		{"formats", `{"properties":{"d":{"format":"date-time"},"e":{"format":"email"},"u":{"format":"uri"},"i":{"format":"ipv4"},"x":{"format":"uuid"},"r":{"format":"regex"},"o":{"format":"own"}}}`,
			`{"d":"today","e":"x","u":"://","i":"300.1.1.1","x":"1","r":"(","o":"any"}`,
			`$.d: must be a valid date-time, is "today" (format); $.e: must be a valid email, is "x" (format); $.i: must be a valid ipv4, is "300.1.1.1" (format); $.r: must be a valid regex, is "(" (format); $.u: must be a valid uri, is "://" (format); $.x: must be a valid uuid, is "1" (format)`},
		{"anyOf types", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, "$: must be null or string, is integer (type)"},
		{"anyOf", `{"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]}`, `{}`, `$: fits none of 2 alternatives: must be string, is object; or missing property "a" (anyOf)`},
		{"oneOf both", `{"oneOf":[{"type":"integer"},{"minimum":1}]}`, `3`, "$: fits both alternatives 1 and 2, must fit exactly one (oneOf)"},
		{"not", `{"not":{"type":"null"}}`, `null`, `$: must not fit the schema below "not" (not)`},
		{"if", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, `$: missing property "b" (required)`},
		{"dependent", `{"dependentRequired":{"a":["b","c"]}}`, `{"a":1}`, `$: missing property "b", required with "a" (dependentRequired); $: missing property "c", required with "a" (dependentRequired)`},
		{"names", `{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1}`, `$: the name "A" is not allowed: must match the pattern "^[a-z]+$", is "A" (propertyNames)`},
		{"unevaluated", `{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, "$.b: is not allowed here (false)"},
		{"contains", `{"contains":{"type":"string"}}`, `[1]`, `$: no item fits the schema below "contains" (contains)`},
		{"odd keys", `{"additionalProperties":{"type":"string"}}`, `{"a b":1,"0":1,"x.y":{},"\u202e":2}`,
			`$["0"]: must be string, is integer (type); $["\u{202e}"]: must be string, is integer (type); $["a b"]: must be string, is integer (type); $["x.y"]: must be string, is object (type)`},
		{"number keys are no indexes", `{"properties":{"0":{"items":{"type":"string"}}}}`, `{"0":[1]}`, `$["0"][0]: must be string, is integer (type)`},
		{"reference", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}}}`,
			`{"next":{"next":{"v":"x"}}}`, "$.next.next.v: must be integer, is string (type)"},
		{"anchor", `{"properties":{"a":{"$ref":"#n"}},"$defs":{"n":{"$anchor":"n","type":"null"}}}`, `{"a":1}`, "$.a: must be null, is integer (type)"},
		{"own address", `{"$id":"https://example.com/s","properties":{"a":{"$ref":"https://example.com/s#/$defs/n"}},"$defs":{"n":{"type":"null"}}}`, `{"a":1}`, "$.a: must be null, is integer (type)"},
		{"false", `false`, `1`, "$: is not allowed here (false)"},
		{"true", `true`, `1`, ""},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"type":"null"}},"items":[{"$ref":"#/definitions/n"}],"additionalItems":false}`, `[1,2]`,
			"$: has 1 items too many (additionalItems); $[0]: must be null, is integer (type)"},
		{"self reference", `{"$ref":"#"}`, `1`, "$: the schema refers to itself without end ($ref)"},
		{"mutual reference", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, `1`, "$: the schema refers to itself without end ($ref)"},
		{"dynamic self reference", `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, `1`, "$: the schema refers to itself without end ($ref)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := brief(compile(t, c.schema).Validate(parse(t, c.value))); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestValidateGoValues(t *testing.T) {
	s := compile(t, `{"type":"object"}`)
	self := map[string]any{}
	self["self"] = self
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"not finite": {map[string]any{"a": []any{math.NaN()}}, "$.a[0]: must be a finite number, is NaN (type)"},
		"type":       {map[string]any{"a": struct{}{}}, "$.a: has the type struct {}, which JSON does not have (type)"},
		"list":       {map[string]any{"a": []string{"x"}}, ""},
	} {
		if got := brief(s.Validate(c.value)); got != c.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if got := brief(s.Validate(self)); !strings.Contains(got, "nested more than 128 deep") {
		t.Errorf("a value that holds itself: %s", got)
	}
}

// TestValidateStops applies schemas that ask for 2^60 steps.
func TestValidateStops(t *testing.T) {
	var defs []string
	for i := range 60 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	wide := compile(t, `{"$ref":"#/$defs/d0","$defs":{`+strings.Join(defs, ",")+`,"d60":{"type":"integer"}}}`)
	deep := compile(t, `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`)
	var nested any = int64(1)
	for range 60 {
		nested = map[string]any{"a": nested}
	}
	for name, vs := range map[string][]Violation{"wide": wide.Validate(int64(1)), "deep": deep.Validate(nested)} {
		if got := brief(vs); got != "$: the schema takes too many steps to check ($schema)" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if vs := wide.Validate("x"); len(vs) == 0 {
		t.Error("a stopped schema passes")
	}
	if vs := deep.Validate(map[string]any{"a": int64(1)}); len(vs) > 0 {
		t.Errorf("the budget is not renewed: %s", brief(vs))
	}
}

func TestCompileFindings(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"patterns", `{"pattern":"(","properties":{"a":{"patternProperties":{"[":{}}},"b":{"pattern":"(?=x)"}}}`,
			"error schema $.pattern: the pattern \"(\" is not one of Go's (RE2): missing closing ): `(`; " +
				"error schema $.properties.a.patternProperties[\"[\"]: the pattern \"[\" is not one of Go's (RE2): missing closing ]: `[`; " +
				"error schema $.properties.b.pattern: the pattern \"(?=x)\" is not one of Go's (RE2): invalid or unsupported Perl syntax: `(?=`"},
		{"wrong types", `{"type":"strnig","properties":[],"required":"a","minLength":-1}`,
			`error schema $.minLength: must be at least 0, is -1; error schema $.properties: must be object, is array; error schema $.required: must be array, is string; error schema $.type: must be one of "array", "boolean", "integer", "null", "number", "object", "string", is "strnig", did you mean "string"`},
		{"old required", `{"properties":{"a":{"type":"string","required":true}}}`, "error schema $.properties.a.required: must be array, is boolean"},
		{"unknown format", `{"properties":{"d":{"type":"string","format":"date-tiem"}},"items":{"format":"own"},"$defs":{"o":{"format":"int64"}}}`,
			`warning schema $.items: the format "own" is not known, so it is not checked; warning schema $.properties.d: the format "date-tiem" is not known, so it is not checked, did you mean "date-time"`},
		{"unknown keyword", `{"requierd":["a"],"x-rye-shell":true,"properties":{"requierd":{"x-any":1}},"default":{"foo":1}}`, `warning schema $: unknown keyword "requierd", did you mean "required"`},
		{"missing target", `{"$ref":"#/$defs/nope"}`, `error schema $: refers to "#/$defs/nope", which does not exist`},
		{"missing anchor", `{"$ref":"#nope"}`, `error schema $: refers to "#nope", which does not exist`},
		{"not a schema", `[1]`, "error schema $: must be a mapping or a boolean, is array"},
		{"null", `null`, "error schema $: must be a mapping or a boolean, is null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, fs := Compile(parse(t, c.schema))
			var got []string
			for _, f := range fs {
				if f.Code != diag.ValidationFailed {
					t.Errorf("code %s", f.Code)
				}
				got = append(got, string(f.Severity)+" "+f.Message)
			}
			if g := strings.Join(got, "; "); g != c.want {
				t.Errorf("\n got %s\nwant %s", g, c.want)
			}
			if (s == nil) != diag.Failed(fs) {
				t.Errorf("schema %v", s)
			}
		})
	}
	big := map[string]any{}
	for i := range MaxMappings + 1 {
		big[fmt.Sprint("p", i)] = map[string]any{}
	}
	if s, fs := Compile(map[string]any{"properties": big}); s != nil || len(fs) != 1 || fs[0].Message != "schema $: has more than 5000 parts" {
		t.Errorf("huge schema: %v", fs)
	}
}

// TestNoURLIsLoaded offers schemas over every road; none may be taken, though
// each would answer.
func TestNoURLIsLoaded(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprint(w, `true`)
	}))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte(`true`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://")); err != nil {
		t.Fatal(err)
	}
	slash := "file://" + filepath.ToSlash(file)
	for _, url := range []string{srv.URL, "https://localhost/s.json", slash, "file:///etc/hostname", file, "other.json", "/s.json", "//localhost/s", "ftp://localhost/s"} {
		for _, key := range []string{"$ref", "$dynamicRef", "$schema"} {
			doc := map[string]any{key: url}
			s, fs := Compile(map[string]any{"properties": map[string]any{"a": doc}})
			if key == "$schema" {
				s, fs = Compile(doc)
			}
			if s != nil || !diag.Failed(fs) {
				t.Errorf("%s %s was loaded: %v", key, url, fs)
			}
		}
		if s, _ := Compile(map[string]any{"$id": url, "properties": map[string]any{"a": map[string]any{"$ref": "sub.json"}}}); s != nil {
			t.Errorf("a sibling of %s was loaded", url)
		}
	}
	if asked != 0 {
		t.Errorf("the server was asked %d times", asked)
	}
	if _, fs := Compile(map[string]any{"$ref": srv.URL}); len(fs) != 1 || !strings.Contains(fs[0].Message, "only references within the schema are allowed") {
		t.Errorf("message: %v", fs)
	}
}

func TestPropertiesAndDefaults(t *testing.T) {
	s := compile(t, `{"properties":{"b":{"default":{"x":[1]}},"a":{"default":null},"c":{}},"required":["c","a"]}`)
	if got := s.Properties(); !reflect.DeepEqual(got, []string{"a", "b", "c"}) {
		t.Errorf("Properties = %q", got)
	}
	if got := s.Required(); !reflect.DeepEqual(got, []string{"a", "c"}) {
		t.Errorf("Required = %q", got)
	}
	in := map[string]any{"a": 1}
	out := s.Defaults(in)
	if want := map[string]any{"a": 1, "b": map[string]any{"x": []any{int64(1)}}}; !reflect.DeepEqual(out, want) || len(in) != 1 {
		t.Errorf("Defaults = %#v", out)
	}
	out["b"].(map[string]any)["x"] = "changed"
	if again := s.Defaults(nil); !reflect.DeepEqual(again["b"], map[string]any{"x": []any{int64(1)}}) || again["a"] != nil {
		t.Errorf("a default was shared: %#v", again)
	}
	if s := compile(t, "true"); len(s.Properties()) != 0 || len(s.Defaults(nil)) != 0 {
		t.Error("true has properties")
	}
}

func TestCoerce(t *testing.T) {
	s := compile(t, `{"properties":{"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},"l":{"type":"array"},"o":{"type":"object"},
		"u":{"type":["string","integer","null"]},"any":{},"r":{"$ref":"#/$defs/port"},"e":{"enum":[1,"auto"]},"alt":{"anyOf":[{"type":"string"},{"type":"boolean"}]},"loop":{"$ref":"#/properties/loop"}},
		"$defs":{"port":{"type":"integer"}},"patternProperties":{"^x_":{"type":"integer"}}}`)
	for _, c := range []struct {
		name, text string
		want       any
	}{
		{"i", "42", int64(42)}, {"i", "-1", int64(-1)}, {"n", "1.5", 1.5}, {"n", "2", int64(2)}, {"b", "true", true}, {"b", "false", false}, {"s", "42", "42"}, {"s", "", ""},
		{"i", "9223372036854775808", json.Number("9223372036854775808")}, {"l", `["a",1]`, []any{"a", int64(1)}}, {"o", `{"a":true}`, map[string]any{"a": true}}, {"u", "7", int64(7)}, {"u", "null", nil}, {"u", "seven", "seven"},
		{"any", "42", "42"}, {"r", "80", int64(80)}, {"e", "1", int64(1)}, {"e", "auto", "auto"}, {"alt", "true", true}, {"alt", "x", "x"}, {"loop", "x", "x"}, {"x_1", "3", int64(3)},
	} {
		if got, err := s.Coerce(c.name, c.text); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("Coerce(%s=%s) = %#v, %v", c.name, c.text, got, err)
		}
	}
	for _, c := range []struct {
		name, text, want string
		code             diag.Code
	}{
		{"i", "x", `reading parameter "i": must be integer, is "x"`, diag.ValidationFailed},
		{"i", "1.5", `reading parameter "i": must be integer, is "1.5"`, diag.ValidationFailed},
		{"n", "NaN", `reading parameter "n": must be number, is "NaN"`, diag.ValidationFailed},
		{"b", "yes", `reading parameter "b": must be boolean, is "yes"`, diag.ValidationFailed},
		{"l", "a,b", `reading parameter "l": must be array, is "a,b"`, diag.ValidationFailed},
		{"o", `{"a":1,"a":2}`, `reading parameter "o": must be object, is "{\"a\":1,\"a\":2}"`, diag.ValidationFailed},
		{"anyy", "1", `reading parameter "anyy": no such parameter`, diag.UnknownParameter},
	} {
		got, err := s.Coerce(c.name, c.text)
		if err == nil || err.Error() != c.want || diag.CodeOf(err) != c.code || got != nil {
			t.Errorf("Coerce(%s=%s) = %v, %v", c.name, c.text, got, err)
		}
	}
	_, err := s.Coerce("anyy", "1")
	var e *diag.Error
	if !errors.As(err, &e) || e.Reason != "nearest" || e.Details["nearest"] != "any" {
		t.Errorf("nearest: %v", e)
	}
	if v, err := compile(t, `{"additionalProperties":{"type":"integer"}}`).Coerce("k", "1"); err != nil || v != int64(1) {
		t.Errorf("additional: %v %v", v, err)
	}
	if v, err := compile(t, `{}`).Coerce("k", "1"); err != nil || v != "1" {
		t.Errorf("open schema: %v %v", v, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"a":{"type":"integer"}}}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if len(s.Validate(map[string]any{"a": "x"})) != 1 || len(s.Validate(map[string]any{"a": int64(1)})) != 0 {
					t.Error("wrong answer")
				}
			}
		})
	}
	wg.Wait()
}

// FuzzSchema feeds any schema with any value: neither may panic, hang or reach
// outside.
func FuzzSchema(f *testing.F) {
	for _, s := range [][2]string{{`{"$ref":"#"}`, "1"}, {`{"anyOf":[{"type":"string"},{"$ref":"#/x"}]}`, "[]"}, {`{"properties":{"a":{"$dynamicRef":"#m"}},"$dynamicAnchor":"m"}`, `{"a":{"a":1}}`},
		{`{"$id":"http://a/b","$schema":"http://json-schema.org/draft-04/schema#","id":"#x","minimum":1,"exclusiveMinimum":true}`, "1"}, {`{"propertyNames":{"maxLength":1}}`, `{"ab":[{"cd":1}]}`},
		{`{"if":true,"then":{"format":"duration"},"dependentSchemas":{"a":false}}`, `"P1D"`}, {`{"prefixItems":[{"const":1}],"items":false,"unevaluatedItems":{"not":{}}}`, "[1,2]"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		doc, fs := jsonx.ParseValue([]byte(schema))
		v, more := jsonx.ParseValue([]byte(value))
		if len(fs)+len(more) > 0 {
			return
		}
		s, found := Compile(doc)
		if (s == nil) != diag.Failed(found) {
			t.Fatalf("schema %v with %v", s, found)
		}
		if s == nil {
			return
		}
		first := s.Validate(v)
		if again := s.Validate(v); !reflect.DeepEqual(first, again) {
			t.Fatalf("%s then %s", brief(first), brief(again))
		}
		for _, violation := range first {
			if violation.Path == "" || violation.Message == "" {
				t.Fatalf("%+v", violation)
			}
		}
		for _, name := range s.Properties() {
			_, _ = s.Coerce(name, value)
		}
	})
}

const toolSchema = `{"type":"object","required":["name"],"additionalProperties":false,"properties":{"name":{"type":"string"},"times":{"type":"integer","minimum":1,"default":1},"tags":{"type":"array","items":{"type":"string"}}}}`

func BenchmarkCompile(b *testing.B) {
	doc := parse(b, toolSchema)
	for b.Loop() {
		if s, _ := Compile(doc); s == nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	s, v := compile(b, toolSchema), parse(b, `{"name":"leo","times":3,"tags":["a","b"]}`)
	for b.Loop() {
		if len(s.Validate(v)) > 0 {
			b.Fatal("refused")
		}
	}
}

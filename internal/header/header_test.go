package header

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

const shell = `#!/usr/bin/env bash
# rye:signed:2026-02-14T00:27:54Z:aa:bb:cc
#
# Counts words. Note: see below
# __version__ = "1.2.0"
# tool_type: script
#executor_id:rye/core/runtimes/bash
# config_schema: {"type": "object",
#   "properties": {"n": {"type": "integer", "default": 3}},
#   "required": ["n"]}
# category: demo/text   
# anchor:
# {"enabled": true}

# version: 9.9.9
echo "# category: no"
`

func TestShellHeader(t *testing.T) {
	doc, fs := Parse([]byte(shell), "#", nil)
	want := map[string]any{
		"__version__": "1.2.0", "tool_type": "script", "executor_id": "rye/core/runtimes/bash", "category": "demo/text",
		"config_schema": map[string]any{"type": "object", "required": []any{"n"},
			"properties": map[string]any{"n": map[string]any{"type": "integer", "default": int64(3)}}},
		"anchor": map[string]any{"enabled": true},
	}
	if !reflect.DeepEqual(doc.Root, want) || len(fs) != 0 {
		t.Errorf("got %#v %v", doc.Root, fs)
	}
	for path, p := range map[string]diag.Position{
		"__version__": {Line: 5, Column: 17}, "executor_id": {Line: 7, Column: 14}, "config_schema": {Line: 8, Column: 18},
		"config_schema.properties.n.default": {Line: 9, Column: 56}, "config_schema.required.0": {Line: 10, Column: 18},
		"anchor": {Line: 13, Column: 3},
	} {
		if doc.Pos[path] != p {
			t.Errorf("position of %s: %v, want %v", path, doc.Pos[path], p)
		}
	}
}

const script = `#!/usr/bin/env node
// rye:signed:x
// __category__: demo
import fs from "node:fs";

/* const CONFIG = { no: 1 }
const __tool_type__ = "no";
*/
export const __version__ = "1.0.0";
export const __tool_type__: string = 'script' as const;
const __executor_id__ = null
export const CONFIG_SCHEMA: Record<string, unknown> = {
  type: 'object', // comment
  "properties": { n: { default: -1.5, }, 'a.b': [0x10, 1_000, .5, true,], /* , */ },
} satisfies Schema;
const other = compute();
  const ENV_CONFIG = { inner: 1 };
function f() { const CONFIG = 1; }
`

func TestScriptConstants(t *testing.T) {
	doc, fs := ParseJS([]byte(script), nil)
	want := map[string]any{
		"__category__": "demo", "__version__": "1.0.0", "__tool_type__": "script", "__executor_id__": nil,
		"CONFIG_SCHEMA": map[string]any{"type": "object", "properties": map[string]any{
			"n": map[string]any{"default": -1.5}, "a.b": []any{int64(16), int64(1000), .5, true}}},
	}
	if !reflect.DeepEqual(doc.Root, want) || len(fs) != 0 {
		t.Errorf("got %#v %v", doc.Root, fs)
	}
	for path, p := range map[string]diag.Position{
		"__category__": {Line: 3, Column: 18}, "__version__": {Line: 9, Column: 28},
		`CONFIG_SCHEMA.properties.a\.b.0`: {Line: 14, Column: 50},
	} {
		if doc.Pos[path] != p {
			t.Errorf("position of %s: %v, want %v", path, doc.Pos[path], p)
		}
	}
}

func TestHeaderLines(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      map[string]any
		finding   string
	}{
		{"empty", "", map[string]any{}, ""},
		{"crlf", "#!/bin/sh\r\n# version: 1.0.0\r\n# category: a\r\n", map[string]any{"version": "1.0.0", "category": "a"}, ""},
		{"bom", "\ufeff# version: 1.0.0", map[string]any{"version": "1.0.0"}, ""},
		{"no end of line", "# category: x", map[string]any{"category": "x"}, ""},
		{"code first", "echo\n# version: 1\n", map[string]any{}, ""},
		{"blank line before", "#!/bin/sh\n\n# version: 1.0.0\n", map[string]any{"version": "1.0.0"}, ""},
		{"blank line ends it", "# a\n\n# version: 1.0.0\n", map[string]any{}, ""},
		{"indented comment ends it", "# a\n # version: 1.0.0\n", map[string]any{}, ""},
		{"prose", "# Note: version is old\n# http://x\n# version is: 2\n# if version == 2\n# ünder: x\n# -x: 1", map[string]any{}, ""},
		{"scalars", "# config: 1\n# anchor: true\n# executor_id: null\n# description:\n# requires: -2.5e1", map[string]any{
			"config": int64(1), "anchor": true, "executor_id": nil, "description": "", "requires": -25.0}, ""},
		{"text that looks like a number", "# version: 01\n# config: 1.\n# anchor: 123456789012345678901\n# category: +1\n# requires: 1e999",
			map[string]any{"version": "01", "config": "1.", "anchor": "123456789012345678901", "category": "+1", "requires": "1e999"}, ""},
		{"dunder values", "# __executor_id__ = None\n# __x__ = True\n# __version__ = '1.0'\n# version = None\n# __y__ = 'a'b'",
			map[string]any{"__executor_id__": nil, "__x__": true, "__version__": "1.0", "version": "None", "__y__": "'a'b'"}, ""},
		{"quoted", `# description: "a \"b\" \u00e9 \ud83d\ude00"`, map[string]any{"description": `a "b" é 😀`}, ""},
		{"twice", "# version: 1.0.0\n#  version: 2.0.0", map[string]any{"version": "1.0.0"},
			`line 2:4: VALIDATION_FAILED: the key "version" is given twice, first on line 1`},
		{"bad json", "# config: {\"a\": 1,}\n# version: 1.0.0", map[string]any{"version": "1.0.0"},
			`line 1:19: PARSING_ERROR: reading the JSON value of "config": a key is missing`},
		{"yaml flow", "# sandbox: {net: hosts, hosts: [a.b, c], exec: [ git ]}\n# calls: [rye.execute.*]", map[string]any{
			"sandbox": map[string]any{"net": "hosts", "hosts": []any{"a.b", "c"}, "exec": []any{"git"}}, "calls": []any{"rye.execute.*"}}, ""},
		{"unbalanced yaml flow", "# sandbox: {net: none", map[string]any{}, `line 1:13: PARSING_ERROR: reading the JSON value of "sandbox": a key is missing`},
		{"yaml that other readers read differently", "# sandbox: {net: no}", map[string]any{}, `line 1:13: PARSING_ERROR: reading the JSON value of "sandbox": a key is missing`},
		{"bad json on a later line", "# config: [1,\n#   x]\n# version: 1.0.0", map[string]any{"version": "1.0.0"},
			`line 2:5: PARSING_ERROR: reading the JSON value of "config": "x" is not a literal`},
		{"unbalanced", "# config: {\"a\": [1\necho", map[string]any{},
			`line 1:19: PARSING_ERROR: reading the JSON value of "config": ']' is missing at the end`},
		{"trailing text", "# config: {} x", map[string]any{}, `line 1:14: PARSING_ERROR: reading the JSON value of "config": text follows the JSON value`},
		{"half quoted", `# description: "a" or b`, map[string]any{}, `line 1:20: PARSING_ERROR: reading the JSON value of "description": text follows the JSON value`},
		{"unclosed text", "# description: \"a\n# b\"", map[string]any{}, `line 1:16: PARSING_ERROR: reading the JSON value of "description": the text is not closed on its line`},
		{"duplicate json key", "# config: {\"a\": 1,\n#  \"a\": 2}", map[string]any{},
			`line 2:4: PARSING_ERROR: reading the JSON value of "config": the key "a" is given twice in one object`},
		{"lone surrogate", `# description: "\ud800"`, map[string]any{}, `line 1:17: PARSING_ERROR: reading the JSON value of "description": half of a surrogate pair is not a character`},
		{"bad escape", `# description: "\x41"`, map[string]any{}, `line 1:17: PARSING_ERROR: reading the JSON value of "description": JSON has no escape \x`},
		{"invalid utf-8", "# description: \"\xff\"", map[string]any{}, `line 1:16: PARSING_ERROR: reading the JSON value of "description": the text is not valid UTF-8`},
		{"control", "# description: \"a\x00\"", map[string]any{}, `line 1:18: PARSING_ERROR: reading the JSON value of "description": a control character must be escaped`},
		{"single quotes are no json", "# config: {'a': 1}", map[string]any{}, `line 1:12: PARSING_ERROR: reading the JSON value of "config": a key is missing`},
		{"big integer", "# config: [99999999999999999999]", map[string]any{}, `line 1:12: PARSING_ERROR: reading the JSON value of "config": "99999999999999999999" is not a number of 64 bits`},
		{"too deep", "# config: " + strings.Repeat("[", 65) + strings.Repeat("]", 65), map[string]any{},
			`line 1:75: PARSING_ERROR: reading the JSON value of "config": nested deeper than 64`},
		{"bidi stays", "# description: \u202ex", map[string]any{"description": "\u202ex"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, fs := Parse([]byte(c.src), "#", nil)
			check(t, doc.Root, fs, c.want, c.finding)
		})
	}
}

func TestConstantLines(t *testing.T) {
	const reading = `reading the constant "CONFIG": `
	for _, c := range []struct {
		name, src string
		want      map[string]any
		finding   string
	}{
		{"texts", "const CONFIG = [\"\\x41\\u{1F600}\\\n\\0\", 'it\\'s', `a\nb\\``]", map[string]any{"CONFIG": []any{"A😀\x00", "it's", "a\nb`"}}, ""},
		{"no semicolons", "const CONFIG = 1\nconst __x__ = 2\n", map[string]any{"CONFIG": int64(1), "__x__": int64(2)}, ""},
		{"numbers", "const CONFIG = [-0x10, +1, 5., 1e3, 0b11, 0o17]", map[string]any{"CONFIG": []any{int64(-16), int64(1), 5.0, 1000.0, int64(3), int64(15)}}, ""},
		{"keys", "const CONFIG = {$a: 1, b_2: 2, 3: 4}", map[string]any{"CONFIG": map[string]any{"$a": int64(1), "b_2": int64(2), "3": int64(4)}}, ""},
		{"arrow type", "const CONFIG: () => void = null;", map[string]any{"CONFIG": nil}, ""},
		{"let", "let CONFIG = 1\nexport let CONFIG = 2\nexportconst CONFIG = 3\nconstCONFIG = 4", map[string]any{}, ""},
		{"ordinary variables", "const config = load()\nexport const name = process.argv[2]\nconst __dirname = f()", map[string]any{}, ""},
		{"call", "const CONFIG = f(1)", map[string]any{}, "line 1:16: PARSING_ERROR: " + reading + `"f" is not a literal`},
		{"sum", "const CONFIG = \"a\"\n  + \"b\"", map[string]any{}, "line 1:19: PARSING_ERROR: " + reading + "an expression is not a literal"},
		{"member", "const CONFIG = {}.x", map[string]any{}, "line 1:18: PARSING_ERROR: " + reading + "an expression is not a literal"},
		{"two constants", "const CONFIG = 1, b = 2", map[string]any{}, "line 1:17: PARSING_ERROR: " + reading + "an expression is not a literal"},
		{"template", "const CONFIG = `a${b}`", map[string]any{}, "line 1:18: PARSING_ERROR: " + reading + "a template with ${…} is not a literal"},
		{"spread", "const CONFIG = {...a}", map[string]any{}, "line 1:17: PARSING_ERROR: " + reading + "a key is missing"},
		{"shorthand", "const CONFIG = {a}", map[string]any{}, "line 1:18: PARSING_ERROR: " + reading + `a colon is missing after the key "a"`},
		{"bigint", "const CONFIG = 1n", map[string]any{}, "line 1:16: PARSING_ERROR: " + reading + `"1n" is not a number of 64 bits`},
		{"octal", "const CONFIG = 017", map[string]any{}, "line 1:16: PARSING_ERROR: " + reading + `"017" is not a number of 64 bits`},
		{"undefined", "const CONFIG = undefined", map[string]any{}, "line 1:16: PARSING_ERROR: " + reading + `"undefined" is not a literal`},
		{"hole", "const CONFIG = [1,,2]", map[string]any{}, "line 1:19: PARSING_ERROR: " + reading + "a value is missing"},
		{"open comment", "const CONFIG = [ /* x", map[string]any{}, "line 1:18: PARSING_ERROR: " + reading + "a comment is never closed"},
		{"truncated", "const CONFIG = {a: 'b", map[string]any{}, "line 1:20: PARSING_ERROR: " + reading + "the text is never closed"},
		{"the next constant survives", "const CONFIG = [\nconst __x__ = 2", map[string]any{"__x__": int64(2)}, "line 2:1: PARSING_ERROR: " + reading + `"const" is not a literal`},
		{"twice", "const __x__ = 1\nconst __x__ = 2", map[string]any{"__x__": int64(1)}, `line 2:7: VALIDATION_FAILED: the key "__x__" is given twice, first on line 1`},
		{"header and constant", "// CONFIG: 1\nconst CONFIG = 2", map[string]any{"CONFIG": int64(1)}, `line 2:7: VALIDATION_FAILED: the key "CONFIG" is given twice, first on line 1`},
		{"duplicate key", "const CONFIG = {a: 1, 'a': 2}", map[string]any{}, "line 1:23: PARSING_ERROR: " + reading + `the key "a" is given twice in one object`},
		{"inside a comment", "/**\nconst CONFIG = 1\n*/\nconst __x__ = 1", map[string]any{"__x__": int64(1)}, ""},
		{"comment without end", "/* x\nconst CONFIG = 1", map[string]any{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, fs := ParseJS([]byte(c.src), nil)
			check(t, doc.Root, fs, c.want, c.finding)
		})
	}
}

func check(t *testing.T, got map[string]any, fs []diag.Finding, want map[string]any, finding string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
	var all []string
	for _, f := range fs {
		all = append(all, f.String())
	}
	if s := strings.Join(all, "\n"); s != finding {
		t.Errorf("got  %s\nwant %s", s, finding)
	}
}

func TestOnlyKnownKeysAreRead(t *testing.T) {
	src := []byte("# skill: x\n# version: {broken\n")
	doc, fs := Parse(src, "#", func(k string) bool { return k == "skill" })
	if !reflect.DeepEqual(doc.Root, map[string]any{"skill": "x"}) || fs != nil {
		t.Errorf("got %v %v", doc.Root, fs)
	}
}

func TestConstantKey(t *testing.T) {
	for name, want := range map[string]bool{"__version__": true, "__tool_description__": true, "__executor_id__": true, "CONFIG": true, "CONFIG_SCHEMA": true,
		"config": false, "version": false, "__all__": false, "__author__": false, "____": false, "": false, "OTHER": false, "VERSION": false} {
		if ConstantKey(name) != want {
			t.Errorf("%q: got %v", name, !want)
		}
	}
}

// Each of these made a careless reader start over at every line.
func TestWorkIsLinear(t *testing.T) {
	for _, unit := range []string{"// config:\n", "// config: [\n", "const CONFIG = [/**/1,/*\n", "const CONFIG = [/*\n", "const CONFIG = `\n", "/*\n", "const CONFIG = {a:\n", "[", "const CONFIG: =>"} {
		src := strings.Repeat(unit, 1<<19/len(unit))
		_, fs := ParseJS([]byte("const __a__ = 1\n"+src), nil)
		if len(fs) > maxFindings {
			t.Errorf("%q: %d findings", unit, len(fs))
		}
	}
}

// What encoding/json accepts and package tree can hold reads the same here,
// apart from duplicate keys; what it refuses is refused.
func FuzzJSONAgrees(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,null,true,"x\u00e9\n"]}`, `[]`, `{"a":1,}`, `["\ud800"]`, `[01]`, `[1e999]`, `{"a":{"a":""}}`, `"x`, "[\"\t\"]", `[9223372036854775808]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" || strings.IndexByte(`{["`, s[0]) < 0 || strings.ContainsAny(s, "\r\n") || isFlow(s) {
			return
		}
		doc, fs := Parse([]byte("# config: "+s), "#", nil)
		var want any
		err := json.Unmarshal([]byte(s), &want)
		if err != nil {
			if len(fs) == 0 {
				t.Errorf("%q is %#v, in encoding/json %v", s, doc.Root, err)
			}
			return
		}
		if len(fs) == 0 && !same(doc.Root["config"], want) {
			t.Errorf("%q is %#v, in encoding/json %#v", s, doc.Root["config"], want)
		}
	})
}

// same compares with encoding/json, which reads every number as a float.
func same(got, want any) bool {
	switch g := got.(type) {
	case int64:
		return float64(g) == want || math.Abs(float64(g)) > 1<<53
	case []any:
		w, ok := want.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range g {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		w, ok := want.(map[string]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for k := range g {
			if !same(g[k], w[k]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{shell, script, "// config: {\n// \"a\": 1}\nconst CONFIG = {a: [`x`, 0x1, /* */]} as const", "#!\n# version: 1\r\n# config: [\"\\u12"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, fs := Parse(src, "#", nil)
		inFile(t, src, doc.Pos, fs)
		doc, fs = ParseJS(src, func(string) bool { return true })
		inFile(t, src, doc.Pos, fs)
		for k := range doc.Root {
			if len(k) < maxPath && doc.At(path("", k)) == (diag.Position{}) {
				t.Errorf("%q has no position", k)
			}
		}
	})
}

func inFile(t *testing.T, src []byte, positions map[string]diag.Position, fs []diag.Finding) {
	lines := strings.Split(string(src), "\n")
	for _, f := range fs {
		positions[f.Message] = diag.Position{Line: f.Line, Column: f.Column}
	}
	for what, p := range positions {
		if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+1 {
			t.Errorf("position of %q: %v", what, p)
		}
	}
}

func TestFlowPositions(t *testing.T) {
	doc, _ := Parse([]byte("# sandbox: {net: hosts, fs: {read: [a]}}\n"), "#", nil)
	for path, column := range map[string]int{"sandbox": 12, "sandbox.net": 13, "sandbox.fs.read": 30, "sandbox.fs.read.0": 37} {
		if want := (diag.Position{Line: 1, Column: column}); doc.Pos[path] != want {
			t.Errorf("%s: %v, want %v", path, doc.Pos[path], want)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"next to metadata", "# version: 1.0.0\n# network: none\n# tool_type: x", "network@2:3"},
		{"last", "# version: 1.0.0\n#\n# network: none", "network@3:3"},
		{"first", "#!/bin/sh\n# rye:signed:x\n# network: none\n# version: 1.0.0", "network@3:3"},
		{"below prose", "# version: 1.0.0\n# Prints words:\n# usage: x", ""},
		{"block of its own", "# usage: x\n# Prints.\n# version: 1.0.0", ""},
		{"text", "# version: 1.0.0\n# Usage: x\n# http://x\n# a == b", ""},
		{"no metadata", "# note: x\n# more: y", ""},
		{"own", "# version: 1.0.0\n# x-owner: me", ""},
		{"inside a value", "# config: {\"a\":\n# note: 1}\n# sandbx: {net: none}", "note@2:3 sandbx@3:3"},
		{"a value of several lines", "# config: {\n# \"note\": 1}\n# sandbx: none", "sandbx@3:3"},
		{"code ends it", "# version: 1.0.0\necho\n# network: none", ""},
	} {
		var got []string
		for _, k := range Unknown([]byte(c.src), "#", nil) {
			got = append(got, fmt.Sprintf("%s@%d:%d", k.Name, k.Pos.Line, k.Pos.Column))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

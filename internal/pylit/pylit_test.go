package pylit

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

const tool = `#!/usr/bin/env python3
# rye:signed:…
"""Greets. __version__ = "9.9.9" """
from __future__ import annotations
import os

__version__ = "1.2.0"
__tool_type__: str = 'python'
__executor_id__ = (
    "rye/core/"
    "runtimes/python"
)
__category__ = r"demo"
__tool_description__ = f"built by {os.name}"

if True:
    __category__ = "inner"

CONFIG_SCHEMA = {
    "type": "object",  # a comment
    "properties": {"n.x": {"type": "integer", "default": -1}},
    "required": ["n.x",],
}
ENV_CONFIG = dict(a=1)
`

func TestToolMetadata(t *testing.T) {
	doc, res := Parse([]byte(tool))
	want := map[string]any{
		"__version__": "1.2.0", "__tool_type__": "python", "__executor_id__": "rye/core/runtimes/python", "__category__": "demo",
		"CONFIG_SCHEMA": map[string]any{"type": "object", "required": []any{"n.x"},
			"properties": map[string]any{"n.x": map[string]any{"type": "integer", "default": int64(-1)}}},
	}
	if !reflect.DeepEqual(doc.Root, want) {
		t.Errorf("got %#v", doc.Root)
	}
	for path, p := range map[string]diag.Position{
		"__version__": {Line: 7, Column: 15}, "__executor_id__": {Line: 10, Column: 5},
		"CONFIG_SCHEMA": {Line: 19, Column: 17}, `CONFIG_SCHEMA.properties.n\.x.default`: {Line: 21, Column: 58},
		"CONFIG_SCHEMA.required.0": {Line: 22, Column: 18},
	} {
		if doc.Pos[path] != p {
			t.Errorf("position of %s: %v, want %v", path, doc.Pos[path], p)
		}
	}
	wantNot := map[string]NonLiteral{
		"__tool_description__": {diag.Position{Line: 14, Column: 24}, whyFString},
		"ENV_CONFIG":           {diag.Position{Line: 24, Column: 14}, whyExpression},
	}
	if !reflect.DeepEqual(res.NonLiteral, wantNot) || res.Fallback || len(res.Findings) != 0 {
		t.Errorf("got %#v", res)
	}
}

func TestHostileInputs(t *testing.T) {
	const guess = ": values after this position are guesses"
	for _, c := range []struct {
		name, src string
		want      map[string]any
		non       string // name and reason of a non-literal
		finding   string // "" means none
	}{
		{"empty", "", map[string]any{}, "", ""},
		{"last wins", "x = 1\nx = 2\n", map[string]any{"x": int64(2)}, "", ""},
		{"an expression after a literal", "x = 1\nx = f()\n", map[string]any{}, "x: " + whyExpression, ""},
		{"a literal after an expression", "x = f()\nx = 1", map[string]any{"x": int64(1)}, "", ""},
		{"chain", "a = b = 'v'\n", map[string]any{"a": "v", "b": "v"}, "", ""},
		{"semicolons", "a = 1; b = 2\nif a: c = 3; d = 4\n", map[string]any{"a": int64(1), "b": int64(2)}, "", ""},
		{"crlf", "a = '''x\r\ny'''\r\nb = 1\r\n", map[string]any{"a": "x\ny", "b": int64(1)}, "", ""},
		{"bom", "\ufeffa = 1", map[string]any{"a": int64(1)}, "", ""},
		{"tuples and sets are lists", "a = 1, (2,), {3}\nb = ()\nc = {}", map[string]any{
			"a": []any{int64(1), []any{int64(2)}, []any{int64(3)}}, "b": []any{}, "c": map[string]any{}}, "", ""},
		{"bytes", "a = b'x'", map[string]any{}, "a: " + whyBytes, ""},
		{"named escape", `a = "\N{DASH}"`, map[string]any{}, "a: " + whyEscape, ""},
		{"surrogate", `a = "\ud800"`, map[string]any{}, "a: " + whyText, ""},
		{"invalid utf-8", "a = '\xff'", map[string]any{}, "a: " + whyText, ""},
		{"huge integer", "a = 9223372036854775808", map[string]any{}, "a: " + whyNumber, ""},
		{"infinity", "a = 1e999", map[string]any{}, "a: " + whyNumber, ""},
		{"integer key", "a = {1: 2}", map[string]any{}, "a: " + whyKey, ""},
		{"octal of python 2", "a = 0777", map[string]any{}, "a: " + whyExpression, ""},
		{"truncated escape", `a = "\u12"`, map[string]any{}, "a: " + whyExpression, ""},
		{"64 brackets", "a = " + strings.Repeat("[", 64) + strings.Repeat("]", 64), nest(64), "", ""},
		{"65 brackets", "a = " + strings.Repeat("[", 65) + strings.Repeat("]", 65), map[string]any{}, "a: " + whyDepth, ""},
		{"pep 701", "a = 1\nf = f'{d['a']:{'>'}10} {x!r}'\nb = 2\ng = f'{(lambda: {1: '}'})()}'", map[string]any{"a": int64(1), "b": int64(2)}, "f: " + whyFString, ""},
		{"quotes in a format", `f = f"{x:'>10} it's"` + "\na = 1", map[string]any{"a": int64(1)}, "f: " + whyFString, ""},
		{"duplicate key", "a = {'k': 1,\n 'k': 2}", map[string]any{"a": map[string]any{"k": int64(2)}}, "",
			`line 2:2: VALIDATION_FAILED: the key "k" is given twice in one dictionary, the last one is used`},
		{"unclosed string", "a = 1\nb = 'x\nc = 3\n", map[string]any{"a": int64(1), "c": int64(3)}, "",
			"line 2:5: PARSING_ERROR: a string is never closed" + guess},
		{"unclosed bracket", "a = 1\nb = [1,\nc = 3\n", map[string]any{"a": int64(1), "c": int64(3)}, "",
			"line 2:5: PARSING_ERROR: '[' is never closed" + guess},
		{"wrong bracket", "b = [1)\nc = 3\n", map[string]any{"c": int64(3)}, "",
			"line 1:7: PARSING_ERROR: ')' does not close '['" + guess},
		{"extra bracket", ")\nc = 3\n", map[string]any{"c": int64(3)}, "", "line 1:1: PARSING_ERROR: ')' closes nothing" + guess},
		{"unclosed docstring", "__version__ = '1'\n'''\n__version__ = '2'\nnew = '3'\n", map[string]any{"__version__": "1", "new": "3"}, "",
			"line 2:1: PARSING_ERROR: a string is never closed" + guess},
		{"nul", "a = 1\n\x00\nb = 2", map[string]any{"a": int64(1), "b": int64(2)}, "",
			`line 2:1: PARSING_ERROR: unexpected character "\x00"` + guess},
		{"question mark", "a = x ? 1", map[string]any{}, "", `line 1:7: PARSING_ERROR: unexpected character "?"` + guess},
		{"backslash", "a = 1\nb = \\ 2\n", map[string]any{"a": int64(1)}, "", "line 2:5: PARSING_ERROR: a backslash does not end its line" + guess},
		{"unclosed field", "a = f'{x'\nb = 1\n", map[string]any{"b": int64(1)}, "", "line 1:9: PARSING_ERROR: a string is never closed" + guess},
		{"coding", "#!/bin/x\n# -*- coding: utf-7 -*-\na = 1", map[string]any{"a": int64(1)}, "",
			`line 2:15: ENCODING: the file declares the encoding "utf-7", text must be UTF-8`},
		{"coding on line 3", "\n\n# coding: utf-7\n", map[string]any{}, "", ""},
		{"bidi is kept", "a = '\u202e'", map[string]any{"a": "\u202e"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, res := Parse([]byte(c.src))
			if !reflect.DeepEqual(doc.Root, c.want) {
				t.Errorf("got %#v, want %#v", doc.Root, c.want)
			}
			for n, why := range res.NonLiteral {
				if n != "g" && n+": "+why.Reason != c.non {
					t.Errorf("%s: %s is not a literal", n, why.Reason)
				}
			}
			if c.non != "" && len(res.NonLiteral) == 0 {
				t.Errorf("want %s", c.non)
			}
			got := ""
			for _, f := range res.Findings {
				got += f.String()
			}
			if got != c.finding {
				t.Errorf("got %q, want %q", got, c.finding)
			}
			if res.Fallback != strings.Contains(c.finding, guess) {
				t.Errorf("fallback is %v", res.Fallback)
			}
		})
	}
}

func nest(n int) map[string]any {
	v := []any{}
	for range n - 1 {
		v = []any{v}
	}
	return map[string]any{"a": v}
}

// Damage without end must not make the reader start over without end.
func TestManyDamagedStatements(t *testing.T) {
	var b strings.Builder
	for i := range 30000 {
		fmt.Fprintf(&b, "v%d = '%d'\nw = (\n", i, i)
	}
	doc, res := Parse([]byte(b.String()))
	if !res.Fallback || doc.Root["v29999"] != "29999" || len(res.Findings) != 1 {
		t.Errorf("fallback %v, last %v, %d findings", res.Fallback, doc.Root["v29999"], len(res.Findings))
	}
}

// Each of these made an early version slow: they finish at once or the test
// binary's own deadline stops them.
func TestWorkIsLinear(t *testing.T) {
	for _, unit := range []string{"(", "[", "{", "f'{", `f"{f'{`, "x=(", "x = '", "{'a':", "-", "x = y = ", "\\\n", "'''", "f'{x:{", "(((((1,),", "x:"} {
		src := strings.Repeat(unit, 1<<18/len(unit))
		if doc, _ := Parse([]byte("a = 1\n" + src)); doc.Root["a"] != int64(1) {
			t.Errorf("%q: got %v", unit, doc.Root["a"])
		}
	}
}

func TestLongKeysKeepTheirAncestorsPlace(t *testing.T) {
	key := strings.Repeat("k", 100_000)
	doc, _ := Parse([]byte("a = {'" + key + "': [" + strings.Repeat("0,", 100_000) + "]}"))
	if n := len(doc.Root["a"].(map[string]any)[key].([]any)); n != 100_000 {
		t.Fatalf("%d elements", n)
	}
	if len(doc.Pos) != 1 {
		t.Errorf("%d positions", len(doc.Pos))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{tool, "a = 1\nb = (", "x: int = {'a': [1, -2.5e3, None]}", "f'{d['a']:{1}}'\nx = 1", "x = '''", "x = 1;y=2\n\\\n",
		"x = rb'1' '2'", "\ufeff# coding: koi8\nx=\r\r\n1", "x = {'a': 1, 'a': (2,), **y}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, res := Parse(src)
		lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(src)), "\n")
		for path, p := range doc.Pos {
			if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1]) {
				t.Errorf("position of %q: %v", path, p)
			}
		}
		for n, v := range doc.Root {
			if _, both := res.NonLiteral[n]; both {
				t.Errorf("%q is and is not a literal", n)
			}
			if n != "" && doc.At(path("", n)) == (diag.Position{}) && len(n) <= maxPath {
				t.Errorf("%q has no position", n)
			}
			checkPlain(t, v)
		}
		again, _ := Parse(src)
		if !reflect.DeepEqual(doc, again) {
			t.Error("two readings differ")
		}
	})
}

func checkPlain(t *testing.T, v any) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, time.Time:
	case []any:
		for _, e := range v {
			checkPlain(t, e)
		}
	case map[string]any:
		for _, e := range v {
			checkPlain(t, e)
		}
	default:
		t.Errorf("%T is not a value of package tree", v)
	}
}

package extract

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/ryeos/rye/diag"
)

// TestMisread: what is a support file, and what a person would take for a tool.
func TestMisread(t *testing.T) {
	for _, c := range []struct{ name, ext, src, want string }{
		{"helper", ".py", "def tool_types():\n    pass\ntool_type = 1\ntool_types = []\n", ""},
		{"prose", ".sh", "# The tool type is in another file: see tool_type in the docs\n# see executor_id\n", ""},
		{"data", ".json", `{"name": "x", "type": "module"}`, ""},
		{"below code", ".sh", "echo\n# tool_type: script\n", ""},
		{"comparison", ".js", "// x\nif (a) {}\n", ""},
		{"misspelled", ".sh", "# version: 1.0.0\n# tool_typ: script\n", "2 tool_type"},
		{"hyphen", ".yaml", "tool-type: script\n", "1 tool_type"},
		{"executor misspelled", ".json", `{"executer_id": "x"}`, "1 executor_id"},
		{"constant misspelled", ".py", "import os\n__excutor_id__ = 'x'\n", "2 executor_id"},
		{"constant in javascript", ".js", "import x from 'y';\nexport const __tooltype__ = 'script';\n", "2 tool_type"},
		{"executor only", ".toml", "executor_id = 'x'\n", "1"},
		{"block comment", ".ts", "/* version: 1.0.0\n * tool_type: script */\n", "2"},
		{"below a directive", ".js", "'use strict';\n// tool_type: script\n", "2"},
		{"no-break space", ".sh", "#\u00a0tool_type: script\n", "1"},
		{"hash comment in python", ".py", "# tool_type: script\n", "1"},
	} {
		e := Boot().Kind("tool")
		ft := typeOf(t, e, "x"+c.ext)
		m, _ := e.Read(ft, []byte(c.src))
		got := ""
		for _, f := range e.Misread(ft, []byte(c.src), &m) {
			if f.Code != diag.ValidationFailed || f.Reason == "" {
				t.Errorf("%s: %v", c.name, f)
			}
			got = string(rune('0' + f.Line))
			if near, ok := f.Facts["nearest"].(string); ok {
				got += " " + near
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestKeyInComment compares it with the pattern whose result it has, in random lines.
func TestKeyInComment(t *testing.T) {
	pattern := regexp.MustCompile(`^(?:#|//|/\*+|\*|--|;)?[ \t]*([A-Za-z_][A-Za-z_-]*)[ \t]*[:=]([^=]|$)`)
	parts := []string{"#", "/", "//", "*", "/*", "-", "--", ";", " ", "\t", "tool_type", "a", "Z", "_", "0", ":", "=", "==", ":=", "x", "\u00a0", "é", "\xff", "`", "{", "@", "["}
	rng := rand.New(rand.NewPCG(7, 8))
	found := 0
	for range 200_000 {
		line := ""
		for range rng.IntN(8) {
			line += parts[rng.IntN(len(parts))]
		}
		want := ""
		if m := pattern.FindStringSubmatch(line); m != nil {
			want = m[1]
			found++
		}
		if got := keyInComment(line); got != want {
			t.Fatalf("%q has the key %q, want %q", line, got, want)
		}
	}
	if found < 1000 {
		t.Errorf("only %d lines have a key", found)
	}
}

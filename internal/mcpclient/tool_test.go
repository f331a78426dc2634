package mcpclient

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

func TestSegments(t *testing.T) {
	for name, want := range map[string]string{
		"read_file": "read_file", "github.search": "github_x2esearch", "a/b": "a_x2fb", "../x": "_x2e_x2e_x2fx", "-x": "_x2dx", "a-b": "a-b",
		"_x2e": "_x5fx2e", "ü": "_xc3_xbc", "A": "A", "": "", "__x2": "__x2", "a b": "a_x20b",
	} {
		if got := Segment(name); got != want || Original(got) != name {
			t.Errorf("Segment(%q) = %q, back %q", name, got, Original(got))
		}
	}
}

// No two names share a segment, and every segment is one of an id.
func FuzzSegment(f *testing.F) {
	for _, s := range []string{"read_file", "_x2e", "_x", "_x_x2e", "__x41", "-", "../../x", "\x00", "日本"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		seg := Segment(name)
		if Original(seg) != name {
			t.Errorf("%q became %q, which is %q", name, seg, Original(seg))
		}
		if strings.ContainsFunc(seg, func(r rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", r)
		}) || strings.HasPrefix(seg, "-") {
			t.Errorf("%q became %q", name, seg)
		}
	})
}

func TestHashSeesWhatAModelSees(t *testing.T) {
	base := func() Tool {
		return Tool{Name: "n", Description: "d", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}}
	}
	was, err := base().Hash()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := base().Hash(); again != was {
		t.Error("one definition, two hashes")
	}
	for name, change := range map[string]func(*Tool){
		"name":        func(t *Tool) { t.Name = "m" },
		"title":       func(t *Tool) { t.Title = "T" },
		"description": func(t *Tool) { t.Description = "d " },
		"schema":      func(t *Tool) { t.InputSchema["required"] = []any{"a"} },
		"output":      func(t *Tool) { t.OutputSchema = map[string]any{} },
		"annotations": func(t *Tool) { t.Annotations = map[string]any{"readOnlyHint": true} },
	} {
		c := base()
		change(&c)
		if h, err := c.Hash(); h == was || err != nil {
			t.Errorf("%s: the hash stays, %v", name, err)
		}
	}
}

// The order of keys and the way numbers are written are no difference.
func TestHashIsCanonical(t *testing.T) {
	var hashes []item.Digest
	for _, text := range []string{
		`{"name":"n","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{}}}}`,
		`{"inputSchema":{"properties":{"b":{},"a":{"minimum":1.0,"type":"integer"}},"type":"object"},"description":"d","name":"n","icons":[],"_meta":{"at":1}}`,
	} {
		var in mcp.Tool
		var raw map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal([]byte(text), &in), json.Unmarshal([]byte(text), &raw)); err != nil {
			t.Fatal(err)
		}
		h, err := toolOf(&in, raw).Hash()
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, h)
	}
	if hashes[0] != hashes[1] {
		t.Error("one definition, two hashes")
	}
}

func TestHostileDefinitions(t *testing.T) {
	for name, tool := range map[string]Tool{
		"description": {Name: "n", Description: "Reads.\U000E0049\U000E0067"},
		"bidi":        {Name: "n", Title: "a\u202Eb"},
		"schema":      {Name: "n", InputSchema: map[string]any{"properties": map[string]any{"a": map[string]any{"description": "x\u2066y"}}}},
		"key":         {Name: "n", InputSchema: map[string]any{"properties": map[string]any{"a\u202E": map[string]any{}}}},
		"name":        {Name: "n\x1b[2J"},
	} {
		if fs := tool.checkTexts(); !diag.Failed(fs) || strings.ContainsAny(fs[0].Message, "\x1b\u202e\u2066") {
			t.Errorf("%s: %v", name, fs)
		}
	}
	if fs := (Tool{Name: "n", Description: "Ünïcode 日本 🙂 is fine.\n\tYes."}).checkTexts(); len(fs) > 0 {
		t.Errorf("%v", fs)
	}
	fs := checkToolNames("s", []Tool{{Name: "Read"}, {Name: "read"}, {Name: "x"}, {Name: "x"}, {Name: ""}, {Name: strings.Repeat("é", 128)}})
	var got []string
	for _, f := range fs {
		got = append(got, f.Message)
	}
	for _, want := range []string{`tools "Read" and "read" differ only by case, which some file systems do not distinguish`, `tool "x" is offered twice`, "a tool has no name"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("%q", got)
	}
}

// A tool with an invalid schema is a finding; the other tools can be called.
func TestBrokenSchema(t *testing.T) {
	for _, schema := range []any{nil, "object", []any{}, true} {
		tool := toolOf(&mcp.Tool{Name: "n", InputSchema: schema}, nil)
		fs := Check(&Server{Name: "s", Transport: Stdio}, []Tool{{Name: "fine", InputSchema: map[string]any{}}, tool}, 1<<20)
		if len(fs) != 1 || fs[0].Severity != diag.SeverityWarning || fs[0].Message != `tool "n" cannot be called and is left out: its inputSchema is not an object` {
			t.Errorf("%v: %v", schema, fs)
		}
	}
	fs := Check(&Server{Name: "s", Transport: Stdio}, []Tool{{Name: "n", InputSchema: map[string]any{"type": "nothing"}}}, 1<<20)
	if len(fs) != 1 || fs[0].Severity != diag.SeverityWarning || !strings.Contains(fs[0].Message, "cannot be called") {
		t.Errorf("%v", fs)
	}
}

package extract

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

func typeOf(t testing.TB, e *Extractor, rel string) FileType {
	t.Helper()
	ft, ok := e.Type(rel)
	if !ok {
		t.Fatalf("no type for %s", rel)
	}
	return ft
}

// Every file type of the boot table gives the same tool.
func TestReadToolTypes(t *testing.T) {
	tool := Boot().Kind(item.Tool)
	for name, src := range map[string]string{
		"x.py":   "\"\"\"Doc.\"\"\"\n__version__ = \"1.2.3\"\n__tool_type__ = \"script\"\n__executor_id__ = \"rye/r\"\n__tool_description__ = \"Does x.\"\n",
		"x.sh":   "#!/bin/sh\n# version: 1.2.3\n# tool_type: script\n# executor_id: rye/r\n# description: Does x.\necho hi\n",
		"x.js":   "// version: 1.2.3\n// tool_type: script\n// executor_id: rye/r\n// description: Does x.\n",
		"x.yaml": "version: \"1.2.3\"\ntool_type: script\nexecutor_id: rye/r\ndescription: Does x.\n",
		"x.toml": "version = \"1.2.3\"\ntool_type = \"script\"\nexecutor_id = \"rye/r\"\ndescription = \"Does x.\"\n",
		"x.json": `{"version": "1.2.3", "tool_type": "script", "executor_id": "rye/r", "description": "Does x."}`,
	} {
		m, fs := tool.Read(typeOf(t, tool, name), []byte(src))
		if len(fs) > 0 || m.Version != "1.2.3" || m.ToolType != "script" || m.ExecutorID != "rye/r" || m.Description != "Does x." {
			t.Errorf("%s: %+v, %v", name, m, fs)
		}
	}
	m, fs := tool.Read(typeOf(t, tool, "x.yaml"), []byte("executor_id: null\ntool_type: primitive\n"))
	if !m.Primitive() || len(fs) > 0 {
		t.Errorf("a primitive: %+v, %v", m, fs)
	}
	m, _ = tool.Read(typeOf(t, tool, "x.py"), []byte("__executor_id__ = None\n"))
	if !m.Primitive() {
		t.Errorf("None is not a primitive: %+v", m)
	}
}

func TestReadPythonThatNeedsRunning(t *testing.T) {
	tool := Boot().Kind(item.Tool)
	m, fs := tool.Read(typeOf(t, tool, "x.py"), []byte("import os\n__version__ = os.environ['V']\nother = os.getpid()\n"))
	if len(fs) != 1 || fs[0].Code != diag.ParsingError || fs[0].Line != 2 || m.Version != "" {
		t.Errorf("%+v, %v", m, fs)
	}
	m, fs = tool.Read(typeOf(t, tool, "x.py"), []byte("__version__ = \"1.0.0\"\ndef f(:\n"))
	if !m.Fallback || m.Version != "1.0.0" {
		t.Errorf("a file that does not parse: %+v, %v", m, fs)
	}
}

func TestReadDirective(t *testing.T) {
	e := Boot().Kind(item.Directive)
	ft := typeOf(t, e, "x.md")
	src := "# Greet\n\n```xml\n<directive name=\"greet\" version=\"1.0.0\">\n  <metadata>\n    <description>Greets.</description>\n  </metadata>\n" +
		"  <inputs><input name=\"who\" type=\"string\" required=\"true\">Whom.</input></inputs>\n</directive>\n```\n\nSay hello to {input:who}.\n"
	m, fs := e.Read(ft, []byte(src))
	if diag.Failed(fs) || m.Name != "greet" || m.Title != "Greet" || m.Description != "Greets." || string(m.Body) != "Say hello to {input:who}." {
		t.Fatalf("%+v body %q, %v", m, m.Body, fs)
	}
	if len(m.Inputs) != 1 || m.Inputs[0].Name != "who" || !m.Inputs[0].Required {
		t.Errorf("inputs %+v", m.Inputs)
	}
	for name, c := range map[string]struct {
		src  string
		line int
		part string
	}{
		"no fence":     {"# T\n\ntext\n", 1, "no ```xml block"},
		"never closed": {"# T\n\n```xml\n<directive name=\"a\" version=\"1.0.0\">\n</directive>\n", 3, "never closed"},
	} {
		if _, fs := e.Read(ft, []byte(c.src)); !has(fs, c.line, c.part) {
			t.Errorf("%s: %v, want line %d with %q", name, fs, c.line, c.part)
		}
	}
}

func TestReadKnowledge(t *testing.T) {
	e := Boot().Kind(item.Knowledge)
	ft := typeOf(t, e, "x.md")
	for name, src := range map[string]string{
		"front matter": "---\ntitle: T\nversion: 1.0.0\n---\n\nBody.\n",
		"fence":        "```yaml\ntitle: T\nversion: 1.0.0\n```\n\nBody.\n",
	} {
		m, fs := e.Read(ft, []byte(src))
		if len(fs) > 0 || m.Title != "T" || m.Version != "1.0.0" || string(m.Body) != "Body." {
			t.Errorf("%s: %+v body %q, %v", name, m, m.Body, fs)
		}
		if m.Pos["version"].Line != 3 {
			t.Errorf("%s: version at %v, want line 3 of the file", name, m.Pos["version"])
		}
	}
	for name, c := range map[string]struct {
		src  string
		line int
	}{
		"none":          {"# Only text\n", 1},
		"never closed":  {"---\ntitle: T\n", 2},
		"fence open":    {"text\n\n```yaml\ntitle: T\n", 3},
		"bad yaml":      {"---\ntitle: T\n\tbad: [\n---\n", 3},
		"duplicate key": {"---\ntitle: T\ntitle: U\n---\n", 3},
	} {
		_, fs := e.Read(ft, []byte(c.src))
		if !diag.Failed(fs) || fs[0].Line != c.line {
			t.Errorf("%s: %v, want an error on line %d", name, fs, c.line)
		}
	}
}

func has(fs []diag.Finding, line int, part string) bool {
	for _, f := range fs {
		if f.Line == line && strings.Contains(f.Message, part) {
			return true
		}
	}
	return false
}

// Rules: the first present source supplies a field; a source of a rule is
// not a field of its own; everything else stays.
func TestRules(t *testing.T) {
	e := &Extractor{Kind: item.Tool, Types: []FileType{{Ext: ".yaml", Codec: CodecYAML}}, Rules: []Rule{
		{"version", []string{"version", "__version__"}}, {"description", []string{"about"}}, {"config", []string{"settings"}},
	}}
	m, fs := e.Read(e.Types[0], []byte("__version__: \"2.0.0\"\nversion: \"1.0.0\"\nabout: text\nextra: 1\nsettings:\n  a:\n    b: c\n"))
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	if got := fmt.Sprint(m.Fields); got != "map[config:map[a:map[b:c]] description:text extra:1 version:1.0.0]" {
		t.Errorf("fields %s", got)
	}
	if m.Pos["config.a.b"].Line != 7 || m.Pos["description"].Line != 3 {
		t.Errorf("positions %v", m.Pos)
	}
}

func TestUnknownCodec(t *testing.T) {
	e := &Extractor{Kind: "x", Types: []FileType{{Ext: ".x", Codec: "exec"}}}
	m, fs := e.Read(e.Types[0], []byte("a: 1"))
	if len(fs) != 1 || fs[0].Code != diag.SchemaNotFound || len(m.Fields) != 0 || HasCodec("exec") || len(Codecs()) != 8 {
		t.Errorf("%+v, %v, %v", m, fs, Codecs())
	}
}

// hostile are inputs that no codec may choke on.
func hostile() [][]byte {
	deep := func(open string) []byte { return bytes.Repeat([]byte(open), 5000) }
	return [][]byte{
		nil, []byte("\x00"), []byte("\ufeffa: 1"), []byte("a: 1\r\nb: 2\r\n"), {0xff, 0xfe, 'a', 0}, []byte("\u202ea: 1"),
		deep("["), deep("{"), deep("- "), deep("("), deep("<a>"), deep("a:\n "), []byte("a: &x [*x]"), []byte("{\"a\":1,\"a\":2}"),
		[]byte("a: 1\n---\nb: 2"), []byte("```xml\n<directive"), []byte("```xml\n<directive name=\"a\">\n</directive>\n```"), []byte("---\n---\n"),
		[]byte("```yaml\n```"), []byte("__version__ = (((((1,"), []byte("'''"), []byte("\"\"\"\\"), []byte("# version:"), []byte("/*"),
		[]byte("const CONFIG_SCHEMA = {"), []byte("a = 1\na = 2"), []byte("[a]\n[a]"), []byte("!!python/object:x y"), []byte("<!DOCTYPE a>"),
	}
}

// No input makes a codec panic, and what it returns can be validated.
func FuzzRead(f *testing.F) {
	for i := range Codecs() {
		for _, b := range hostile() {
			f.Add(uint8(i), b)
		}
	}
	boot := Boot().All()
	f.Fuzz(func(t *testing.T, n uint8, src []byte) {
		codec := Codecs()[int(n)%len(Codecs())]
		for _, e := range boot {
			m, fs := e.Read(FileType{Ext: ".x", Codec: codec}, src)
			if m.Fields == nil && !diag.Failed(fs) {
				t.Fatalf("%s: no fields and no reason", codec)
			}
			for _, finding := range fs {
				if finding.Message == "" || finding.Code == "" || finding.Line < 0 {
					t.Fatalf("%s: %+v", codec, finding)
				}
			}
			for _, v := range e.Validate(item.Ref{Kind: e.Kind, ID: "a/b"}, &m) {
				if v.Line < 1 || v.Message == "" {
					t.Fatalf("%s: %+v", codec, v)
				}
			}
		}
	})
}

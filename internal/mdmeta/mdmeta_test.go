package mdmeta

import (
	"bytes"
	"strings"
	"testing"
)

const sig = "<!-- rye:signed:2026-02-14T00:27:54Z:aa:bb:cc -->\n"

func TestFrontMatter(t *testing.T) {
	for _, c := range []struct {
		name, src, meta, body string
		line                  int
		ok                    bool
	}{
		{"plain", "---\na: 1\n---\nbody\n", "a: 1\n", "body\n", 2, true},
		{"signed", sig + "---\na: 1\n---\nbody", "a: 1\n", "body", 3, true},
		{"marked before signatures", "<!-- kiwi-mcp:validated:x -->\n---\na: 1\n---\nbody", "a: 1\n", "body", 3, true},
		{"crlf", "---\r\na: 1\r\n--- \r\nb", "a: 1\r\n", "b", 2, true},
		{"empty", "---\n---", "", "", 2, true},
		{"none", "# T\n---\n", "", "# T\n---\n", 0, false},
		{"empty file", "", "", "", 0, false},
		{"only a signature", sig, "", sig, 0, false},
		{"not closed", "---\na: 1\n", "", "---\na: 1\n", 2, false},
		{"indented rule", "---\na: |\n  ---\n---\n", "a: |\n  ---\n", "", 2, true},
		{"four dashes", "----\na\n---\n", "", "----\na\n---\n", 0, false},
		{"another comment", "<!-- x -->\n---\na\n---\n", "", "<!-- x -->\n---\na\n---\n", 0, false},
		{"two signatures", sig + sig + "---\na\n---\n", "", sig + sig + "---\na\n---\n", 0, false},
		{"bom", "\ufeff---\na\n---\n", "", "\ufeff---\na\n---\n", 0, false},
		{"blank line first", "\n---\na\n---\n", "", "\n---\na\n---\n", 0, false},
	} {
		meta, line, body, ok := FrontMatter([]byte(c.src))
		if string(meta) != c.meta || line != c.line || string(body) != c.body || ok != c.ok {
			t.Errorf("%s: got %q %d %q %v", c.name, meta, line, body, ok)
		}
	}
}

func TestFence(t *testing.T) {
	for _, c := range []struct {
		name, src, inner string
		line             int
		before, after    string
		closed, ok       bool
	}{
		{"plain", "a\n```yaml\nx: 1\n```\nb\n", "x: 1\n", 3, "a\n", "b\n", true, true},
		{"crlf", "```yaml\r\nx: 1\r\n```\r\nb", "x: 1\r\n", 2, "", "b", true, true},
		{"tildes", "~~~yaml\nx\n```\n~~~\n", "x\n```\n", 2, "", "", true, true},
		{"indented", "   ```yaml\nx\n   ```", "x\n", 2, "", "", true, true},
		{"too far indented", "    ```yaml\nx\n```\n", "", 0, "", "", false, false},
		{"more info", "```YAML title=\"x\"\nx\n```\n", "x\n", 2, "", "", true, true},
		{"other language", "```yamlx\nx\n```\n", "", 0, "", "", false, false},
		{"closing is longer", "```yaml\nx\n`````\n", "x\n", 2, "", "", true, true},
		{"closing is shorter", "````yaml\nx\n```\ny\n````\n", "x\n```\ny\n", 2, "", "", true, true},
		{"closing has words", "```yaml\nx\n``` no\n```\n", "x\n``` no\n", 2, "", "", true, true},
		{"inside a longer block", "````text\n```yaml\nno\n```\n````\n```yaml\nyes\n```\n", "yes\n", 7, "````text\n```yaml\nno\n```\n````\n", "", true, true},
		{"inside a block of tildes", "~~~\n```yaml\nno\n```\n~~~\n", "", 0, "", "", false, false},
		{"forgotten closing fence before", "```text\na\n```yaml\nx\n```\n", "x\n", 4, "```text\na\n", "", true, true},
		{"second of two", "```json\n{}\n```\n```yaml\nx\n```\n", "x\n", 5, "```json\n{}\n```\n", "", true, true},
		{"not closed", "```yaml\nx\n", "x\n", 2, "", "", false, true},
		{"ends at the fence", "```yaml", "", 2, "", "", false, true},
		{"empty block", "```yaml\n```", "", 2, "", "", true, true},
		{"inline code", "```yaml x```\n", "", 0, "", "", false, false},
		{"empty file", "", "", 0, "", "", false, false},
	} {
		b, ok := Fence([]byte(c.src), "yaml")
		if string(b.Inner) != c.inner || b.Line != c.line || string(b.Before) != c.before || string(b.After) != c.after || b.Closed != c.closed || ok != c.ok {
			t.Errorf("%s: got %+v %v", c.name, b, ok)
		}
	}
}

func TestDirectiveFence(t *testing.T) {
	for _, c := range []struct{ name, src, inner, after string }{
		{"plain", "# T\n```xml\n<directive>\n</directive>\n```\nDo it.\n", "<directive>\n</directive>\n", "Do it.\n"},
		{"fences inside", "```xml\n<directive>\n```\ncode\n```\n</directive>\n```\nx", "<directive>\n```\ncode\n```\n</directive>\n", "x"},
		{"blank in the end tag", "```xml\n<directive>\n```\n</directive\n>\n```\nx", "<directive>\n```\n</directive\n>\n", "x"},
		{"longer name", "```xml\n<directive>\n</directives>\n```\nx", "<directive>\n</directives>\n", "x"},
		{"never ended", "```xml\n<directive>\n```\nx", "<directive>\n", "x"},
		{"longer fence", "````xml\n<directive>\n</directive>\n```\n````\nx", "<directive>\n</directive>\n```\n", "x"},
	} {
		b, ok := DirectiveFence([]byte(c.src))
		if !ok || !b.Closed || string(b.Inner) != c.inner || string(b.After) != c.after {
			t.Errorf("%s: got %q %q %v", c.name, b.Inner, b.After, ok)
		}
	}
}

func TestTitle(t *testing.T) {
	for _, c := range []struct {
		name, src, title string
		line             int
	}{
		{"plain", sig + "# A title\n\nFirst line\n", "A title", 2},
		{"front matter", "---\n# no: 1\n---\n# T #\r\ntext\r\n", "T", 4},
		{"fence", "```\n# no\nno\n```\n# yes\n", "yes", 5},
		{"comment", "<!--\n# no\n-->\n#\tyes\n", "yes", 4},
		{"no title", "#no\n## no\n#\n# ##\nText # x", "", 0},
		{"hash in the title", "# C#\n", "C#", 1},
		{"after a text", "a\n# b", "b", 2},
		{"empty", "", "", 0},
		{"open fence", "```\n# no\n", "", 0},
	} {
		if title, line := Title([]byte(c.src)); title != c.title || line != c.line {
			t.Errorf("%s: got %q %d", c.name, title, line)
		}
	}
}

func FuzzParts(f *testing.F) {
	for _, s := range []string{sig + "---\na\n---\n# T\ntext\n", "a\n````text\n```xml\n````\n~~~xml\n</directive>\n~~~\nx", "```xml\n```\n</directive\n>```\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, line, body, ok := FrontMatter(src); ok && line != 2 && line != 3 || !bytes.HasSuffix(src, body) {
			t.Errorf("front matter at line %d, body %q", line, body)
		}
		for _, read := range []func([]byte) (Block, bool){DirectiveFence, func(s []byte) (Block, bool) { return Fence(s, "xml") }} {
			b, ok := read(src)
			if !ok {
				continue
			}
			head, _, _ := bytes.Cut(src[len(b.Before):], []byte("\n"))
			if !strings.Contains(strings.ToLower(string(head)), "xml") || !bytes.HasSuffix(src, b.After) {
				t.Errorf("%q opens, %q follows", head, b.After)
			}
			if want := bytes.Count(src[:len(b.Before)], []byte("\n")) + 2; b.Line != want {
				t.Errorf("inner text at line %d, want %d", b.Line, want)
			}
			start := min(len(src), len(b.Before)+len(head)+1)
			if !bytes.HasPrefix(src[start:], b.Inner) || !b.Closed && start+len(b.Inner) != len(src) {
				t.Errorf("inner text %q", b.Inner)
			}
		}
		if title, line := Title(src); (title == "") != (line == 0) || strings.Contains(title, "\n") {
			t.Errorf("title %q at %d", title, line)
		}
	})
}

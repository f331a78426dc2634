package frontmatter

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestRead(t *testing.T) {
	cases := []struct {
		name, text, description string
		line                    int // of the field description
		loose                   bool
	}{
		{"yaml", "---\nname: a\ndescription: Reads files.\n---\nx\n", "Reads files.", 3, false},
		{"colon", "---\nname: a\ndescription: Use it: always\n---\n", "Use it: always", 3, true},
		{"at", "---\nname: a\ndescription: @all of it\n---\n", "@all of it", 3, true},
		{"braces", "---\nname: a\ndescription: {{ x }} is filled\n---\n", "{{ x }} is filled", 3, true},
		{"continued", "---\nname: a: b\ndescription: one\n  two\n---\n", "one\ntwo", 3, true},
		{"below a comment", "<!-- made -->\n---\nname: a\ndescription: b\n---\n", "b", 4, false},
		{"byte order mark", "\ufeff---\r\nname: a\r\ndescription: b\r\n---\r\n", "b", 3, false},
		{"none", "# Title\n\n---\n\nname: x\n", "", 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text, fs := Read([]byte(c.text))
			if len(fs) > 0 {
				t.Fatal(fs)
			}
			if got := text.String("description"); got != c.description {
				t.Errorf("description is %q, want %q", got, c.description)
			}
			if got := text.Doc.Pos["description"].Line; got != c.line {
				t.Errorf("description is on line %d, want %d", got, c.line)
			}
			if got := text.Loose != nil; got != c.loose {
				t.Errorf("loose is %t, want %t", got, c.loose)
			}
		})
	}
}

func TestReadRefused(t *testing.T) {
	cases := []struct {
		name, text string
		code       diag.Code
	}{
		{"not closed", "---\nname: a\n", diag.ValidationFailed},
		{"no field", "---\n: [\n---\n", diag.ParsingError},
		{"large", "---\nname: " + strings.Repeat("a", MaxSize) + "\n---\n", diag.TooLarge},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, fs := Read([]byte(c.text))
			if len(fs) == 0 || fs[0].Code != c.code {
				t.Errorf("findings are %v, want %s", fs, c.code)
			}
		})
	}
}

func TestExpands(t *testing.T) {
	bomb := "---\na: &a [x, x]\nb: &b [*a, *a]\nname: [*b, *b]\n---\n"
	if !Expands([]byte(bomb)) {
		t.Error("aliases of anchors are not found")
	}
	for _, text := range []string{
		"---\nname: a\nallowed-tools: *\n---\n",
		"---\nname: a\ndescription: use *this* & that\n---\n",
		"text with &a and *a\n",
	} {
		if Expands([]byte(text)) {
			t.Errorf("%q is taken for an expansion", text)
		}
	}
}

package yamlx

import (
	"bytes"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// sameTree fails unless simple refuses a text or returns the tree of the module.
func sameTree(t *testing.T, name string, b []byte) (read bool) {
	t.Helper()
	if len(precheck(b)) > 0 {
		return false
	}
	got := new(simpleParser).simple(b)
	if got == nil {
		return false
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	want, err := decode(dec)
	if err != nil {
		t.Fatalf("%s: simple reads what the module refuses: %v\n%s", name, err, b)
	}
	if next, err := decode(dec); err == nil {
		t.Fatalf("%s: a second document at line %d\n%s", name, next.Line, b)
	}
	compareTrees(t, name, b, got, ofModule(want.Content[0]))
	return true
}

func compareTrees(t *testing.T, name string, b []byte, got, want *node) {
	t.Helper()
	const styles = quoted | yaml.FlowStyle | yaml.TaggedStyle
	if got.Kind != want.Kind || got.Value != want.Value || got.Line != want.Line || got.Column != want.Column || got.Style&styles != want.Style&styles ||
		want.props != nil || len(got.Content) != len(want.Content) {
		t.Fatalf("%s: kind %d %q at %d:%d style %d with %d parts, want %d %q at %d:%d style %d with %d\n%s", name,
			got.Kind, got.Value, got.Line, got.Column, got.Style, len(got.Content), want.Kind, want.Value, want.Line, want.Column, want.Style, len(want.Content), b)
	}
	for i := range got.Content {
		compareTrees(t, name, b, got.Content[i], want.Content[i])
	}
}

// TestSimple compares both for every YAML file of the repository and for the edges of
// what simple reads. Most of the system bundle must be simple.
func TestSimple(t *testing.T) {
	system, read := 0, 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		same := sameTree(t, path, b)
		if strings.Contains(filepath.ToSlash(path), "stdlib/.ai/") {
			if system++; same {
				read++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read*10 < system*9 {
		t.Errorf("%d of %d files of the system bundle are simple", read, system)
	}
	for _, s := range simpleTexts() {
		sameTree(t, "text", []byte(s))
	}
}

func simpleTexts() []string {
	return []string{
		"a: b\n", "a:  b  # c\n", "a: b#c\n", "a: b # c\nd: 'e' #f\n", "a: [b, \"c\", 'd', {e: f}] # g\n", "a:\n  b: c\n  d:\n    - e\n    - f: g\n      h: i\n    - [j]\n",
		"a:\n- b\n", "a:\n", "a:\nb: c\n", "a: b\n  c\n", "a: >-\n  b\n  c\nd: e\n", "a: >-\n  b\n\nd: e\n", "a: >-\n  b\n\n  c\n", "a: |\n  b\n  c\n", "a: |\n  b\n\n\n",
		"a: |\n  b\n   c\n", "a: >-\n  b \n", "- a\n", "a: {}\nb: []\nc: { }\n", "a: {b: c, d}\n", "a: [b,c]\n", "a: [b , c ]\n", "a: [b, ]\n", "a: {b: }\n", "a: \"b\\n\"\n",
		"a: 'b''c'\n", "\"a\": b\n", "\"a\":b\n", "a: b: c\n", "a: b:\n", "a: b:c\n", "a: [b:c]\n", "a: [b: c]\n", "a: {b:c}\n", "a: ? b\n", "? a\n: b\n", "a: !b c\n", "a: &b c\n",
		"a: *b\n", "a: - b\n", "a: -1\n", "a: 1.5\n", "a: ~\n", "a: null\n", "...\na: b\n", "---\na: b\n", "a: b\n---\n", "a: b\n...\n", "a: ... b\n", "a: b c  d\n", " a: b\n",
		"a: b\n b: c\n", "a:\n    b: c\n  d: e\n", "# c\n\na: b\n\n# d\n", "a: é\n", "a: b # é\n", "a: 'é'\n", "a: [\n b]\n", "a: \"b\n c\"\n", "a: b\na: c\n", "a:\n  # c\n  b: c\n# d\n  e: f\n",
		"a: [a]b\n", "a: \"b\" c\n", "a: \"b\"#c\n", "a: [b]#c\n", "a: {\"b\": \"c\"}\n", "a: {$ref: \"#/x\"}\n", "a: <<\n", "<<: a\n", "a: =\n", "- a: b\n  c: d\n", "a:\n  - - b\n", "a:\n  -\n",
		"a:\n  -   b: c\n      d: e\n", "a:\n  - b\n  c: d\n", "a:\n  - b\n   - c\n", "a: @b\n", "a: `b\n", "a: %b\n", "a: b,c]\n", "a: [b #c]\n", "a: |\n  # b\n", "a: |\n  b\n # c\nd: e\n", "a: >-\n  b\n  # c\nd: e\n",
		"a: \nb: c\n", "a:   \n  b: c\n", "true: a\n", "1: a\n", ".a: b\n", "a: .b\n", "a: {b: c}d\n", "a: b?c\n", "a: [b?c]\n", "a: []\n  # x\nb: c\n", "a: |\n\n  b\n", "a: >-\n  b", "a: |\n  b", "a: b",
		"a: |-\n  b\n  c\nd: e\n", "a: |-\n  b\n\nd: e\n", "a: |-\n  b\n\n\n", "a: |-\nb: c\n", "a: |-\n  # b\n", "a: |-\n  b", "a: |-\n  b: {c}\n",
		`a: '\d'` + "\n", `a: ['\!', '\', "\\"]` + "\n", "a: 'b'''\n", "a: ''''\n", "a: '''b'\n", "a: '''\n", "a: ''b'\n", "a: 'b'' c\n", "a: ['', '''', 'x''y']\n", "'b''c': d\n", "a: {'b''c': 'd'}\n",
		`a: "b\"c"` + "\n", `a: "\\"` + "\n", `a: "\"` + "\n", `a: "b\` + "\n", `a: "b\tc"` + "\n", `a: "\x41"` + "\n", `a: "b\'c"` + "\n", `a: "b''c"` + "\n", `a: "b'c"` + "\n", `a: 'b"c'` + "\n",
		`a: "b""c"` + "\n", `a: "''"` + "\n", `"b\"c": d` + "\n", `a: ["\\", '\']` + "\n", `a: "\\\"" # b` + "\n",
		"a: http://x/y?z=1\n", "a: [x/y, z.w]\n", "a: {b: [c, {d: e}], f: \"g\"}\n", "a: \"\"\n", "a: ''\n", "a: {'b': 'c'}\n", "a: b\n\n \n  \nc: d\n", "a: >-\n  b\n \nc: d\n",
	}
}

// FuzzSimple: simple returns the tree of the module, or nil.
func FuzzSimple(f *testing.F) {
	for _, s := range simpleTexts() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { sameTree(t, "fuzz", b) })
}

// TestSimpleRandom compares both for texts of the parts of YAML in random order.
func TestSimpleRandom(t *testing.T) {
	parts := []string{"a", "bc", ":", ": ", " ", "\n", "\n", "\n  ", "\n    ", "- ", "-", "\n- ", "\n  - ", "[", "]", "{", "}", ",", ", ", "\"x\"", "'y'", "\"", "'", " #", "#", " |\n", " >-\n",
		"  ", "null", "1.5", "é", ".", "...", "---", "?", "? ", "!", "&a ", "*a", "<<", "=", "$", "/", "''", "\\\"", "\\\\", " |-\n", "k: ", "\nk: ", "\n  k: v", "\n    k: v", "v\n", "{k: v}", "[v, w]", "%", "@", "\\", "~"}
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	r := rand.New(rand.NewSource(1))
	read := 0
	for range n {
		var b strings.Builder
		b.WriteString("k: ")
		for range 1 + r.Intn(12) {
			b.WriteString(parts[r.Intn(len(parts))])
		}
		if sameTree(t, "random", []byte(b.String())) {
			read++
		}
	}
	if read < n/100 {
		t.Errorf("only %d of %d texts are simple", read, n)
	}
}

func BenchmarkSimple(b *testing.B) {
	text, err := os.ReadFile(filepath.Join("..", "..", "stdlib", ".ai", "config", "agent", "capability_risk.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("simple", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if new(simpleParser).simple(text) == nil {
				b.Fatal("it is not simple")
			}
		}
	})
	b.Run("module", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decode(yaml.NewDecoder(bytes.NewReader(text))); err != nil {
				b.Fatal(err)
			}
		}
	})
}

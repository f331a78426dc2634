package edit

import (
	"bytes"
	"fmt"
	"github.com/ryeos/rye/lock"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/yamlx"
)

func TestEdit(t *testing.T) {
	one := []Edit{SetRequire(idOf("github.com/b/b"), "v1.0.0")}
	for _, tc := range []struct {
		name, in, want string
		edits          []Edit
	}{
		{"from nothing", "", "rye: 1\nrequire:\n  github.com/b/b: v1.0.0\n", one},
		{"a new section behind the one before", "rye: 1\nname: github.com/x/y # me\n\n# sources\npolicy: {sources: [github.com/x]}\n",
			"rye: 1\nname: github.com/x/y # me\nrequire:\n  github.com/b/b: v1.0.0\n\n# sources\npolicy: {sources: [github.com/x]}\n", one},
		{"in order", "rye: 1\nrequire:\n  # first\n  github.com/a/a: v1.0.0 # A\n\n  # third\n  github.com/c/c: v1.0.0\n",
			"rye: 1\nrequire:\n  # first\n  github.com/a/a: v1.0.0 # A\n  github.com/b/b: v1.0.0\n\n  # third\n  github.com/c/c: v1.0.0\n", one},
		{"before all", "rye: 1\nrequire: # minimum\n    # third\n    github.com/c/c: v1.0.0\n",
			"rye: 1\nrequire: # minimum\n    github.com/b/b: v1.0.0\n    # third\n    github.com/c/c: v1.0.0\n", one},
		{"without order behind the last", "rye: 1\nrequire:\n  github.com/z/z: v1.0.0\n  github.com/a/a: v1.0.0 # last\n# end\n",
			"rye: 1\nrequire:\n  github.com/z/z: v1.0.0\n  github.com/a/a: v1.0.0 # last\n  github.com/b/b: v1.0.0\n# end\n", one},
		{"without a last line end", "rye: 1\nrequire:\n  github.com/a/a: v1.0.0", "rye: 1\nrequire:\n  github.com/a/a: v1.0.0\n  github.com/b/b: v1.0.0", one},
		{"CR LF", "rye: 1\r\nrequire:\r\n  github.com/a/a: v1.0.0\r\n", "rye: 1\r\nrequire:\r\n  github.com/a/a: v1.0.0\r\n  github.com/b/b: v1.0.0\r\n", one},
		{"CR LF, new section", "rye: 1\r\n", "rye: 1\r\nrequire:\r\n  github.com/b/b: v1.0.0\r\n", one},
		{"an empty section", "rye: 1\nrequire: # none\nuse:\n", "rye: 1\nrequire: # none\n  github.com/b/b: v1.0.0\nuse:\n", one},
		{"flow", "rye: 1\nrequire: {github.com/a/a: v1.0.0, github.com/c/c: v1.0.0} # f\n",
			"rye: 1\nrequire: {github.com/a/a: v1.0.0, github.com/b/b: v1.0.0, github.com/c/c: v1.0.0} # f\n", one},
		{"flow at the end", "rye: 1\nrequire: {github.com/a/a: v1.0.0 }\n", "rye: 1\nrequire: {github.com/a/a: v1.0.0, github.com/b/b: v1.0.0 }\n", one},
		{"flow with a last comma", "rye: 1\nrequire: {\n  github.com/a/a: v1.0.0, # A\n}\n", "rye: 1\nrequire: {\n  github.com/a/a: v1.0.0, github.com/b/b: v1.0.0 # A\n}\n", one},
		{"empty flow", "rye: 1\nrequire: {}\n", "rye: 1\nrequire: {github.com/b/b: v1.0.0}\n", one},
		{"all in one flow", "{rye: 1, name: github.com/x/y, vendor: true}", "{rye: 1, name: github.com/x/y, require: {github.com/b/b: v1.0.0}, vendor: true}", one},
		{"a document with marks", "---\nrye: 1\n...\n", "---\nrye: 1\nrequire:\n  github.com/b/b: v1.0.0\n...\n", one},
		{"replace keeps quotes", "rye: 1\nrequire:\n  'github.com/b/b':   \"v0.9.0\"   # why\n", "rye: 1\nrequire:\n  'github.com/b/b':   \"v1.0.0\"   # why\n", one},
		{"replace under another spelling", "rye: 1\nrequire:\n  https://github.com/b/b.git: v0.9.0\n", "rye: 1\nrequire:\n  https://github.com/b/b.git: v1.0.0\n", one},
		{"nothing to do", "rye: 1\nrequire:\n  github.com/b/b: v1.0.0\n", "rye: 1\nrequire:\n  github.com/b/b: v1.0.0\n", one},
		{"a commit is quoted where it must be", "rye: 1\n", "rye: 1\nrequire:\n  github.com/b/b: \"1234567\"\n", []Edit{SetRequire(idOf("github.com/b/b"), "1234567")}},
		{"remove", "rye: 1\nrequire:\n  # a\n  github.com/a/a: v1.0.0\n\n  # b\n  github.com/b/b: v1.0.0 # B\n  # c\n  github.com/c/c: v1.0.0\n",
			"rye: 1\nrequire:\n  # a\n  github.com/a/a: v1.0.0\n\n  # b\n  # c\n  github.com/c/c: v1.0.0\n", []Edit{SetRequire(idOf("github.com/b/b"), "")}},
		{"remove the only one", "rye: 1\nrequire: # r\n  github.com/b/b: v1.0.0\nuse:\n", "rye: 1\nrequire: # r\nuse:\n", []Edit{SetRequire(idOf("github.com/b/b"), "")}},
		{"remove the last line", "rye: 1\nrequire:\n  github.com/a/a: v1.0.0\n  github.com/b/b: v1.0.0", "rye: 1\nrequire:\n  github.com/a/a: v1.0.0", []Edit{SetRequire(idOf("github.com/b/b"), "")}},
		{"remove from a flow", "rye: 1\nrequire: {github.com/a/a: v1.0.0, github.com/b/b: v1.0.0, github.com/c/c: v1.0.0}\n",
			"rye: 1\nrequire: {github.com/a/a: v1.0.0, github.com/c/c: v1.0.0}\n", []Edit{SetRequire(idOf("github.com/b/b"), "")}},
		{"remove the last from a flow", "rye: 1\nrequire: {github.com/a/a: v1.0.0, github.com/b/b: v1.0.0}\n",
			"rye: 1\nrequire: {github.com/a/a: v1.0.0}\n", []Edit{SetRequire(idOf("github.com/b/b"), "")}},
		{"remove from a flow with comments", "rye: 1\nrequire: {github.com/a/a: v1.0.0, # A\n  github.com/b/b: v1.0.0 # B\n  }\n",
			"rye: 1\nrequire: {github.com/a/a: v1.0.0, # A\n   # B\n  }\n", []Edit{SetRequire(idOf("github.com/b/b"), "")}},
		{"remove what is not there", "rye: 1\n", "rye: 1\n", []Edit{SetRequire(idOf("github.com/b/b"), "")}},
		{"use", "rye: 1\n", "rye: 1\nuse:\n  github.com/b/b: [tool:a, \"tool:b/*\"]\n", []Edit{SetUse(idOf("github.com/b/b"), []string{"tool:a", "tool:b/*"})}},
		{"one more item, one less", "rye: 1\nuse:\n  github.com/b/b: [tool:a, tool:b] # U\n", "rye: 1\nuse:\n  github.com/b/b: [tool:b, tool:c] # U\n",
			[]Edit{SetUse(idOf("github.com/b/b"), []string{"tool:c", "tool:b"})}},
		{"versions in a block", "rye: 1\nexclude:\n  github.com/b/b:\n  # bad\n  - v1.0.0 # leaks\n  -   'v1.1.0'\n  github.com/c/c: [v1.0.0]\n",
			"rye: 1\nexclude:\n  github.com/b/b:\n  # bad\n  -   'v1.1.0'\n  -   v1.2.0\n  github.com/c/c: [v1.0.0]\n",
			[]Edit{{Section: "exclude", Key: "github.com/b/b", Values: []string{"v1.1.0", "v1.2.0"}}}},
		{"prefer", "rye: 1\nprefer: {\"tool:x\": github.com/a/a}\n", "rye: 1\nprefer: {\"tool:x\": github.com/b/b}\n", []Edit{{Section: "prefer", Key: "tool:x", Value: "github.com/b/b"}}},
		{"replace", "rye: 1\n", "rye: 1\nreplace:\n  github.com/b/b: \"../b\"\n", []Edit{{Section: "replace", Key: "github.com/b/b", Value: "../b"}}},
		{"several", "rye: 1\nrequire:\n  github.com/a/a: v1.0.0\n", "rye: 1\nrequire:\n  github.com/b/b: v1.0.0\nuse:\n  github.com/b/b: [tool:x]\n",
			[]Edit{SetRequire(idOf("github.com/a/a"), ""), one[0], SetUse(idOf("github.com/b/b"), []string{"tool:x"})}},
		{"a value over two lines", "rye: 1\nrequire:\n  github.com/b/b:\n    v0.9.0\n  github.com/c/c: >-\n    v1.0.0\n", "rye: 1\nrequire:\n  github.com/b/b:\n    v1.0.0\n  github.com/c/c: >-\n    v1.0.0\n", one},
		{"behind a block scalar", "rye: 1\nrequire:\n  github.com/a/a: |-\n    v1.0.0\n\n", "rye: 1\nrequire:\n  github.com/a/a: |-\n    v1.0.0\n  github.com/b/b: v1.0.0\n\n", one},
	} {
		got, err := ProjectFile([]byte(tc.in), tc.edits...)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v\n%q, want\n%q", tc.name, err, got, tc.want)
		}
	}
}

func TestBadEdits(t *testing.T) {
	for _, tc := range []struct {
		in, want string
		edit     Edit
	}{
		{"rye: 1\n", "reading bundle id", Edit{Section: "require", Key: "core", Value: "v1.0.0"}},
		{"rye: 1\n", "not vMAJOR", SetRequire(idOf("github.com/a/a"), "main")},
		{"rye: 1\n", "want kind:id", SetUse(idOf("github.com/a/a"), []string{"x"})},
		{"rye: 1\n", "no kind given", Edit{Section: "prefer", Key: "x", Value: "github.com/a/a"}},
		{"rye: 1\n", "reading bundle id", Edit{Section: "prefer", Key: "tool:x", Value: "core"}},
		{"rye: 1\n", "unknown section", Edit{Section: "policy", Key: "github.com/a/a", Value: "x"}},
		{"rye: 2\n", "format 2", SetRequire(idOf("github.com/a/a"), "v1.0.0")},
		{"rye: 1\nrequire:\n  ? github.com/a/a\n  : v1.0.0\n", "cannot be edited", SetRequire(idOf("github.com/a/a"), "")},
	} {
		got, err := ProjectFile([]byte(tc.in), tc.edit)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %q %v, want %q", tc.edit, got, err, tc.want)
		}
	}
}

func TestRemove(t *testing.T) {
	in := "rye: 1\nrequire: {github.com/a/a: v1.0.0}\nuse: {github.com/a/a: [tool:x]}\nprefer: {tool:x: github.com/a/a, tool:y: github.com/b/b}\nreplace: {github.com/a/a: ./a}\nexclude: {github.com/a/a: [v1.1.0]}\n"
	got, err := ProjectFile([]byte(in), Remove(manifest(t, in), idOf("github.com/a/a"))...)
	want := "rye: 1\nrequire: {}\nuse: {}\nprefer: {tool:y: github.com/b/b}\nreplace: {}\nexclude: {}\n"
	if err != nil || string(got) != want {
		t.Errorf("%v %q", err, got)
	}
}

// randomManifest writes a manifest as people may: any order, quotes, comments,
// blank lines, blocks and flows.
func randomManifest(r *rand.Rand) string {
	var b strings.Builder
	eol := []string{"\n", "\r\n"}[r.Intn(2)]
	note := func(indent string) {
		for range r.Intn(3) {
			b.WriteString([]string{"", indent + "# a note: {x}, [y] 'z", "# out"}[r.Intn(3)] + eol)
		}
	}
	quote := func(s string) string {
		if strings.ContainsAny(s, "*") {
			return fmt.Sprintf("%q", s)
		}
		return []string{s, "'" + s + "'", `"` + s + `"`}[r.Intn(3)]
	}
	b.WriteString("rye: 1" + eol)
	for _, section := range []string{"require", "use", "prefer", "exclude", "replace"}[:1+r.Intn(5)] {
		note("")
		indent := strings.Repeat(" ", 1+r.Intn(4))
		flow := r.Intn(3) == 0
		b.WriteString(section + ":")
		if flow {
			b.WriteString(" {")
		} else {
			b.WriteString(strings.Repeat(" # s", r.Intn(2)) + eol)
		}
		for i, n := range r.Perm(5)[:r.Intn(5)] {
			if flow && i > 0 {
				b.WriteString(", ")
			} else if !flow {
				note(indent)
				b.WriteString(indent)
			}
			key, value := quote(keyOf(section, n)), ""
			switch section {
			case "require":
				value = quote(fmt.Sprintf("v1.%d.0", r.Intn(3)))
			case "use":
				value = "[" + quote("tool:a") + ", " + quote("tool:b/*") + "]"
			case "exclude":
				value = "[" + quote("v1.0.0") + "]"
				if !flow && r.Intn(2) == 0 {
					value = eol + indent + "  - " + quote("v1.0.0") + " # x" + eol + indent + "  - " + quote("v1.1.0")
				}
			case "prefer":
				value = quote(bundleOf(r.Intn(5)))
			default:
				value = quote("../x")
			}
			b.WriteString(key + ": " + value)
			if !flow {
				b.WriteString(strings.Repeat("  # t", r.Intn(2)) + eol)
			}
		}
		if flow {
			b.WriteString("}" + eol)
		}
	}
	note("")
	return b.String()
}

func bundleOf(n int) string { return fmt.Sprintf("github.com/acme/b%d", n) }

func keyOf(section string, n int) string {
	if section == "prefer" {
		return fmt.Sprintf("tool:t%d", n)
	}
	return bundleOf(n)
}

func randomEdit(r *rand.Rand) Edit {
	section := []string{"require", "use", "prefer", "exclude", "replace"}[r.Intn(5)]
	e := Edit{Section: section, Key: keyOf(section, r.Intn(5))}
	if r.Intn(3) == 0 {
		return e
	}
	switch section {
	case "require":
		e.Value = fmt.Sprintf("v1.%d.0", r.Intn(4))
	case "use":
		e.Values = [][]string{{"tool:a"}, {"tool:c", "tool:a"}, {"directive:x/*", "tool:b/*", "tool:a"}}[r.Intn(3)]
	case "exclude":
		e.Values = [][]string{{"v1.0.0"}, {"v1.2.0"}, {"v1.3.0", "v1.1.0"}}[r.Intn(3)]
	case "prefer":
		e.Value = bundleOf(r.Intn(5))
	default:
		e.Value = []string{"./y", "github.com/fork/z@v1.0.0"}[r.Intn(2)]
	}
	return e
}

// TestEditProperty edits random manifests: the text has the values of the model, and
// all other bytes are unchanged and in the same order.
func TestEditProperty(t *testing.T) {
	seeds := int64(800)
	if testing.Short() {
		seeds = 80
	}
	for seed := range seeds {
		r := rand.New(rand.NewSource(seed))
		text := randomManifest(r)
		for range 1 + r.Intn(4) {
			e := randomEdit(r)
			model := manifest(t, text)
			if err := apply(model, e); err != nil {
				t.Fatal(err)
			}
			out, err := ProjectFile([]byte(text), e)
			if err != nil {
				t.Fatalf("seed %d: %+v: %v in\n%s", seed, e, err, text)
			}
			if got := manifest(t, string(out)); got.Hash() != model.Hash() {
				t.Fatalf("seed %d: %+v in\n%s\ngives\n%s", seed, e, text, out)
			}
			untouched(t, seed, e, text, string(out))
			again, err := ProjectFile(out, e)
			if err != nil || !bytes.Equal(again, out) {
				t.Fatalf("seed %d: %+v a second time changes\n%s\nto\n%s", seed, e, out, again)
			}
			text = string(out)
		}
	}
}

// untouched holds that the lines of before that do not name the entry are
// those of after, in their order.
func untouched(t *testing.T, seed int64, e Edit, before, after string) {
	t.Helper()
	a, b := foreign(e, before), foreign(e, after)
	if !slices.Equal(a, b) {
		t.Fatalf("seed %d: %+v changes other lines:\n%s\nbecomes\n%s", seed, e, before, after)
	}
}

// foreign returns the lines without those of the entry: in its section they
// name its key, or are elements of its list. Of a flow the other parts remain.
func foreign(e Edit, text string) []string {
	var out []string
	section, inside := "", false
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " ")
		if body == line && strings.Contains(line, ":") && !strings.HasPrefix(line, "#") {
			section, _, _ = strings.Cut(line, ":")
		}
		switch {
		case section != e.Section:
			out = append(out, line)
			inside = false
		case strings.HasPrefix(line, section+": {"):
			out = append(out, otherParts(e, text)...)
		case strings.HasPrefix(body, "- ") && inside:
		case strings.HasPrefix(body, "- "), body == line, strings.HasPrefix(body, "#"), strings.TrimSpace(body) == "":
			out = append(out, line)
		default:
			key, _, _ := strings.Cut(strings.ReplaceAll(strings.ReplaceAll(body, "'", ""), `"`, ""), ": ")
			inside = strings.HasPrefix(strings.TrimSuffix(strings.TrimSpace(key), ":"), e.Key)
			if !inside {
				out = append(out, line)
			}
		}
	}
	// a section that the edit began
	return slices.DeleteFunc(out, func(s string) bool { return strings.TrimSpace(s) == e.Section+":" })
}

// otherParts returns the other entries of a flow section as they are written.
func otherParts(e Edit, text string) []string {
	root, _ := yamlx.Outline([]byte(text))
	var out []string
	for _, x := range root.Find(e.Section).Value.Entries {
		if x.Key.Text != e.Key {
			out = append(out, text[x.Key.Start:x.Value.End])
		}
	}
	return out
}

// FuzzEdit tests any text: an edit fails, or the text has exactly the requested
// values.
func FuzzEdit(f *testing.F) {
	f.Add([]byte("rye: 1\nrequire: {github.com/a/a: v1.0.0, # A\n}\n"), 0)
	f.Add([]byte("{rye: 1, exclude: {github.com/acme/b1: [v1.0.0]}}"), 7)
	f.Add([]byte("rye: 1\nuse:\n  github.com/acme/b0:\n  - tool:a\n"), 3)
	f.Fuzz(func(t *testing.T, b []byte, seed int) {
		m, _ := lock.ParseProjectFile(b)
		if m == nil {
			return
		}
		e := randomEdit(rand.New(rand.NewSource(int64(seed))))
		if apply(m, e) != nil {
			return
		}
		out, err := ProjectFile(b, e)
		if err != nil {
			return
		}
		got, fs := lock.ParseProjectFile(out)
		if got == nil || got.Hash() != m.Hash() {
			t.Fatalf("%+v: %v\n%q becomes\n%q", e, fs, b, out)
		}
	})
}

func idOf(s string) lock.ID {
	id, err := lock.ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}

func manifest(t testing.TB, text string) *lock.ProjectFile {
	t.Helper()
	m, fs := lock.ParseProjectFile([]byte(text))
	if m == nil {
		t.Fatalf("%s: %v", text, fs)
	}
	return m
}

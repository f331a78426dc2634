package interop_test

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/interop"
)

// TestAssets: each file of a skill becomes an item, or is listed with the reason.
func TestAssets(t *testing.T) {
	files := map[string]string{
		"SKILL.md":           "---\nname: forms\ndescription: Fill in forms.\n---\nText.\n",
		"scripts/fill.py":    "print(1)\n",
		"scripts/fill.json":  `{"a": 1}`, // the id of fill.py
		"scripts/data.json":  "[1, 2]",
		"scripts/sub/c.toml": "c = 1\n",
		"scripts/sub/a.xsd":  "<x/>\n",
		"scripts/x y.json":   "{}",
		"scripts/tool.yaml":  "tool_type: script\n",
		"list.sh":            "echo\n",
		"data.json":          "{}", // bash gets no other file
		"assets/form.html":   "\ufeff<b>\n```\n</b>\n",
		"assets/big.txt":     strings.Repeat("x", 300<<10),
		"assets/logo.png":    "\x89PNG\x00",
		"assets/hidden.txt":  "pass\u200bword",
		"assets/.gitkeep":    "\n",
		"two.sh":             "echo\n",
		"templates/gen.js":   "1\n",
		"templates/a.html":   "<a>\n",
		"two.bash":           "echo\n",
		"LICENSE":            "Free.\n",
	}
	s := interop.Source{Path: "forms", Name: "forms", Dir: true}
	for _, name := range []string{"LICENSE", "SKILL.md", "assets/.gitkeep", "assets/big.txt", "assets/form.html", "assets/hidden.txt", "assets/logo.png",
		"data.json", "list.sh", "scripts/data.json", "scripts/fill.json", "scripts/fill.py", "scripts/sub/a.xsd", "scripts/sub/c.toml", "scripts/tool.yaml", "scripts/x y.json", "templates/a.html", "templates/gen.js", "two.bash", "two.sh"} {
		s.Files = append(s.Files, interop.File{Path: name, Bytes: []byte(files[name])})
	}
	if len(s.Files) != len(files) {
		t.Fatalf("%d of %d files", len(s.Files), len(files))
	}
	r, err := interop.Convert(interop.Skill, s, interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"SKILL.md": "knowledge:skills/forms", "scripts/fill.py": "tool:skills/forms/scripts/fill", "LICENSE": "knowledge:skills/forms/LICENSE",
		"scripts/data.json": "tool:skills/forms/scripts/data", "scripts/sub/c.toml": "tool:skills/forms/scripts/sub/c",
		"scripts/fill.json": "copied with a script", "scripts/x y.json": "copied with a script",
		"scripts/tool.yaml": "copied with a script", "scripts/sub/a.xsd": "copied with a script", "data.json": "knowledge:skills/forms/data-json",
		"assets/form.html": "knowledge:skills/forms/assets/form-html", "list.sh": "tool:skills/forms/list", "two.bash": "tool:skills/forms/two",
		"templates/gen.js": "tool:skills/forms/templates/gen", "templates/a.html": "knowledge:skills/forms/templates/a-html",
		"two.sh": "another file of the skill becomes tool:skills/forms/two", "assets/big.txt": "more than 256 KiB", "assets/logo.png": "not text",
		"assets/hidden.txt": "hidden characters", "assets/.gitkeep": "it is empty",
	} {
		got := ""
		for _, n := range append(r.Mapped, r.Left...) {
			if n.From == name {
				got += n.To + n.Why
			}
		}
		if strings.HasPrefix(want, "tool:") || strings.HasPrefix(want, "knowledge:") {
			if got != want {
				t.Errorf("%s became %q, want %q", name, got, want)
			}
		} else if !strings.Contains(got, want) {
			t.Errorf("%s is left out as %q, want %q", name, got, want)
		}
	}
	if len(r.Mapped)+len(r.Left) != len(files) || len(r.Files) != len(r.Mapped) {
		t.Errorf("%d carried, %d left out, %d written", len(r.Mapped), len(r.Left), len(r.Files))
	}
	written := map[string]string{}
	for _, f := range r.Files {
		written[f.Path] = string(f.Bytes)
	}
	if written["tools/skills/forms/scripts/data.json"] != "[1, 2]" {
		t.Errorf("data is not as it was: %q", written)
	}
	if !strings.HasSuffix(written["knowledge/skills/forms/assets/form-html.md"], "\n\n````html\n<b>\n```\n</b>\n````\n") {
		t.Errorf("a text is not as it was: %q", written["knowledge/skills/forms/assets/form-html.md"])
	}
}

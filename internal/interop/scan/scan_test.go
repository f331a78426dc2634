package scan

import (
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ryeos/rye/diag"
)

// memory is a source whose files are in memory.
type memory struct {
	list []treehash.File
	text map[string]string
}

func (m *memory) Files() []treehash.File {
	return m.list
}

func (m *memory) Read(p string) ([]byte, error) {
	return []byte(m.text[p]), nil
}

// sourceOf returns a source of pairs of paths and texts. A path that begins with "link "
// is a link, one with "module " a submodule, one with "large " a file of 65 MiB.
func sourceOf(pairs ...string) *memory {
	m := &memory{text: map[string]string{}}
	fsys := fstest.MapFS{}
	modes := map[string]treehash.Mode{}
	sizes := map[string]int64{}
	for i := 0; i < len(pairs); i += 2 {
		p := pairs[i]
		for prefix, mode := range map[string]treehash.Mode{"link ": 0o120000, "module ": 0o160000, "run ": treehash.Executable} {
			if rest, ok := strings.CutPrefix(p, prefix); ok {
				p = rest
				modes[p] = mode
			}
		}
		if rest, ok := strings.CutPrefix(p, "large "); ok {
			p = rest
			sizes[p] = 65 << 20
		}
		fsys[p] = &fstest.MapFile{Data: []byte(pairs[i+1])}
		m.text[p] = pairs[i+1]
	}
	src, err := FS(fsys)
	if err != nil {
		panic(err)
	}
	m.list = src.Files()
	for i, file := range m.list {
		if mode, ok := modes[file.Path]; ok {
			m.list[i].Mode = mode
		}
		if size, ok := sizes[file.Path]; ok {
			m.list[i].Size = size
		}
	}
	return m
}

func skillText(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\nText.\n"
}

func TestComponents(t *testing.T) {
	src := sourceOf(
		"README.md", "# All\n",
		"skills/pdf/SKILL.md", skillText("pdf"),
		"skills/pdf/scripts/fill.py", "print(1)\n",
		"skills/pdf/inner/SKILL.md", skillText("inner"),
		"skills/tests/x/SKILL.md", skillText("x"),
		"node_modules/y/SKILL.md", skillText("y"),
		"a/b/c/d/e/f/SKILL.md", skillText("six"),
		"a/b/c/d/e/f2/g/SKILL.md", skillText("seven"),
		"skills/other/SKILL.md", "---\nname: different\ndescription: use it: now\n---\n",
		"agents/helper.md", "---\nname: helper\ndescription: Helps.\n---\n",
		"agents/notes.md", "# only documentation\n",
		"commands/git/commit.md", "Commit $ARGUMENTS\n",
		".cursor/rules/go.mdc", "---\nglobs: *.go\n---\nRules.\n",
		".github/instructions/web.instructions.md", "Rules.\n",
		"hooks/hooks.json", `{"description": "Checks.", "hooks": {}}`,
		"hooks/check.sh", "true\n",
		".mcp.json", `{"mcpServers": {"db": {"command": "npx", "args": ["-y", "db"]}}}`,
	)
	r, err := Components(src)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range r.Found {
		var files []string
		for _, file := range c.Files {
			files = append(files, file.Path)
		}
		got = append(got, c.Ref()+" in "+c.Dir+": "+strings.Join(files, " "))
	}
	want := []string{
		"skill:different in skills/other: SKILL.md",
		"skill:pdf in skills/pdf: SKILL.md inner/SKILL.md scripts/fill.py",
		"skill:six in a/b/c/d/e/f: SKILL.md",
		"agent:helper in agents: helper.md",
		"command:git/commit in commands/git: commit.md",
		"rule:go in .cursor/rules: go.mdc",
		"rule:web in .github/instructions: web.instructions.md",
		"hook:hooks in hooks: check.sh hooks.json",
		"mcp:db in : .mcp.json",
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("found:\n%s\nwant:\n%s", a, b)
	}
	if len(r.Left) > 0 {
		t.Errorf("left out: %v", r.Left)
	}
	c, _ := r.Find("skill:different")
	if len(c.Notes) != 2 || !strings.Contains(c.Notes[0], "SKILL.md:3:") {
		t.Errorf("notes are %q, want the line that is not YAML and the other name", c.Notes)
	}
}

func TestLeft(t *testing.T) {
	ok := skillText("a")
	cases := []struct {
		name  string
		files []string
		code  diag.Code
		path  string
		text  string
	}{
		{"link", []string{"a/SKILL.md", ok, "link a/x", "../../etc"}, diag.NotRegular, "a/x", "symbolic link"},
		{"main is a link", []string{"link a/SKILL.md", "/etc/passwd"}, diag.NotRegular, "a/SKILL.md", "link"},
		{"submodule", []string{"a/SKILL.md", ok, "module a/x", ""}, diag.NotRegular, "a/x", "submodule"},
		{"large file", []string{"a/SKILL.md", ok, "large a/x", ""}, diag.TooLarge, "a/x", "larger"},
		{"large main", []string{"large a/SKILL.md", ""}, diag.TooLarge, "a/SKILL.md", "bytes"},
		{"LFS", []string{"a/SKILL.md", ok, "a/x.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"}, diag.NotRegular, "a/x.bin", "LFS"},
		{"case", []string{"a/SKILL.md", ok, "a/Read.md", "", "a/read.md", ""}, diag.PathEscape, "a/read.md", "case"},
		{"reserved name", []string{"a/SKILL.md", ok, "a/con.txt", ""}, diag.PathEscape, "a/con.txt", ""},
		{"hidden", []string{"a/SKILL.md", ok + "in\u202evisible\n"}, diag.HiddenChars, "a/SKILL.md", "U+202E"},
		{"tag characters", []string{"a/SKILL.md", ok, "a/x.md", "text \U000e0041\U000e0042\n"}, diag.HiddenChars, "a/x.md", "U+E0041"},
		{"no description", []string{"a/SKILL.md", "---\nname: a\n---\n"}, diag.ValidationFailed, "a/SKILL.md", "no description"},
		{"no name", []string{"a/SKILL.md", "---\ndescription: a\n---\n"}, diag.ValidationFailed, "a/SKILL.md", "no name"},
		{"no front matter", []string{"a/SKILL.md", "# Title\n"}, diag.ValidationFailed, "a/SKILL.md", "neither name"},
		{"YAML bomb", []string{"a/SKILL.md", "---\nname: a\ndescription: b\nx: &x [y]\nz: [*x, *x]\n---\n"}, diag.LimitExceeded, "a/SKILL.md", "aliases"},
		{"large front matter", []string{"a/SKILL.md", "---\nname: a\ndescription: " + strings.Repeat("b", 1<<17) + "\n---\n"}, diag.TooLarge, "a/SKILL.md", "front matter"},
		{"two of one name", []string{"a/SKILL.md", ok, "b/SKILL.md", ok + "more"}, diag.AmbiguousItem, "a/SKILL.md", "b/SKILL.md"},
		{"two names but for case", []string{"a/SKILL.md", ok, "b/SKILL.md", skillText("A")}, diag.AmbiguousItem, "a/SKILL.md", "b/SKILL.md"},
		{"plugin.json leaves", []string{".claude-plugin/plugin.json", `{"name": "p", "skills": ["../../x"]}`}, diag.PathEscape, ".claude-plugin/plugin.json", "../../x"},
		{"absolute path", []string{"p/.claude-plugin/plugin.json", `{"name": "p", "commands": "/etc"}`}, diag.PathEscape, "p/.claude-plugin/plugin.json", "/etc"},
		{"marketplace leaves", []string{".claude-plugin/marketplace.json", `{"plugins": [{"name": "p", "source": "../p"}]}`}, diag.PathEscape, ".claude-plugin/marketplace.json", "../p"},
		{"two keys", []string{".mcp.json", `{"mcpServers": {"a": {}, "a": {}}}`}, diag.ParsingError, ".mcp.json", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := append(c.files, "good/SKILL.md", skillText("good"))
			r, err := Components(sourceOf(files...))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Left) == 0 {
				t.Fatal("nothing is left out")
			}
			f := r.Left[0].Finding
			if f.Code != c.code || f.Path != c.path || !strings.Contains(f.Message, c.text) {
				t.Errorf("left out: %v, want %s in %s with %q", r.Left[0], c.code, c.path, c.text)
			}
			if good, _ := r.Find("skill:good"); good == nil {
				t.Error("the other skill is left out, too")
			}
		})
	}
}

func TestBounds(t *testing.T) {
	skills := &memory{text: map[string]string{}}
	for i := range MaxComponents + 1 {
		p := fmt.Sprintf("s%05d/SKILL.md", i)
		skills.text[p] = skillText(fmt.Sprintf("s%d", i))
		skills.list = append(skills.list, treehash.File{Path: p, Mode: treehash.Regular})
	}
	paths := &memory{list: make([]treehash.File, MaxPaths+1)}
	for _, src := range []*memory{skills, paths} {
		_, err := Components(src)
		if diag.CodeOf(err) != diag.LimitExceeded {
			t.Errorf("%d paths: %v, want %s", len(src.list), err, diag.LimitExceeded)
		}
	}
	skills.list = skills.list[:MaxComponents]
	r, err := Components(skills)
	if err != nil || len(r.Found) != MaxComponents {
		t.Errorf("%d skills: %v", MaxComponents, err)
	}
	files := &memory{text: map[string]string{"a/SKILL.md": skillText("a")}}
	files.list = append(files.list, treehash.File{Path: "a/SKILL.md", Mode: treehash.Regular})
	for i := range treehash.MaxFiles {
		files.list = append(files.list, treehash.File{Path: fmt.Sprintf("a/x%05d", i), Mode: treehash.Regular})
	}
	r, err = Components(files)
	if err != nil || len(r.Left) != 1 || r.Left[0].Finding.Code != diag.TooLarge {
		t.Errorf("a skill of %d files: %v, %v", len(files.list), r, err)
	}
}

func TestPlugins(t *testing.T) {
	r, err := Components(sourceOf(
		".claude-plugin/marketplace.json", `{"name": "m", "plugins": [
			{"name": "docs", "source": "./", "skills": ["./skills/pdf"]},
			{"name": "far", "source": {"source": "github", "repo": "acme/far"}},
			{"name": "tools", "source": "./plugins/tools"}]}`,
		"skills/pdf/SKILL.md", skillText("pdf"),
		"plugins/tools/.claude-plugin/plugin.json", `{"name": "tools", "agents": "./people/"}`,
		"plugins/tools/agents/a.md", "---\nname: a\ndescription: b\n---\n",
		"plugins/tools/people/b.md", "---\nname: b\ndescription: b\n---\n",
		"plugins/tools/hooks/hooks.json", `{"hooks": {}}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range r.Found {
		got[c.Ref()] = strings.Join(c.Plugins, " ")
	}
	want := map[string]string{"skill:pdf": "docs", "agent:a": "tools", "agent:b": "tools", "hook:tools": "tools"}
	for ref, plugin := range want {
		if got[ref] != plugin {
			t.Errorf("%s belongs to %q, want %q; found %v, left out %v", ref, got[ref], plugin, got, r.Left)
		}
	}
	if len(got) != len(want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if p := r.Plugins[1]; p.Name != "far" || p.Elsewhere != "acme/far" {
		t.Errorf("plugin in another repository: %+v", p)
	}
}

func TestCopies(t *testing.T) {
	r, err := Components(sourceOf("skills/a/SKILL.md", skillText("a"), ".claude/skills/a/SKILL.md", skillText("a")))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Found) != 1 || r.Found[0].Dir != "skills/a" || len(r.Left) > 0 {
		t.Errorf("found %v, left out %v; want the shorter path", r.Found, r.Left)
	}
}

func FuzzPlugins(f *testing.F) {
	f.Add(`{"name": "p", "skills": ["./a", "../b"], "hooks": "./h.json", "mcpServers": {"x": {}}}`, `{"plugins": [{"name": "q", "source": "./p"}]}`)
	f.Add(`{"name": "p", "commands": ["c.md", "\\..\\x", "C:/x", ""]}`, `{"metadata": {"pluginRoot": "./p"}, "plugins": [1, {"source": {}}]}`)
	f.Fuzz(func(t *testing.T, plugin, marketplace string) {
		src := sourceOf(
			"p/.claude-plugin/plugin.json", plugin,
			".claude-plugin/marketplace.json", marketplace,
			"p/a/SKILL.md", skillText("a"),
			"p/c.md", "text",
			"h.json", "{}",
		)
		r, err := Components(src)
		if err != nil {
			return
		}
		for _, c := range r.Found {
			for _, file := range c.Files {
				if _, ok := src.text[c.Path(file.Path)]; !ok {
					t.Errorf("%s has the file %q, which the source does not have", c.Ref(), c.Path(file.Path))
				}
			}
		}
	})
}

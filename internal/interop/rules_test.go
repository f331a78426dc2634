package interop_test

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/applies"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/interop"
	"github.com/ryeos/rye/internal/mdmeta"
	"github.com/ryeos/rye/internal/yamlx"
)

// TestRules converts rules of each client. in are paths that the item must match, out are
// paths that it must not.
func TestRules(t *testing.T) {
	for _, tc := range []struct {
		at, meta string
		id       string
		mode     applies.Mode
		in, out  string
	}{
		{".cursor/rules/a.mdc", "description: D\nglobs: *.go\nalwaysApply: false", "project/cursor/a", applies.Paths, "x.go a/b/x.go", "x.gone"},
		{".cursor/rules/a.mdc", "globs: **/*.{ts,tsx},lib/", "project/cursor/a", applies.Paths, "a/x.tsx lib/y/z", "x.js"},
		{".cursor/rules/a.mdc", "globs: [\"a/**\", 'b/*.c']", "project/cursor/a", applies.Paths, "a/x/y b/x.c", "c/x.c"},
		{".cursor/rules/a.mdc", "globs: /top.go, ./src/**.go", "project/cursor/a", applies.Paths, "top.go src/x.go src/a/b.go", "lib/x.go"},
		{".cursor/rules/a.mdc", "globs: !x.go", "project/cursor/a", applies.Search, "", ""},
		{".cursor/rules/a.mdc", "globs: a[", "project/cursor/a", applies.Search, "", ""},
		{".cursor/rules/a.mdc", "globs:\nalwaysApply: true", "project/cursor/a", applies.Always, "", ""},
		{".cursor/rules/a.mdc", "description: x\nglobs:\nalwaysApply: false", "project/cursor/a", applies.Search, "", ""},
		{".cursor/rules/a.mdc", "", "project/cursor/a", applies.Search, "", ""},
		{"web/.cursor/rules/a.mdc", "alwaysApply: true", "project/cursor/web/a", applies.Paths, "web/x", "api/x"},
		{"web/.cursor/rules/ui/a.mdc", "globs: *.css", "project/cursor/web/ui/a", applies.Paths, "web/a/x.css", "x.css"},
		{".github/copilot-instructions.md", "", "project/copilot", applies.Always, "", ""},
		{".github/instructions/a.instructions.md", "applyTo: \"**\"", "project/copilot/a", applies.Always, "", ""},
		{".github/instructions/a.instructions.md", "applyTo: '**/*.py,docs/**'", "project/copilot/a", applies.Paths, "x.py docs/a", "x.go"},
		{".github/instructions/a.instructions.md", "description: x", "project/copilot/a", applies.Search, "", ""},
		{".claude/rules/a.md", "paths:\n  - src/**/*.ts", "project/claude-rules/a", applies.Paths, "src/x.ts src/a/x.ts", "x.ts"},
		{".claude/rules/a.md", "", "project/claude-rules/a", applies.Always, "", ""},
		{".claude/CLAUDE.md", "", "project/claude", applies.Always, "", ""},
		{"a/.claude/CLAUDE.md", "", "project/claude/a", applies.Paths, "a/x", "b/x"},
		{".windsurf/rules/a.md", "trigger: always_on", "project/windsurf/a", applies.Always, "", ""},
		{".windsurf/rules/a.md", "trigger: glob\nglobs: *.rs", "project/windsurf/a", applies.Paths, "a/x.rs", "x.go"},
		{".windsurf/rules/a.md", "trigger: model_decision", "project/windsurf/a", applies.Search, "", ""},
		{"AGENTS.md", "", "project/agents", applies.Always, "", ""},
		{".junie/guidelines.md", "", "project/junie", applies.Always, "", ""},
		{".junie/AGENTS.md", "", "project/agents/junie", applies.Always, "", ""},
		{".clinerules", "", "project/clinerules", applies.Always, "", ""},
		{".clinerules/01-go.md", "paths:\n  - \"**/*.go\"", "project/cline/01-go", applies.Paths, "a/x.go", "x.c"},
		{".clinerules/go.txt", "", "project/cline/go", applies.Always, "", ""},
		{"web/.clinerules", "", "project/clinerules/web", applies.Paths, "web/x", "x"},
		{".roo/rules/sub/a.md", "", "project/roo/sub/a", applies.Always, "", ""},
		{".roo/rules-code/a.md", "", "project/roo/mode-code/a", applies.Search, "", ""},
		{".roorules", "", "project/roorules", applies.Always, "", ""},
		{".clinerules-code", "", "project/roo/mode-code", applies.Search, "", ""},
		{".continue/rules/a.md", "name: A\nglobs: '*.py'", "project/continue/a", applies.Paths, "b/x.py", "x.go"},
		{".continue/rules/a.md", "name: A", "project/continue/a", applies.Always, "", ""},
		{".continue/rules/a.md", "name: A\ndescription: B\nalwaysApply: false", "project/continue/a", applies.Search, "", ""},
		{".agent/rules/a.md", "trigger: always_on", "project/agent-rules/a", applies.Always, "", ""},
		{".kiro/steering/a.md", "inclusion: fileMatch\nfileMatchPattern: \"src/**/*.ts\"", "project/kiro/a", applies.Paths, "src/a/x.ts", "x.ts"},
		{".kiro/steering/a.md", "inclusion: always", "project/kiro/a", applies.Always, "", ""},
		{".kiro/steering/a.md", "inclusion: manual", "project/kiro/a", applies.Search, "", ""},
		{"app/[id]/{x}/AGENTS.md", "", "project/agents/app/id/x", applies.Paths, "app/[id]/{x}/page.tsx", "app/i/x/page.tsx"},
		{".cursorrules", "", "project/cursorrules", applies.Always, "", ""},
		{"notes/tone.md", "", "project/tone", applies.Always, "", ""},
	} {
		s := one(tc.at, "---\n"+tc.meta+"\n---\n\nText.\n")
		s.At = tc.at
		name := tc.at + " " + strings.ReplaceAll(tc.meta, "\n", "; ")
		if got := interop.Known(tc.at); got != interop.Rules && !strings.HasPrefix(tc.at, "notes/") {
			t.Errorf("%s: the format is %q", tc.at, got)
		}
		r, err := interop.Convert(interop.Rules, s, interop.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := "knowledge:" + tc.id; r.Items[0] != want {
			t.Errorf("%s: %s, want %s", name, r.Items[0], want)
		}
		meta, _, _, _ := mdmeta.FrontMatter(r.Files[0].Bytes)
		doc, fs := yamlx.Parse(meta)
		if len(fs) > 0 || len(applies.Check(doc)) > 0 {
			t.Errorf("%s: %v %v\n%s", name, fs, applies.Check(doc), meta)
			continue
		}
		if got := applies.Of(doc.Root); got != tc.mode {
			t.Errorf("%s: apply %q, want %q", name, got, tc.mode)
		}
		list, _ := doc.Root["paths"].([]any)
		matches := func(file string) bool {
			for _, p := range list {
				if c, _ := glob.Compile(p.(string)); c.Match(file) {
					return true
				}
			}
			return false
		}
		for _, file := range strings.Fields(tc.in) {
			if !matches(file) {
				t.Errorf("%s: %v does not match %s", name, list, file)
			}
		}
		for _, file := range strings.Fields(tc.out) {
			if matches(file) {
				t.Errorf("%s: %v matches %s", name, list, file)
			}
		}
	}
}

// TestRulesAsWritten converts texts as people and programs write them. item has a text of the
// item, "" if there is none; left is a text of the report.
func TestRulesAsWritten(t *testing.T) {
	for _, tc := range []struct{ at, text, item, left string }{
		{"CLAUDE.md", "@AGENTS.md\n", "", "no text but the name of AGENTS.md"},
		{"GEMINI.md", "@AGENTS.md\n@docs/a.md", "", "the name of AGENTS.md and docs/a.md"},
		{"CLAUDE.md", "Use tabs.\n@docs/style.md\n", "@docs/style.md", "the text names the file"},
		{"AGENTS.md", "@docs/style.md\n", "@docs/style.md", ""},
		{"CLAUDE.md", "", "", "it has no text"},
		{".cursor/rules/a.mdc", "---\ndescription: A\n---\n \n", "", "it has no text"},
		{".cursor/rules/a.mdc", "---\ndescription: A\nglobs:\n---\n---\ndescription: B\nglobs: *.go\n---\nText.\n", "description: B\nglobs: *.go\n---\nText.", "a second front matter"},
		{".cursor/rules/a.mdc", "--- \ndescription: A\nalwaysApply: true\n---\t\nText.\n", "apply: always\n---\n\nText.\n", ""},
		{".continue/rules/a.md", "<!-- made by a program\n     from AGENTS.md -->\n\n---\ndescription: A\nalwaysApply: true\n---\nText.\n", "description: A\n", "below a comment"},
		{".continue/rules/a.md", "\n\n---\ndescription: A\n---\nText.\n", "description: A\n", ""},
		{"AGENTS.md", "<!-- note -->\n# Title\n\n---\n\nText.\n", "<!-- note -->\n# Title\n\n---\n", ""},
		{"AGENTS.md", "---\n\n# Title\n\nText: one.\n", "---\n\n# Title\n\nText: one.\n", ""},
		{"AGENTS.md", "---\n\nSome text.\n\n---\n\nText.\n", "---\n\nSome text.\n\n---\n\nText.\n", ""},
	} {
		s := one(tc.at, tc.text)
		s.At = tc.at
		r, err := interop.Convert(interop.Rules, s, interop.Options{})
		if err != nil {
			t.Errorf("%s %q: %v", tc.at, tc.text, err)
			continue
		}
		got, left := "", ""
		for _, f := range r.Files {
			got += string(f.Bytes)
		}
		for _, l := range r.Left {
			left += l.From + ": " + l.Why + "\n"
		}
		if !strings.Contains(got, tc.item) || (tc.item == "") != (got == "") {
			t.Errorf("%s %q became %q", tc.at, tc.text, got)
		}
		if !strings.Contains(left, tc.left) || (tc.left == "") != (left == "") {
			t.Errorf("%s %q: not carried: %q", tc.at, tc.text, left)
		}
	}
	s := one("a.mdc", "---\ndescription: A\n# never closed\n")
	if _, err := interop.Convert(interop.Rules, s, interop.Options{}); err == nil {
		t.Error("front matter without an end was read")
	}
}

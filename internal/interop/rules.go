package interop

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/applies"
	"github.com/ryeos/rye/internal/frontmatter"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/mdmeta"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
)

// ruleFolder is the category of the items that rules become.
const ruleFolder = "project"

// rules converts one file with rules of a project to one knowledge item, with the files that
// the rules are about.
func rules(s Source, o Options) (*Result, error) {
	f := &s.Files[0]
	m := markdown{fields: map[string]any{}, body: string(f.Bytes)}
	if !startsWithLine(f.Bytes) {
		var err error
		if m, _, err = readMarkdown(s, f); err != nil { // the globs of Cursor are not YAML: it writes them without quotes
			return nil, err
		}
	}
	r := &Result{}
	p := positionOf(s)
	if why := nothingOf(p, m.body); why != "" {
		r.left(s.Name, why)
		return r, nil
	}
	r.leftInText(p, m)
	id, err := s.id(
		Options{ID: cmp.Or(o.ID, p.id)},
		ruleFolder,
		p.name,
	)
	if err != nil {
		return nil, err
	}
	ref := item.Ref{Kind: item.Knowledge, ID: id}
	r.mapped(f.Path, ref.String())
	scope := m.scope(r, p)
	body := strings.Trim(m.body, "\r\n") + "\n"
	title := cmp.Or(heading(body), titleOf(ref.Name()))
	description := r.description(
		m.text("description"),
		"Rules of "+cmp.Or(s.At, s.Name)+".",
	)
	file, err := knowledge(ref, title, description, body, scope...)
	if err != nil {
		return nil, err
	}
	r.rest(
		"knowledge",
		m.fields,
		"description",
		"title",
		"name",
		"globs",
		"alwaysApply",
		"applyTo",
		"paths",
		"trigger",
		"inclusion",
		"fileMatchPattern",
	)
	r.add(ref, file)
	return r, nil
}

// startsWithLine reports whether a text begins with a line --- between its parts: neither
// "key:" nor another such line is directly below it.
func startsWithLine(src []byte) bool {
	for i, line := range strings.Split(string(bytes.TrimPrefix(src, []byte("\ufeff"))), "\n") {
		line = strings.TrimSpace(line)
		key, _, found := strings.Cut(line, ":")
		switch {
		case i == 0 && line != "---":
			return false
		case i == 1 && line == "",
			i > 0 && line != "" && !strings.HasPrefix(line, "# "):
			return line != "---" && !(found && frontmatter.PlainKey(key))
		}
	}
	return false
}

// importOf returns the file that a line of CLAUDE.md or GEMINI.md has the program read.
func importOf(line string) (file string, ok bool) {
	file, ok = strings.CutPrefix(strings.TrimSpace(line), "@")
	return file, ok && path.Ext(file) == ".md" && !strings.ContainsAny(file, " \t")
}

// nothingOf returns why a text is not an item: it has no rules of its own.
func nothingOf(p position, body string) string {
	var named []string
	for line := range strings.Lines(body) {
		file, ok := importOf(line)
		switch {
		case ok && p.imports:
			named = append(named, file)
		case strings.TrimSpace(line) != "":
			return ""
		}
	}
	if named == nil {
		return "it has no text"
	}
	return "it has no text but the name of " + strings.Join(named, " and ") + ": import that, too"
}

// leftInText lists the parts of a text that have a meaning for the other program only.
func (r *Result) leftInText(p position, m markdown) {
	if m.comment != "" {
		r.left("front matter", "it was read below a comment, where other programs may not see it")
	}
	meta, _, _, ok := mdmeta.FrontMatter([]byte(m.body))
	if ok && len(frontmatter.Lines(string(meta))) > 0 {
		r.left("a second front matter", "it is a part of the text; the first one was read")
	}
	if !p.imports {
		return
	}
	for line := range strings.Lines(m.body) {
		if file, ok := importOf(line); ok {
			r.left("@"+file, "the text names the file; import it, too")
		}
	}
}

// heading returns the title of a text, "" if it does not begin with one.
func heading(body string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(body, "\r\n "), "\n")
	title, _ := strings.CutPrefix(line, "# ")
	if title == line {
		return ""
	}
	return firstLine(title, "")
}

// position is where a file with rules is.
type position struct {
	dir  string // the directory whose files its rules are about, "." for all
	id   string // of its item, "" for one by its name
	name string
	ask  bool // without a scope its rules are read when they are asked for

	imports bool // a line "@file" has the program read that file
}

// rulePlaces are the folders in which clients have files with rules, and the category of the
// items that these become.
var rulePlaces = []struct{ folder, category string }{
	{".cursor/rules", "cursor"},
	{".github/instructions", "copilot"},
	{".claude/rules", "claude-rules"},
	{".windsurf/rules", "windsurf"},
	{".clinerules", "cline"},
	{".roo/rules", "roo"},
	{".continue/rules", "continue"},
	{".agent/rules", "agent-rules"},
	{".kiro/steering", "kiro"},
}

// ruleFiles are the names of files with rules, and the category of their items.
var ruleFiles = []struct{ name, category string }{
	{"AGENTS.md", "agents"},
	{"CLAUDE.md", "claude"},
	{"GEMINI.md", "gemini"},
	{".cursorrules", "cursorrules"},
	{".windsurfrules", "windsurfrules"},
	{".github/copilot-instructions.md", "copilot"},
	{".clinerules", "clinerules"},
	{".roorules", "roorules"},
	{".junie/guidelines.md", "junie"},
}

// modeOf finds rules for one mode of the program: .roo/rules-MODE/FILE, .roorules-MODE and
// .clinerules-MODE.
func modeOf(at string) (dir, name string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(at, "/"), "/")
	last := len(parts) - 1
	for _, prefix := range []string{".roorules-", ".clinerules-"} {
		if mode, found := strings.CutPrefix(parts[last], prefix); found {
			return path.Join(parts[:last]...), "mode-" + mode, mode != ""
		}
	}
	for i := 1; i < last; i++ {
		mode, found := strings.CutPrefix(parts[i], "rules-")
		if found && mode != "" && parts[i-1] == ".roo" {
			below := path.Join(parts[i+1:]...)
			return path.Join(parts[:i-1]...), path.Join("mode-"+mode, stem(below)), true
		}
	}
	return "", "", false
}

// positionOf finds the position by the path. The names of directories are parts of the id:
// files of the same name become different items.
func positionOf(s Source) position {
	at := "/" + cmp.Or(s.At, s.Name)
	for _, f := range ruleFiles {
		if dir, ok := strings.CutSuffix(at, "/"+f.name); ok {
			dir = strings.TrimPrefix(dir, "/")
			p := position{imports: f.name == "CLAUDE.md" || f.name == "GEMINI.md"}
			if path.Base(dir) == ".claude" { // its CLAUDE.md is about the directory above
				dir = path.Dir(dir)
			}
			p.id = ruleID(f.category, dir)
			if slices.Contains(clientFolders, path.Base(dir)) { // as is the AGENTS.md in .junie
				dir = path.Dir(dir)
			}
			p.dir = path.Clean(dir)
			return p
		}
	}
	if dir, name, ok := modeOf(at); ok {
		return position{dir: path.Clean(dir), id: ruleID("roo", path.Join(dir, name)), ask: true}
	}
	name := strings.TrimSuffix(stem(path.Base(at)), ".instructions")
	for _, p := range rulePlaces {
		dir, below, ok := strings.Cut(at, "/"+p.folder+"/")
		if ok {
			dir = strings.TrimPrefix(dir, "/")
			ask := p.category == "cursor" || p.category == "copilot"
			return position{
				dir:     path.Clean(dir),
				id:      ruleID(p.category, path.Join(dir, path.Dir(below), name)),
				ask:     ask,
				imports: p.category == "claude-rules",
			}
		}
	}
	return position{dir: ".", name: name, ask: path.Ext(at) == ".mdc"}
}

// ruleID returns an id of segments from a path.
func ruleID(category, dir string) string {
	out := ruleFolder + "/" + category
	for part := range strings.SplitSeq(dir, "/") {
		if part != "" && part != "." {
			out += "/" + segmentOf(part)
		}
	}
	return out
}

// scope returns the fields apply and paths. Clients have different names for them; what the
// rules of a directory are about is in this directory.
func (m markdown) scope(r *Result, p position) []yamlx.Pair {
	apply := func(mode applies.Mode) []yamlx.Pair {
		if mode == applies.Always && p.dir != "." {
			return r.byPaths([]string{literal(p.dir) + "/**"})
		}
		return []yamlx.Pair{{Key: "apply", Value: string(mode)}}
	}
	for _, key := range []string{"alwaysApply", "trigger", "inclusion"} {
		v := m.fields[key]
		if v == true || v == "true" || v == "always_on" || key == "inclusion" && v == "always" {
			if textList(m.fields["globs"]) != nil {
				r.left("globs", "the rules apply always")
			}
			r.mapped(key, "apply: always")
			return apply(applies.Always)
		}
	}
	for _, key := range []string{"globs", "applyTo", "paths", "fileMatchPattern"} {
		var patterns []string
		all := false
		for _, given := range textList(m.fields[key]) {
			pattern, why := scopePattern(given, p.dir)
			if why != "" {
				r.left(key+" "+given, why)
				continue
			}
			all = all || pattern == "**"
			if !slices.Contains(patterns, pattern) {
				patterns = append(patterns, pattern)
			}
		}
		switch {
		case all && key == "applyTo":
			r.mapped(key, "apply: always")
			return apply(applies.Always)
		case len(patterns) > 0:
			r.mapped(key, "paths "+strings.Join(patterns, ", "))
			return r.byPaths(patterns)
		case textList(m.fields[key]) != nil:
			return apply(applies.Search)
		}
	}
	trigger := cmp.Or(m.text("trigger"), m.text("inclusion"))
	_, stated := m.fields["alwaysApply"]
	if stated ||
		p.ask ||
		slices.Contains([]string{"model_decision", "manual", "auto"}, trigger) {
		return apply(applies.Search)
	}
	return apply(applies.Always)
}

func (r *Result) byPaths(patterns []string) []yamlx.Pair {
	r.left("apply: paths", "no prompt has such rules yet; threads find them by search, and a directive can name them in <context>")
	return []yamlx.Pair{{Key: "apply", Value: string(applies.Paths)}, {Key: "paths", Value: patterns}}
}

// textList returns a list of texts, or a text divided at the commas outside of braces.
func textList(v any) []string {
	var out []string
	add := func(s string) {
		depth := 0
		from := 0
		for i := range len(s) + 1 {
			switch {
			case i == len(s) || s[i] == ',' && depth <= 0:
				word := strings.Trim(strings.TrimSpace(s[from:i]), `"'`)
				if word != "" {
					out = append(out, word)
				}
				from = i + 1
			case s[i] == '{' || s[i] == '[':
				depth++
			case s[i] == '}' || s[i] == ']':
				depth--
			}
		}
	}
	switch v := v.(type) {
	case string:
		inner, ok := strings.CutPrefix(v, "[")
		if ok && strings.HasSuffix(inner, "]") && strings.ContainsAny(inner, `"',`) {
			v = strings.TrimSuffix(inner, "]") // a list in a line that is not YAML
		}
		add(v)
	case []any:
		for _, w := range v {
			add(textOf(w))
		}
	}
	return out
}

// scopePattern returns a pattern of another program as one of paths in the project, or why
// there is none. There a pattern without a slash matches in every directory.
func scopePattern(given, dir string) (pattern, why string) {
	if strings.HasPrefix(given, "!") {
		return "", "paths cannot leave out files"
	}
	pattern = strings.TrimPrefix(given, "./")
	anchored := strings.HasPrefix(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "/")
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	parts := strings.Split(pattern, "/")
	for i, part := range parts { // **.ts is any .ts file below
		if rest, ok := strings.CutPrefix(part, "**"); ok && rest != "" {
			parts[i] = "**/*" + rest
		}
	}
	if pattern = strings.Join(parts, "/"); !anchored && !strings.Contains(pattern, "/") && pattern != "**" {
		pattern = "**/" + pattern
	}
	if pattern == "**/*" {
		pattern = "**"
	}
	if dir != "." {
		pattern = literal(dir) + "/" + pattern
	}
	if _, fs := glob.Compile(pattern); len(fs) > 0 {
		return "", "the pattern " + fs[0].Message
	}
	return pattern, ""
}

// literal returns the pattern of one directory, whose name can have the characters of patterns.
func literal(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`, ",", `\,`).Replace(dir)
}

// knowledge renders a knowledge item.
func knowledge(ref item.Ref, title, description, body string, more ...yamlx.Pair) (File, error) {
	meta, err := yamlx.Marshal(append(yamlx.Map{
		{Key: "title", Value: title}, {Key: "version", Value: "0.1.0"}, {Key: "description", Value: description},
		{Key: "entry_type", Value: "reference"}, {Key: "tags", Value: []any{}},
	}, more...))
	if err != nil {
		return File{}, err
	}
	return File{Path: "knowledge/" + ref.ID + ".md", Bytes: []byte("---\n" + string(meta) + "---\n\n" + body)}, nil
}

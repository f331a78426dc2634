// Package interop converts the workflows of other programs to items: skills in the
// format that agents share, agents and commands of Claude Code, prompts of Codex,
// recipes of goose, and rules such as AGENTS.md and Cursor's.
//
// It returns texts and states what it could not carry. It writes nothing, signs
// nothing and grants nothing: permissions in its texts hold when a person has
// signed them.
package interop

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/item"
)

// Format is a format of another program.
type Format string

// The formats.
const (
	Skill   Format = "skill"   // a folder with SKILL.md
	Agent   Format = "agent"   // an agent of Claude Code
	Command Format = "command" // a command of Claude Code, a prompt of Codex, or a workflow of Cline
	Recipe  Format = "recipe"  // a recipe of goose
	Rules   Format = "rules"   // AGENTS.md, CLAUDE.md, or a rule of Cursor, Copilot, Cline and others
	Servers Format = "servers" // MCP servers of a client

	Permissions Format = "permissions" // those in the settings of Claude Code
)

// Formats returns the names of all formats.
func Formats() []string {
	return []string{
		string(Agent),
		string(Command),
		string(Permissions),
		string(Recipe),
		string(Rules),
		string(Servers),
		string(Skill),
	}
}

// NothingFound is the reason of an error about a file of settings that has nothing to import.
const NothingFound = "import_nothing"

// SkillFile is the file that makes a folder a skill.
const SkillFile = "SKILL.md"

// File is one file, with a slash-separated path.
type File struct {
	Path       string
	Bytes      []byte
	Executable bool
}

// Source is what is converted: one file, or the files of a folder.
type Source struct {
	Path  string // as the user named it, in errors
	Name  string // last element of its absolute path
	At    string // its path in its project or repository, "" if not known
	Dir   bool
	Found bool   // in a folder that the user named: a file of settings may have nothing to import
	Fault error  // why it could not be read
	Files []File // paths below the folder; of a file, its name
}

// Options are choices of the caller.
type Options struct {
	ID     string // of the item; "" chooses one by the name of the source
	Skills bool   // the project has the kind skill

	// Servers reads a list of MCP servers of a client.
	Servers func(file string, b []byte) (*ServerList, error)
}

// ServerList is what a list of MCP servers has.
type ServerList struct {
	Names    []string
	Disabled []string // names of servers that the client does not start
	Refused  []string // why others cannot be added
}

// Note is one line of the report.
type Note struct {
	From string `json:"from"`
	To   string `json:"to,omitempty"` // what it became
	Why  string `json:"why,omitempty"`
}

// Result is what a source becomes.
type Result struct {
	Files  []File   // with paths below .ai
	Items  []string // refs of the items among them
	Mapped []Note
	Left   []Note     // what is not carried, and why
	Next   [][]string // words of commands for a person
}

func (r *Result) mapped(from, to string) {
	r.Mapped = append(r.Mapped, Note{From: from, To: to})
}

func (r *Result) left(from, why string) {
	r.Left = append(r.Left, Note{From: from, Why: why})
}

// add adds an item.
func (r *Result) add(ref item.Ref, file File) {
	r.Files = append(r.Files, file)
	r.Items = append(r.Items, ref.String())
}

// knownPaths are where the programs have files that are imported.
var knownPaths = []struct {
	pattern string
	format  Format
}{
	{"**/SKILL.md", Skill},
	{"**/AGENTS.md", Rules},
	{"**/CLAUDE.md", Rules},
	{"**/GEMINI.md", Rules},
	{"**/.cursorrules", Rules},
	{"**/.windsurfrules", Rules},
	{"**/.cursor/rules/**/*.mdc", Rules},
	{"**/.github/copilot-instructions.md", Rules},
	{"**/.github/instructions/**/*.instructions.md", Rules},
	{"**/.claude/rules/**/*.md", Rules},
	{"**/.windsurf/rules/**/*.md", Rules},
	{"**/.junie/guidelines.md", Rules},
	{"**/.clinerules/workflows/**/*.md", Command},
	{"**/.clinerules", Rules},
	{"**/.clinerules-*", Rules},
	{"**/.clinerules/**/*.md", Rules},
	{"**/.clinerules/**/*.txt", Rules},
	{"**/.roorules", Rules},
	{"**/.roorules-*", Rules},
	{"**/.roo/rules/**/*.md", Rules},
	{"**/.roo/rules/**/*.txt", Rules},
	{"**/.roo/rules-*/**/*.md", Rules},
	{"**/.roo/rules-*/**/*.txt", Rules},
	{"**/.continue/rules/**/*.md", Rules},
	{"**/.agent/rules/**/*.md", Rules},
	{"**/.kiro/steering/**/*.md", Rules},
	{"**/.claude/agents/**/*.md", Agent},
	{"**/.claude/commands/**/*.md", Command},
	{"**/.codex/prompts/**/*.md", Command},
	{"**/.claude/settings.json", Permissions},
	{"**/.claude/settings.local.json", Permissions},
	{"**/.mcp.json", Servers},
	{"**/.cursor/mcp.json", Servers},
	{"**/.vscode/mcp.json", Servers},
	{"**/.vscode/settings.json", Servers},
	{"**/opencode.json", Servers},
	{"**/opencode.jsonc", Servers},
	{"**/.zed/settings.json", Servers},
	{"**/.codex/config.toml", Servers},
	{"**/.gemini/settings.json", Servers},
	{"**/goose/config.yaml", Servers},
	{"**/.kiro/settings/mcp.json", Servers},
	{"**/.roo/mcp.json", Servers},
	{"**/.windsurf/mcp_config.json", Servers},
	{"**/claude_desktop_config.json", Servers},
}

// Known returns the format of a file by its slash-separated path alone, "" if no program has
// such a file.
func Known(file string) Format {
	if strings.EqualFold(path.Base(file), "README.md") {
		return "" // it describes a folder
	}
	for _, k := range knownPaths {
		if glob.Match(k.pattern, file) {
			return k.format
		}
	}
	return ""
}

// clientFolders are the folders whose parts are imported one by one.
var clientFolders = []string{".claude", ".codex", ".cursor", ".windsurf", ".github", ".clinerules", ".roo", ".continue", ".junie", ".agent", ".kiro"}

// LeadsToKnown reports whether a path in the folder of a program could have files that are
// imported, if it is a directory.
func LeadsToKnown(dir string) bool {
	if slices.Contains(clientFolders, path.Base(dir)) {
		return true
	}
	within := slices.ContainsFunc(clientFolders, func(f string) bool {
		return slices.Contains(strings.Split(dir, "/"), f)
	})
	return within && slices.ContainsFunc([]string{"x.md", "x.mdc", "x.instructions.md", SkillFile}, func(name string) bool {
		f := Known(dir + "/" + name)
		return f != "" &&
			(f != Skill || path.Base(dir) == "skills" || path.Base(path.Dir(dir)) == "skills")
	})
}

// Detect returns the format of a source by its name and content, "" if it has none of them.
func Detect(s Source) Format {
	slashed := strings.ReplaceAll(s.Path, `\`, "/")
	if s.Dir {
		if s.file(SkillFile) != nil {
			return Skill
		}
		return ""
	}
	for _, file := range []string{s.At, slashed, s.Name} {
		if f := Known(file); f != "" && f != Skill {
			return f
		}
	}
	switch {
	case strings.EqualFold(s.Name, "README.md"):
		return ""
	case strings.HasSuffix(s.Name, ".mdc"):
		return Rules
	case strings.Contains(slashed, "agents/") && path.Ext(s.Name) == ".md":
		return Agent
	case (strings.Contains(slashed, "commands/") || strings.Contains(slashed, "prompts/")) && path.Ext(s.Name) == ".md":
		return Command
	}
	return detectData(s)
}

// detectData recognises recipes and lists of servers by their keys.
func detectData(s Source) Format {
	root, err := parseData(s)
	if err != nil {
		return ""
	}
	_, servers := root["mcpServers"]
	_, ofEditor := root["servers"]
	_, title := root["title"]
	_, prompt := root["prompt"]
	_, instructions := root["instructions"]
	_, permitted := root["permissions"].(map[string]any)
	switch {
	case permitted && (s.Name == "settings.json" || s.Name == "settings.local.json"):
		return Permissions
	case servers || ofEditor && path.Ext(s.Name) == ".json":
		return Servers
	case title && (prompt || instructions):
		return Recipe
	}
	return ""
}

// Convert converts a source. A source that is damaged is an error with its line; what is
// valid and has no counterpart in rye is listed in the result.
func Convert(f Format, s Source, o Options) (*Result, error) {
	convert, ok := map[Format]func(Source, Options) (*Result, error){
		Skill: skill, Agent: agent, Command: command, Recipe: recipe, Rules: rules, Servers: servers, Permissions: permissions,
	}[f]
	if !ok {
		return nil, diag.New(diag.Usage, "importing %s: its format is not known", s.Path).WithReason("import_format")
	}
	ext := path.Ext(s.Name)
	if (f == Recipe || f == Permissions) &&
		!s.Dir &&
		!slices.Contains([]string{".json", ".yaml", ".yml"}, ext) {
		return nil, diag.New(diag.Usage, "importing %s: the format %s is a file whose name ends in .json, .yaml or .yml", s.Path, f)
	}
	if f == Skill != s.Dir {
		return nil, diag.New(
			diag.Usage,
			"importing %s: a %s is %s",
			s.Path,
			f,
			map[bool]string{true: "a folder with " + SkillFile, false: "one file"}[f == Skill],
		)
	}
	return convert(s, o)
}

func (s Source) file(name string) *File {
	for i := range s.Files {
		if s.Files[i].Path == name {
			return &s.Files[i]
		}
	}
	return nil
}

// Bytes returns the content of a source that is one file.
func (s Source) Bytes() []byte {
	if len(s.Files) == 0 {
		return nil
	}
	return s.Files[0].Bytes
}

// id returns the id of the item: the one of the options, else the name below a folder.
func (s Source) id(o Options, folder, name string) (string, error) {
	id := o.ID
	if id == "" {
		id = folder + "/" + segmentOf(name)
	}
	if err := item.CheckID(id); err != nil {
		return "", diag.New(diag.Usage, "importing %s: its name gives the id %q: %w", s.Path, id, err).WithReason("import_id")
	}
	return id, nil
}

// segmentOf is Segment, and a segment of its own for a name in another script.
func segmentOf(name string) string {
	segment := Segment(name)
	if segment == "" && strings.ContainsFunc(name, unicode.IsLetter) {
		segment = "item-" + strings.TrimPrefix(
			item.DigestOf([]byte(name)).String(),
			"sha256:",
		)[:8]
	}
	return segment
}

// Segment turns a name into a segment of an id: other characters become "-".
func Segment(name string) string {
	out := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) ||
			r == '_' ||
			r == '-' {
			return r
		}
		return '-'
	}, name)
	return strings.Trim(out, "-")
}

// stem is a file name without its extension.
func stem(name string) string {
	return strings.TrimSuffix(name, path.Ext(name))
}

package scan

import (
	"github.com/ryeos/rye/lock/treehash"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/frontmatter"
	"github.com/ryeos/rye/internal/interop"
	"github.com/ryeos/rye/item"
)

// maxMain is how many bytes the file that describes a component may have.
const maxMain = 4 << 20

// clientDirs are directories of agents that have components as plugins have.
func clientDirs() []string {
	return []string{".claude", ".codex", ".cursor", ".github", ".opencode"}
}

// skills finds the folders with SKILL.md. A folder inside of such a folder belongs to it,
// except for one that a plugin lists.
func (f *finder) skills() {
	for _, file := range f.files {
		if path.Base(file.Path) != interop.SkillFile || ignored(file.Path) {
			continue
		}
		dir := parent(file.Path)
		// copies and archives of other repositories are deeper
		tooDeep := strings.Count(file.Path, "/") > maxDepth
		inner := f.inSkill(file.Path) && !f.listedSkills[dir]
		if tooDeep || inner {
			continue
		}
		f.skillDirs[dir] = true
		f.add(&Component{
			Kind:  Skill,
			Dir:   dir,
			Main:  interop.SkillFile,
			Files: f.under(dir),
		}, path.Base(dir))
	}
}

// roots returns the directories that can have agents, commands, hooks and servers.
func (f *finder) roots() []string {
	out := append(clientDirs(), "")
	for _, p := range f.listed {
		if p.Elsewhere == "" {
			out = append(out, p.Dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// below finds the agents, commands, hooks and servers of one directory.
func (f *finder) below(root string) {
	agents := path.Join(root, "agents")
	for _, file := range f.under(agents) {
		// the files below are texts that agents read
		if !strings.Contains(file.Path, "/") {
			f.single(Agent, agents, file)
		}
	}
	commands := path.Join(root, "commands")
	for _, file := range f.under(commands) {
		f.single(Command, commands, file)
	}
	hooks := path.Join(root, hooksFile)
	if f.has(hooks) {
		f.hookSet(root, hooks)
	}
	servers := path.Join(root, serversFile)
	if f.has(servers) {
		f.servers(servers)
	}
}

// Extensions of rules of Cursor and of Copilot.
const (
	cursorRule  = ".mdc"
	copilotRule = ".instructions.md"
)

// rules finds rules everywhere.
func (f *finder) rules() {
	for _, file := range f.files {
		rule := strings.HasSuffix(file.Path, cursorRule) ||
			strings.HasSuffix(file.Path, copilotRule)
		if !rule {
			continue
		}
		dir := parent(file.Path)
		file.Path = path.Base(file.Path)
		f.single(Rule, dir, file)
	}
}

// single adds a component that is one text, with its path relative to a directory.
func (f *finder) single(kind, dir string, file treehash.File) {
	whole := path.Join(dir, file.Path)
	if f.inSkill(whole) || ignored(whole) || !isText(whole) {
		return
	}
	name := strings.TrimSuffix(file.Path, path.Ext(file.Path))
	name = strings.TrimSuffix(name, ".instructions")
	f.add(&Component{
		Kind:  kind,
		Dir:   parent(whole),
		Main:  path.Base(whole),
		Files: f.only(whole),
	}, name)
}

// isText reports whether a file is a text for a model. A README describes a
// folder to people.
func isText(p string) bool {
	ext := path.Ext(p)
	return (ext == ".md" || ext == cursorRule) && !strings.EqualFold(path.Base(p), "README.md")
}

// add reads the text that describes a component and adds it. called is its name if the
// text has none.
func (f *finder) add(c *Component, called string) {
	if f.full() {
		return
	}
	c.Name = called
	finding := f.describe(c, called)
	switch {
	case finding != nil && item.CheckID(c.Name) == nil:
		f.leave(c.Ref(), *finding)
	case finding != nil:
		f.leave("", *finding)
	case c.Kind == Agent && c.Text.Line == 0:
		// a text of agents without front matter is documentation
	default:
		f.found = append(f.found, c)
	}
}

// describe reads the text that describes a component.
func (f *finder) describe(c *Component, called string) *diag.Finding {
	main := c.Path(c.Main)
	mode := f.files[f.at(main)].Mode
	if mode != treehash.Regular && mode != treehash.Executable {
		return refused(diag.NotRegular, main, "it is a link or a submodule")
	}
	b, finding := f.read(main)
	if finding != nil {
		return finding
	}
	// the reader of rye is lenient and expands nothing; the programs that get a copy may not be
	text, fs := frontmatter.Read(b)
	if diag.Failed(fs) {
		return refusedAt(fs[0], main)
	}
	if frontmatter.Expands(b) {
		return refused(diag.LimitExceeded, main, "its front matter has YAML aliases, which other programs may expand without bound")
	}
	c.Text = &text
	c.Description = strings.TrimSpace(text.String("description"))
	if note := text.Note(main); note != "" {
		c.note(note)
	}
	if c.Kind == Agent && text.Line == 0 {
		return nil
	}
	given := strings.TrimSpace(text.String("name"))
	why := c.lacks(given)
	if why == "" {
		why = c.name(given, called)
	}
	if why != "" {
		return refused(diag.ValidationFailed, main, why)
	}
	return nil
}

// lacks returns why the front matter of a component does not suffice.
func (c *Component) lacks(name string) string {
	skill := c.Kind == Skill
	switch {
	case !skill && c.Kind != Agent:
		return ""
	case skill && name == "" && c.Description == "":
		return "its front matter has neither name nor description"
	case c.Description == "":
		return "its front matter has no description"
	case skill && name == "":
		return "its front matter has no name"
	}
	return ""
}

// name sets the name of a component. why states the reason if it has none.
func (c *Component) name(given, called string) (why string) {
	if c.Kind == Command || c.Kind == Rule {
		// programs know them by their paths
		given = ""
	}
	names := []string{given, called, segments(given), segments(called)}
	// the name of the folder is better than one whose characters are replaced
	i := slices.IndexFunc(names, func(name string) bool {
		nested := strings.Contains(name, "/") && c.Kind != Command
		return item.CheckID(name) == nil && !nested
	})
	if i < 0 {
		return "its name has no letters that a name can have"
	}
	c.Name = names[i]
	main := c.Path(c.Main)
	if given != "" && given != c.Name {
		c.note(main + ": its name " + given + " is not a name of an item: it is called " + c.Name)
	}
	if c.Kind == Skill && called != "." && called != c.Name {
		c.note(main + ": its name " + c.Name + " differs from the name of its folder")
	}
	return ""
}

func (c *Component) note(text string) {
	c.Notes = append(c.Notes, text)
}

// segments replaces the characters that an id cannot have.
func segments(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = interop.Segment(part)
	}
	return strings.Join(parts, "/")
}

// read returns the bytes of a file that describes a component.
func (f *finder) read(p string) ([]byte, *diag.Finding) {
	size := f.files[f.at(p)].Size
	if size > maxMain {
		return nil, refused(diag.TooLarge, p, "it has too many bytes for a text that describes a component")
	}
	b, err := f.source.Read(p)
	if err != nil {
		return nil, refused(diag.CodeOf(err), p, err.Error())
	}
	return b, nil
}

// refused is the reason to leave out a component.
func refused(code diag.Code, p, why string) *diag.Finding {
	return refusedAt(diag.Errorf(code, 0, 0, "%s", why), p)
}

func refusedAt(f diag.Finding, p string) *diag.Finding {
	f.Path = p
	return &f
}

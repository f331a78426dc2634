package interop

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// KindSkill is the kind that a project adds to keep skills as they are.
const KindSkill item.Kind = "skill"

// skill converts the folder of a skill. In a project with the kind skill each file stays as
// it is, so that the folder can be exported again without loss; elsewhere its texts
// become knowledge and its scripts tools.
func skill(s Source, o Options) (*Result, error) {
	main := s.file(SkillFile)
	if main == nil {
		return nil, diag.New(diag.ItemNotFound, "importing %s: it has no %s", s.Path, SkillFile)
	}
	m, loose, err := readMarkdown(s, main)
	if err != nil {
		return nil, err
	}
	name := m.text("name")
	switch {
	case name == "" || m.text("description") == "":
		return nil, diag.New(diag.ValidationFailed, "importing %s: the front matter of %s needs name and description", s.Path, SkillFile)
	}
	r := &Result{}
	if loose != "" {
		r.left("front matter", loose)
	}
	if o.Skills {
		return r, r.keep(s, o, name)
	}
	return r, r.divide(s, o, m)
}

// keep copies every file to the folder of the kind.
func (r *Result) keep(s Source, o Options, name string) error {
	id := o.ID
	if id == "" {
		id = name
	}
	ref := item.Ref{Kind: KindSkill, ID: id}
	if err := item.CheckID(id); err != nil {
		return diag.New(diag.Usage, "importing %s: its name gives the id %q: %w", s.Path, id, err).WithReason("import_id")
	}
	assets := 0
	for _, f := range s.Files {
		f.Path = path.Join("skills", id, f.Path)
		if path.Base(f.Path) == SkillFile { // a folder in the folder may be a skill too
			r.add(
				item.Ref{Kind: KindSkill, ID: strings.TrimPrefix(path.Dir(f.Path), "skills/")},
				f,
			)
			continue
		}
		r.Files = append(r.Files, f)
		assets++
	}
	r.mapped(s.Name, ref.String())
	if assets > 0 {
		r.left("the other files of the folder", "a signature covers "+SkillFile+" alone: a bundle manifest lists the others")
		r.Next = append(r.Next, []string{
			"rye",
			"bundle",
			"create",
			Segment(path.Base(id)),
		})
	}
	return nil
}

// divide makes knowledge of texts and tools of scripts.
func (r *Result) divide(s Source, o Options, m markdown) error {
	id, err := s.id(o, "skills", m.text("name"))
	if err != nil {
		return err
	}
	for i := range s.Files {
		f := &s.Files[i]
		ref, file, why, err := r.part(s, f, id, m)
		if err != nil {
			return err
		}
		if why == "" && slices.Contains(r.Items, ref.String()) { // a.py and a.sh
			why = "another file of the skill becomes " + ref.String() + ": give it another name"
		}
		if why != "" {
			r.left(f.Path, why)
			continue
		}
		if err := item.CheckID(ref.ID); err != nil {
			return diag.New(diag.Usage, "importing %s: %s gives the id %q: %w", s.Path, f.Path, ref.ID, err)
		}
		r.add(ref, file)
		r.mapped(f.Path, ref.String())
	}
	r.rest("knowledge", m.fields, "name", "description")
	return nil
}

// part converts one file of a skill. why states the reason if it is not carried.
func (r *Result) part(
	s Source,
	f *File,
	id string,
	m markdown,
) (ref item.Ref, file File, why string, err error) {
	ref = item.Ref{Kind: item.Knowledge, ID: id}
	if f.Path != SkillFile {
		ref.ID = id + "/" + strings.Join(segments(stem(f.Path)), "/")
	}
	head, comment := scriptHead(path.Ext(f.Path))
	switch {
	case path.Ext(f.Path) == ".md":
		text, description := m, m.text("description")
		if f.Path != SkillFile {
			if text, _, err = readMarkdown(s, f); err != nil {
				return ref, file, "", err
			}
			description = "Part " + f.Path + " of the skill " + m.text("name") + "."
		}
		body := strings.TrimLeft(text.body, "\r\n")
		file, err = knowledge(
			ref,
			titleOf(ref.Name()),
			r.description(description, ""),
			body,
		)
		return ref, file, "", err
	case head != "":
		ref.Kind = item.Tool
		description := "Script " + f.Path + " of the skill " + m.text("name") + "; args are its arguments."
		file = File{Path: "tools/" + ref.ID + path.Ext(f.Path), Bytes: withHead(f.Bytes, head, comment, description), Executable: f.Executable}
		return ref, file, "", nil
	}
	return asset(s, f, id, m.text("name"))
}

func segments(p string) []string {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = Segment(parts[i])
	}
	return parts
}

// bashRuntime runs a script without the files next to it.
const bashRuntime = "rye/core/runtimes/bash_argv_runtime"

// scriptHead returns the runtime of scripts with this extension, and the sign of the
// comments that have their metadata, "" for Python, which has constants.
func scriptHead(ext string) (runtime, comment string) {
	switch ext {
	case ".py":
		return "rye/core/runtimes/python_argv_runtime", ""
	case ".sh", ".bash":
		return bashRuntime, "#"
	case ".js", ".mjs", ".cjs":
		return "rye/core/runtimes/node_argv_runtime", "//"
	}
	return "", ""
}

// argvSchema is the JSON Schema of the parameters of a script.
const argvSchema = `{"type": "object", "properties": {"args": {"type": "array", "items": {"type": "string"}, "description": "Arguments of the script, one element each."}, "stdin": {"type": "string", "description": "Its standard input."}}}`

// withHead adds the metadata of a tool: below the line that names the interpreter, and in
// Python at the end, since a docstring and imports from __future__ must come first.
func withHead(src []byte, runtime, comment, description string) []byte {
	if comment == "" {
		text := strings.TrimRight(string(src), "\n")
		return []byte(text + "\n\n__version__ = \"0.1.0\"\n__tool_type__ = \"script\"\n__executor_id__ = \"" + runtime + "\"\n__tool_description__ = " + strconv.Quote(description) + "\nCONFIG_SCHEMA = " + argvSchema + "\n")
	}
	first := ""
	rest := string(src)
	if strings.HasPrefix(rest, "#!") {
		first, rest, _ = strings.Cut(rest, "\n")
		first += "\n"
	}
	lines := []string{"version: 0.1.0", "tool_type: script", "executor_id: " + runtime, "description: " + description, "config_schema: " + argvSchema}
	return []byte(
		first + comment + " " + strings.Join(lines, "\n"+comment+" ") + "\n" + rest,
	)
}

package interop

import (
	"cmp"
	"path"
	"strings"

	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
)

// projectRules is the item that directives read as the rules of the project.
const projectRules = "project/agents"

// rules converts texts with the rules of a project to one knowledge item.
func rules(s Source, o Options) (*Result, error) {
	r := &Result{}
	ref := item.Ref{Kind: item.Knowledge, ID: cmp.Or(o.ID, projectRules)}
	if err := item.CheckID(ref.ID); err != nil {
		return nil, err
	}
	var body strings.Builder
	for i := range s.Files {
		f := &s.Files[i]
		if ext := path.Ext(f.Path); ext != ".md" && ext != ".mdc" && s.Dir {
			r.left(f.Path, "it is not markdown")
			continue
		}
		m, _, err := readMarkdown(s, f)
		if err != nil {
			return nil, err
		}
		for _, key := range []string{"globs", "alwaysApply"} {
			if _, ok := m.fields[key]; ok {
				r.left(f.Path+": "+key, "the text holds for every directive of the project")
			}
		}
		if s.Dir {
			body.WriteString("## " + titleOf(stem(path.Base(f.Path))) + "\n\n")
		}
		body.WriteString(strings.Trim(m.body, "\r\n") + "\n\n")
		r.mapped(f.Path, ref.String())
	}
	file, err := knowledge(ref, "Rules of the project", "What an agent that works on this project must know.", strings.TrimRight(body.String(), "\n")+"\n")
	if err != nil {
		return nil, err
	}
	r.add(ref, file)
	return r, nil
}

// knowledge renders a knowledge item.
func knowledge(ref item.Ref, title, description, body string) (File, error) {
	meta, err := yamlx.Marshal(yamlx.Map{
		{Key: "title", Value: title}, {Key: "version", Value: "0.1.0"}, {Key: "description", Value: description},
		{Key: "entry_type", Value: "reference"}, {Key: "tags", Value: []any{}},
	})
	if err != nil {
		return File{}, err
	}
	return File{Path: "knowledge/" + ref.ID + ".md", Bytes: []byte("---\n" + string(meta) + "---\n\n" + body)}, nil
}

// servers names the command that adds MCP servers: it shows what each would start.
func servers(s Source, _ Options) (*Result, error) {
	if _, err := parseData(s); err != nil {
		return nil, err
	}
	r := &Result{Next: [][]string{{"rye", "mcp", "add", "--from", s.Path}}}
	r.left(s.Name, "servers are added one after the other, by a person")
	return r, nil
}

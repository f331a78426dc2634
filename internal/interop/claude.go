package interop

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ryeos/rye/item"
)

// agent converts an agent of Claude Code. Without a list of tools an agent may use all of
// them there; here it may use none until a person permits some.
func agent(s Source, o Options) (*Result, error) {
	m, loose, err := readMarkdown(s, &s.Files[0])
	if err != nil {
		return nil, err
	}
	name := m.text("name")
	if Segment(name) == "" {
		name = stem(s.Name)
	}
	id, err := s.id(o, "agents", name)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if loose != "" {
		r.left("front matter", loose)
	}
	d := draft{ref: item.Ref{Kind: item.Directive, ID: id}, description: r.description(m.text("description"), "What "+Segment(name)+" does.")}
	d.model(r, m.text("model"))
	tools, listed := m.fields["tools"]
	if d.permit(r, words(tools)); !listed {
		r.left("tools", "none are listed, which means all of them there and none here: add those it needs to <permissions>")
	}
	d.inputs = []input{{
		name:     "task",
		kind:     "string",
		text:     "What to do.",
		required: true,
	}}
	d.body = strings.TrimRight(m.body, "\n") + "\n\nThe task:\n\n{input:task}\n"
	r.rest("a directive", m.fields, "name", "description", "model", "tools")
	r.finish(d, s)
	return r, nil
}

// finish adds the directive.
func (r *Result) finish(d draft, s Source) {
	r.mapped(s.Name, d.ref.String())
	r.add(d.ref, d.file())
}

// Forms in the text of a command: arguments, shell commands whose output is inserted, and
// files whose text is.
const (
	argumentForm = `\$(ARGUMENTS|[1-9])\b`
	shellForm    = "!`[^`]*`"
	fileForm     = `(^|\s)@[\w./-]+`
	inputForm    = "{input:"
)

// command converts a command of Claude Code or a prompt of Codex.
func command(s Source, o Options) (*Result, error) {
	m, loose, err := readMarkdown(s, &s.Files[0])
	if err != nil {
		return nil, err
	}
	id, err := s.id(o, commandFolder(s.Path), stem(s.Name))
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if loose != "" {
		r.left("front matter", loose)
	}
	d := draft{ref: item.Ref{Kind: item.Directive, ID: id}, description: r.description(m.text("description"), "The command "+stem(s.Name)+".")}
	d.model(r, m.text("model"))
	d.permit(r, words(m.fields["allowed-tools"]))
	if strings.Contains(m.body, inputForm) {
		r.left(inputForm, "the text has what rye reads as the place of an input: write it in another way")
	}
	seen := map[string]bool{}
	d.body = regexp.MustCompile(argumentForm).ReplaceAllStringFunc(m.body, func(found string) string {
		name := argumentName(found[1:])
		if !seen[name] {
			seen[name] = true
			text := "Argument " + strings.TrimPrefix(name, "argument_") + " of the command."
			if name == "arguments" {
				text = firstLine(strings.Join(words(m.fields["argument-hint"]), " "), "The arguments of the command.")
			}
			d.inputs = append(d.inputs, input{name: name, kind: "string", text: text})
			r.mapped(found, "input "+name)
		}
		return "{input:" + name + "?}"
	})
	for _, line := range regexp.MustCompile(shellForm).FindAllString(m.body, -1) {
		r.left(line, "a directive runs nothing before its model: permit rye/bash/bash and ask for the command")
	}
	for _, token := range regexp.MustCompile(fileForm).FindAllString(m.body, -1) {
		r.left(strings.Trim(token, " \t\n."), "the text of a file is not inserted: permit rye/file-system/read and ask for it")
	}
	r.rest("a directive", m.fields, "description", "model", "allowed-tools", "argument-hint")
	r.finish(d, s)
	return r, nil
}

func argumentName(word string) string {
	if word == "ARGUMENTS" {
		return "arguments"
	}
	return fmt.Sprintf("argument_%s", word)
}

// commandFolder returns the folder of a command's id: those below the one of all
// commands are part of its name.
func commandFolder(file string) string {
	parts := strings.Split(strings.ReplaceAll(file, `\`, "/"), "/")
	out := []string{"commands"}
	for i := len(parts) - 2; i >= 0; i-- {
		if parts[i] == "commands" || parts[i] == "prompts" {
			for _, p := range parts[i+1 : len(parts)-1] {
				out = append(out, Segment(p))
			}
			break
		}
	}
	return strings.Join(out, "/")
}

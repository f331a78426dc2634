package interop

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// recipe converts a recipe of goose.
func recipe(s Source, o Options) (*Result, error) {
	root, err := parseData(s)
	if err != nil {
		return nil, err
	}
	id, err := s.id(o, "recipes", stem(s.Name))
	if err != nil {
		return nil, err
	}
	r := &Result{}
	d := draft{ref: item.Ref{Kind: item.Directive, ID: id}}
	d.description = r.description(textOf(root["description"]), firstLine(
		textOf(root["title"]),
		"The recipe "+stem(s.Name)+".",
	))
	r.mapped("title and description", "description")
	parameters(r, &d, root)
	responses(r, &d, root)
	settings(r, &d, root)
	subRecipes(r, &d, root)
	extensions(r, root)
	checks(r, root)
	var parts []string
	for _, key := range []string{"instructions", "prompt"} {
		if text := strings.TrimSpace(textOf(root[key])); text != "" {
			parts = append(parts, text)
			r.mapped(key, "text of the directive")
		}
	}
	if len(parts) == 0 {
		return nil, diag.New(diag.ValidationFailed, "importing %s: it has neither instructions nor a prompt", s.Path)
	}
	d.body = placeholders(r, d, strings.Join(parts, "\n\n"))
	if _, ok := root["activities"]; ok {
		r.left("activities", "buttons of the desktop application")
	}
	r.rest("a directive", root, "version", "title", "description", "instructions", "prompt", "parameters", "response", "settings",
		"sub_recipes", "extensions", "retry", "activities", "author")
	r.finish(d, s)
	return r, nil
}

func maps(v any) []map[string]any {
	var out []map[string]any
	list, _ := v.([]any)
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func parameters(r *Result, d *draft, root map[string]any) {
	types := map[string]string{
		"string":  "string",
		"number":  "number",
		"boolean": "boolean",
		"date":    "string",
		"file":    "string",
		"select":  "string",
	}
	for _, p := range maps(root["parameters"]) {
		key := textOf(p["key"])
		form := textOf(p["input_type"])
		kind := types[form]
		if kind == "" {
			kind = "string"
		}
		in := input{
			name:     key,
			kind:     kind,
			text:     firstLine(textOf(p["description"]), "The input "+key+"."),
			required: textOf(p["requirement"]) == "required",
		}
		if def, ok := p["default"]; ok && !in.required {
			in.def = fmt.Sprint(def)
		}
		switch form {
		case "file":
			r.left("parameter "+key+": input_type file", "the input is the path: permit rye/file-system/read for its text")
		case "select":
			r.left("parameter "+key+": options", "an input has a type and no list of values")
		}
		if textOf(p["requirement"]) == "user_prompt" {
			r.left("parameter "+key+": user_prompt", "inputs are given when the directive starts")
		}
		d.inputs = append(d.inputs, in)
		r.mapped("parameter "+key, "input "+key)
	}
}

// responses maps the properties of the schema of the answer to outputs.
func responses(r *Result, d *draft, root map[string]any) {
	response, _ := root["response"].(map[string]any)
	schema, _ := response["json_schema"].(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	var names []string
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	kinds := []string{"string", "integer", "number", "boolean", "array", "object"}
	for _, name := range names {
		p, _ := properties[name].(map[string]any)
		kind := textOf(p["type"])
		if !slices.Contains(kinds, kind) {
			r.left("response "+name+": type", "it is not one type: the output is a text")
			kind = "string"
		}
		for _, deep := range []string{"properties", "items", "enum"} {
			if _, ok := p[deep]; ok {
				r.left("response "+name+": "+deep, "an output has a type only")
			}
		}
		d.outputs = append(d.outputs, input{name: name, kind: kind, text: firstLine(textOf(p["description"]), "The output "+name+".")})
		r.mapped("response "+name, "output "+name)
	}
}

func settings(r *Result, d *draft, root map[string]any) {
	set, _ := root["settings"].(map[string]any)
	d.model(r, textOf(set["goose_model"]))
	if turns, ok := set["max_turns"].(int64); ok && turns > 0 {
		d.turns = turns
		r.mapped("settings max_turns", "limit of turns")
	}
	for _, key := range []string{"goose_provider", "temperature"} {
		if _, ok := set[key]; ok {
			r.left("settings "+key, "set provider and temperature in <model> if they must be these")
		}
	}
}

func subRecipes(r *Result, d *draft, root map[string]any) {
	for _, sub := range maps(root["sub_recipes"]) {
		id := "recipes/" + Segment(textOf(sub["name"]))
		if file := textOf(sub["path"]); file != "" {
			r.Next = append(r.Next, []string{"rye", "import", file, "--to", id})
		}
		if item.CheckID(id) == nil {
			d.execute = append(d.execute, "<directive>"+id+"</directive>")
			r.mapped("sub_recipe "+textOf(sub["name"]), "permission for directive:"+id)
		}
	}
}

// extensions names the commands that add the servers of a recipe; they are not run.
func extensions(r *Result, root map[string]any) {
	for _, e := range maps(root["extensions"]) {
		name := textOf(e["name"])
		switch textOf(e["type"]) {
		case "stdio":
			add := []string{"rye", "mcp", "add", Segment(name), "--", textOf(e["cmd"])}
			args, _ := e["args"].([]any)
			for _, a := range args {
				add = append(add, fmt.Sprint(a))
			}
			r.Next = append(r.Next, add)
			r.left("extension "+name, "add its server, then permit its tools")
		case "streamable_http", "sse":
			r.Next = append(r.Next, []string{
				"rye",
				"mcp",
				"add",
				Segment(name),
				"--url",
				textOf(e["uri"]),
			})
			r.left("extension "+name, "add its server, then permit its tools")
		default:
			r.left("extension "+name, "it is part of goose: permit the tools of rye that do the same")
		}
	}
}

func checks(r *Result, root map[string]any) {
	retry, _ := root["retry"].(map[string]any)
	for _, c := range maps(retry["checks"]) {
		r.left("retry check "+textOf(c["command"]), "write a tool that checks the outputs and name it in <check>")
	}
}

// placeholders replaces {{ key }} of the inputs; what else the templates of a recipe can do
// stays as it is written.
func placeholders(r *Result, d draft, text string) string {
	known := func(name string) bool {
		return slices.ContainsFunc(d.inputs, func(in input) bool {
			return in.name == name
		})
	}
	text = regexp.MustCompile(`\{\{\s*([A-Za-z_]\w*)\s*\}\}`).ReplaceAllStringFunc(text, func(found string) string {
		name := strings.Trim(found, "{} \t")
		if !known(name) {
			r.left(found, "no parameter has this name")
			return found
		}
		return "{input:" + name + "}"
	})
	for _, form := range regexp.MustCompile(`\{%[^%]*%\}|\{\{[^}]*[|.(][^}]*\}\}`).FindAllString(text, -1) {
		r.left(form, "inputs are inserted as they are, without conditions, loops and filters")
	}
	return text
}

package interop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/item"
)

// draft is a directive to be written.
type draft struct {
	ref         item.Ref
	description string
	tier        string
	turns       int64
	execute     []string // permitted: <tool>…</tool> or <directive>…</directive>
	inputs      []input
	outputs     []input
	body        string
}

type input struct {
	name, kind, text string
	required         bool
	def              string // "" has none
}

// file renders the directive.
func (d draft) file() File {
	var b strings.Builder
	w := func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
	}
	name := d.ref.Name()
	w("# %s\n\n```xml\n<directive name=%s version=\"0.1.0\">\n  <metadata>", titleOf(name), attr(name))
	w("    <description>%s</description>", escape(d.description))
	if c := d.ref.Category(); c != "" {
		w("    <category>%s</category>", escape(c))
	}
	if d.tier != "" {
		w("    <model tier=%s/>", attr(d.tier))
	}
	if d.turns > 0 {
		w("    <limits turns=%s/>", attr(strconv.FormatInt(d.turns, 10)))
	}
	if len(d.execute) > 0 {
		w("    <permissions>\n      <execute>%s</execute>\n    </permissions>", strings.Join(d.execute, ""))
	}
	w("  </metadata>")
	group(w, "inputs", "input", d.inputs)
	group(w, "outputs", "output", d.outputs)
	w("</directive>\n```\n")
	b.WriteString(strings.TrimLeft(d.body, "\r\n"))
	if !strings.HasSuffix(d.body, "\n") {
		b.WriteByte('\n')
	}
	return File{Path: "directives/" + d.ref.ID + ".md", Bytes: []byte(b.String())}
}

func group(w func(string, ...any), outer, inner string, list []input) {
	if len(list) == 0 {
		return
	}
	w("  <%s>", outer)
	for _, in := range list {
		attrs := "name=" + attr(in.name) + " type=" + attr(in.kind)
		if in.required {
			attrs += ` required="true"`
		}
		if in.def != "" {
			attrs += " default=" + attr(in.def)
		}
		w("    <%s %s>%s</%s>", inner, attrs, escape(in.text), inner)
	}
	w("  </%s>", outer)
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", " ", "\r", "")

func escape(s string) string {
	return escaper.Replace(s)
}

func attr(s string) string {
	return `"` + escape(s) + `"`
}

func titleOf(name string) string {
	t := strings.NewReplacer("_", " ", "-", " ").Replace(name)
	return strings.ToUpper(t[:1]) + t[1:]
}

// permit adds the tools that a list of Claude Code names to the permissions, each once.
// What a person permits is decided when the directive is signed.
func (d *draft) permit(r *Result, tools []string) {
	for _, t := range tools {
		name, pattern, _ := strings.Cut(t, "(")
		id, ok := toolIDs()[name]
		switch {
		case strings.HasPrefix(name, "mcp__"):
			r.left("tool "+t, "add its server with rye mcp add, then permit the tool by its id")
			continue
		case !ok:
			r.left("tool "+t, "rye has no tool of this name")
			continue
		case pattern != "":
			r.left("tool "+t, "permissions name tools, not patterns of their arguments: add the pattern to risk rules of your own, or permit a narrower tool")
			continue
		}
		entry := "<tool>" + id + "</tool>"
		if !slices.Contains(d.execute, entry) {
			d.execute = append(d.execute, entry)
		}
		r.mapped("tool "+t, "permission for tool:"+id)
	}
}

// toolIDs returns the tools of rye that do what a tool of Claude Code does.
func toolIDs() map[string]string {
	return map[string]string{
		"Read": "rye/file-system/read", "Write": "rye/file-system/write", "Edit": "rye/file-system/edit_lines",
		"MultiEdit": "rye/file-system/edit_lines", "Glob": "rye/file-system/glob", "Grep": "rye/file-system/grep",
		"LS": "rye/file-system/ls", "Bash": "rye/bash/bash", "WebFetch": "rye/web/webfetch", "WebSearch": "rye/web/websearch",
	}
}

// model maps the name of a model to a tier.
func (d *draft) model(r *Result, name string) {
	if name == "" || name == "inherit" {
		return
	}
	for part, tier := range map[string]string{"haiku": "fast", "sonnet": "general", "opus": "high"} {
		if strings.Contains(name, part) {
			d.tier = tier
			r.mapped("model "+name, "model tier "+tier)
			return
		}
	}
	r.left("model "+name, "name a provider and a model in <model>, or a tier: fast, general, high, max")
}

// rest lists the other keys of a file as left.
func (r *Result) rest(what string, fields map[string]any, known ...string) {
	var keys []string
	for key := range fields {
		if !slices.Contains(known, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		r.left(key, what+" has no such field")
	}
}

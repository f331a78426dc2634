package ryeos

import (
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// runtimes are the names that later versions of the original gave to runtimes, and
// those that rye has.
func runtimes() map[string]string {
	const folder = "rye/core/runtimes/"
	return map[string]string{
		folder + "python/function": folder + "python_function_runtime",
		folder + "python/script":   folder + "python_script_runtime",
		folder + "node/node":       folder + "node_runtime",
		folder + "bash/bash":       folder + "bash_runtime",
		folder + "mcp/stdio":       folder + "mcp_stdio_runtime",
		folder + "mcp/http":        folder + "mcp_http_runtime",
	}
}

func (t *translation) tool() {
	m := &t.it.Meta
	if name := runtimes()[m.ExecutorID]; name != "" {
		t.value("executor_id", "executor_id", m.ExecutorID, name, "the runtime %s is now %s", m.ExecutorID, name)
	}
	if m.ExecutorID == "" &&
		m.ToolType != item.Library &&
		!resolve.IsReader(t.it.Ref) {
		t.helper()
		return
	}
	t.ownKeys()
	t.parameters()
	t.optional()
}

// helper makes a file with a tool_type that names no runtime what it was in the
// original: a library, or a file with data of its own, which is not an item.
func (t *translation) helper() {
	m := t.it.Meta
	if data(t.it.Type) && len(t.unknown()) > 0 {
		t.support()
		return
	}
	if m.HasExecutor {
		e, ok := t.commented(commentSign(t.it.Type), "executor_id")
		if !ok ||
			!t.try(e, t.at("executor_id"), fields(without(m.Fields, "executor_id")), "executor_id is now a comment: it was null, and a library has none") {
			return
		}
	}
	t.value("tool_type", "tool_type", m.ToolType, item.Library,
		"tool_type %q without executor_id is now %q: the file is signed and listed, and is not run", m.ToolType, item.Library)
}

// support makes a file of data a support file. Programs read its keys, so they keep
// their names.
func (t *translation) support() {
	e, ok := t.commented(commentSign(t.it.Type), "tool_type", "executor_id")
	if !ok {
		return
	}
	same := fields(without(t.it.Meta.Fields, "tool_type", "executor_id"))
	t.try(e, t.at("tool_type"), func(next *resolve.Item) bool {
		return next.Support() && errorsOf(next) == 0 && same(next)
	}, "tool_type %q is now a comment: the file has keys of its own, so it is a support file, signed and not listed", t.it.Meta.ToolType)
}

func (t *translation) unknown() []diag.Finding {
	return t.it.Extractor.UnknownKeys(
		t.it.Type,
		t.it.Bytes,
		&t.it.Meta,
	)
}

// data reports whether a file contains nothing but metadata.
func data(f extract.FileType) bool {
	return f.Codec == extract.CodecYAML || f.Codec == extract.CodecTOML
}

// commentSign returns the sign that begins a comment in a tool.
func commentSign(f extract.FileType) string {
	if f.Codec == extract.CodecHeaderSlash {
		return "//"
	}
	return "#"
}

// ownKeys gives the top-level keys that rye does not know the beginning of an author's
// own keys. The original ignored them, or read them with code that rye does not have.
func (t *translation) ownKeys() {
	if !data(t.it.Type) {
		return
	}
	for _, f := range t.unknown() {
		start, end := lineAt(t.it.Bytes, f.Line)
		if start == end {
			continue
		}
		for key := range t.it.Meta.Fields {
			if !strings.HasPrefix(string(t.it.Bytes[start:end]), key) ||
				(&tree.Doc{Pos: t.it.Meta.Pos}).At(tree.Join("", key)).Line != f.Line {
				continue
			}
			want := without(t.it.Meta.Fields, key)
			want["x-"+key] = t.it.Meta.Fields[key]
			if t.try(edit{start, start, "x-"}, diag.Position{Line: f.Line, Column: 1}, fields(want), "the key %s is now x-%s: rye does not read it", key, key) {
				break
			}
		}
	}
}

// parameters rewrites templates of parameters in the arguments of a command.
func (t *translation) parameters() {
	for i, arg := range tree.NewReader(&tree.Doc{Root: t.it.Meta.Config}, diag.ConfigError).Texts("args", nil) {
		if certain(t.it, arg) {
			now := "{param:" + arg[1:]
			t.value(tree.Index("config.args", i), "", arg, now, "the parameter %s is now %s", arg, now)
		}
	}
}

// certain reports whether an argument was the value of a parameter in the original: it
// is a template as a whole, the tool declares the parameter, and neither rye nor the
// tool's config has another value of that name.
func certain(it *resolve.Item, arg string) bool {
	name, ok := strings.CutPrefix(arg, "{")
	name, closed := strings.CutSuffix(name, "}")
	if !ok ||
		!closed ||
		!it.RunsCommand() ||
		slices.Contains(tmpl.Names(), name) {
		return false
	}
	if _, configured := it.Meta.Config[name]; configured {
		return false
	}
	return slices.Contains(declared(&it.Meta), name)
}

// declared returns the names of the parameters of a tool: the names in its schema, and in the
// list that the original's YAML tools have.
func declared(m *item.Metadata) []string {
	properties, _ := m.Schema["properties"].(map[string]any)
	out := slices.Collect(maps.Keys(properties))
	list, _ := m.Fields["parameters"].([]any)
	for _, p := range list {
		if o, ok := p.(map[string]any); ok {
			name, _ := o["name"].(string)
			out = append(out, name)
		}
	}
	return out
}

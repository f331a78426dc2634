package resolve

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/pep723"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// schemaKey is the key of the JSON Schema of a tool's parameters and, in a
// configuration, of its keys in every layer.
const schemaKey = "config_schema"

// schemas checks the JSON Schemas of an item against the meta-schema.
func (it *Item) schemas() []diag.Finding {
	if it.Support() {
		return nil
	}
	var out []diag.Finding
	for _, key := range []string{schemaKey, "output_schema"} {
		doc, ok := it.Meta.Fields[key].(map[string]any)
		if !ok {
			continue // reported by the extractor's schema
		}
		name := key
		if file := it.Meta.Keys[key]; file != "" {
			name = file
		}
		check := schema.Check
		if it.Meta.ToolType == foreignTool {
			check = schema.CheckForeign
		}
		for _, f := range check(doc, &tree.Doc{Pos: it.Meta.Pos}, key) {
			f.Message = name + ": " + f.Message
			out = append(out, f)
		}
	}
	return out
}

// foreignTool is the tool_type of a tool of an MCP server. Its schema is the server's, and
// an invalid one stops only calls of that tool.
const foreignTool = "mcp"

// unenforced are the keys of tools that this version reads and does not enforce, with
// what happens instead. sign and verify warn about them: nothing that a file asks for
// is left out without a word.
var unenforced = []struct{ key, instead string }{
	{"requires", "nothing is checked"},
	{"parameters", "config_schema describes the parameters"},
}

func (it *Item) unenforced() []diag.Finding {
	if it.Ref.Kind != item.Tool || it.Support() {
		return nil
	}
	var out []diag.Finding
	for _, u := range unenforced {
		if it.Meta.Fields[u.key] == nil {
			continue
		}
		pos := (&tree.Doc{Pos: it.Meta.Pos}).At(u.key)
		out = append(out, diag.Warnf(
			diag.ValidationFailed,
			max(pos.Line, 1),
			pos.Column,
			"this version of rye does not enforce %s: %s",
			u.key,
			u.instead,
		))
	}
	return out
}

// script checks the block # /// script of a Python tool.
func (it *Item) script() []diag.Finding {
	if it.Ref.Kind != item.Tool ||
		it.Support() ||
		it.Type.Codec != extract.CodecPython {
		return nil
	}
	_, found := pep723.Parse(it.Bytes)
	return found
}

// extends checks that the configuration that an item extends exists.
func (r *Resolver) extends(ctx context.Context, it *Item) []diag.Finding {
	base := it.Meta.Extends
	if base == "" || it.Ref.Kind != item.Config {
		return nil
	}
	pos := (&tree.Doc{Pos: it.Meta.Pos}).At(extendsKey)
	ref, err := item.ParseRef(base, it.Ref.Kind)
	if err == nil && r.Holds(ctx, ref, it.Root) {
		return nil
	}
	// The item may be in a bundle that is not installed yet.
	return []diag.Finding{diag.Warnf(
		diag.ValidationFailed,
		max(pos.Line, 1),
		pos.Column,
		"extends %q: no item of this name exists",
		base,
	)}
}

// settings checks the keys of a configuration against the schema of the farthest layer
// that has one. A layer sets some of the keys, so the schema must not require any.
func (r *Resolver) settings(ctx context.Context, it *Item) []diag.Finding {
	if it.Ref.Kind != item.Config {
		return nil
	}
	doc := r.settingsSchema(ctx, it)
	if doc == nil {
		return nil
	}
	s, _ := schema.Compile(doc)
	if s == nil {
		return nil // reported in the layer that has it
	}
	properties := map[string]any{}
	for key, v := range it.Meta.Fields {
		// null removes the value of a farther layer
		if v != nil &&
			!slices.Contains(commonKeys(), key) &&
			!strings.HasPrefix(key, "x-") {
			properties[key] = v
		}
	}
	positions := &tree.Doc{Pos: it.Meta.Pos}
	var out []diag.Finding
	for _, v := range s.Validate(properties) {
		pos := positions.At(v.At)
		f := diag.Errorf(
			diag.ValidationFailed,
			max(pos.Line, 1),
			pos.Column,
			"%s: %s",
			strings.TrimPrefix(v.Path, "$."),
			v.Message,
		)
		if _, top := properties[v.At]; top && v.Keyword == "additionalProperties" {
			f.Message = "unknown key " + strconv.Quote(v.At)
			near := suggest.Nearest(v.At, s.Properties())
			if near != "" {
				f = f.WithReason("nearest", "nearest", near)
			}
		}
		out = append(out, f)
	}
	return out
}

// commonKeys are the keys of every configuration.
func commonKeys() []string {
	return []string{"schema_version", "name", "category", "description", "author", "version", "tags", extendsKey, schemaKey}
}

func (r *Resolver) settingsSchema(ctx context.Context, it *Item) map[string]any {
	files, err := r.layerFiles(it.Extractor, it.Ref)
	if err != nil {
		return nil // two files of one id are reported elsewhere
	}
	for _, at := range slices.Backward(files) {
		layer, err := r.Open(ctx, Entry{Ref: it.Ref, Root: at.root, Rel: at.rel})
		if err != nil || layer.Usable() != nil {
			continue
		}
		doc, ok := layer.Meta.Fields[schemaKey].(map[string]any)
		if ok {
			return doc
		}
	}
	doc, _ := it.Meta.Fields[schemaKey].(map[string]any)
	return doc
}

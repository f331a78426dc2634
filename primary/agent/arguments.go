package agent

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

// maxName is the length of the longest item_id, in bytes.
const maxName = 4096

// arguments parses the arguments of a verb and checks them with fit.
func (w *Workspace) arguments(
	ctx context.Context,
	name string,
	raw json.RawMessage,
) (map[string]any, error) {
	if len(strings.TrimSpace(string(raw))) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	args, fs := object(raw)
	if err := diag.FromFindings("reading the arguments of "+name, fs); err != nil {
		return nil, err
	}
	return w.fit(ctx, name, args)
}

// fit checks arguments against the verb's schema and returns them with the
// schema's defaults. Unambiguous variants are accepted: a ref or a path as
// item_id, parameters as a text of JSON. Everything else is reported in one
// error, with the corrected call if there is one.
func (w *Workspace) fit(
	ctx context.Context,
	name string,
	args map[string]any,
) (map[string]any, error) {
	c, err := w.compiled(ctx, name)
	if err != nil {
		return nil, err
	}
	s := c.schema
	props := c.props
	args = maps.Clone(args)
	bad := unpack(args)
	var unknown []int // findings about names that the verb does not have
	if s.Known("item_type") == nil {
		bad = append(bad, w.identify(ctx, args)...)
	}
	for _, v := range s.Validate(args) {
		code := diag.ValidationFailed
		if v.Keyword == "additionalProperties" {
			code = diag.UnknownParameter
		}
		if _, top := args[v.At]; top && code == diag.UnknownParameter {
			unknown = append(unknown, len(bad))
		}
		bad = append(bad, diag.Errorf(code, 0, 0, "%s %s", v.Path, v.Message))
	}
	if len(bad) == 0 {
		return s.Defaults(args), nil
	}
	better, ok := w.inParameters(ctx, name, props, args)
	if !ok {
		better, ok = corrected(props, args)
	}
	if len(unknown) > 0 && !ok {
		bad[unknown[0]].Message += w.named(ctx, name, props, args)
	}
	e := diag.Typed(diag.FromFindings("reading the arguments of "+name, bad)).
		WithReason("arguments").
		WithDetail("tool", name)
	if ok {
		e.WithReason("arguments_corrected").WithDetail("corrected_call", better)
	}
	return nil, e
}

// named returns the names that a verb takes, and for execute where the parameters of the
// item belong, with their names.
func (w *Workspace) named(ctx context.Context, verb string, props, args map[string]any) string {
	declared, _ := props["properties"].(map[string]any)
	out := "; the names here are " + strings.Join(slices.Sorted(maps.Keys(declared)), ", ")
	if verb != string(policy.Execute) {
		return out
	}
	out += `; the parameters of the item belong into "parameters"`
	if names := w.parametersOf(ctx, args); len(names) > 0 {
		out += ": " + strings.Join(names, ", ")
	}
	return out
}

// maxNamed is the number of parameters that an error names.
const maxNamed = 24

// parametersOf returns the names of the parameters of the item that execute names.
func (w *Workspace) parametersOf(ctx context.Context, args map[string]any) []string {
	it, builtin := w.itemSchema(ctx, args)
	if it == nil {
		return nil
	}
	names, _ := builtin["properties"].(map[string]any)
	out := slices.Sorted(maps.Keys(names))
	return out[:min(len(out), maxNamed)]
}

// itemSchema returns the item that execute names and the schema of its parameters, nil
// if it cannot be used.
func (w *Workspace) itemSchema(ctx context.Context, args map[string]any) (*resolve.Item, map[string]any) {
	ref, err := refOf(args)
	if err != nil {
		return nil, nil
	}
	it, err := w.Verbs.Resolver().Inspect(ctx, ref)
	if err != nil || it.Usable() != nil {
		return nil, nil
	}
	if it.Ref.Kind == item.Tool {
		return it, it.Meta.Schema
	}
	return it, primary.InputSchema(w.Verbs.Resolver().Inputs(ctx, it))
}

// unpack replaces parameters that are a text of JSON, as some clients send
// them, by the object.
func unpack(args map[string]any) []diag.Finding {
	text, ok := args["parameters"].(string)
	if !ok {
		return nil
	}
	params, fs := object([]byte(text))
	if len(fs) > 0 {
		delete(args, "parameters")
		for i := range fs {
			fs[i].Message = "$.parameters is a text that is not a JSON object: " + fs[i].Message
		}
		return fs
	}
	args["parameters"] = params
	return nil
}

// object parses a JSON object with all digits of its numbers.
func object(text []byte) (map[string]any, []diag.Finding) {
	v, fs := jsonx.ParseMessage(text)
	m, ok := v.(map[string]any)
	if !ok && len(fs) == 0 {
		fs = []diag.Finding{diag.Errorf(
			diag.ParsingError,
			1,
			1,
			"the top level is %s, an object is required",
			tree.TypeName(v),
		)}
	}
	return m, fs
}

// identify replaces a ref or a path in item_id by the id, and sets item_type.
func (w *Workspace) identify(ctx context.Context, args map[string]any) []diag.Finding {
	word := text(args, "item_id")
	kind := text(args, "item_type")
	if len(word) > maxName {
		return []diag.Finding{diag.Errorf(
			diag.ValidationFailed,
			0,
			0,
			"$.item_id has %d bytes, more than %d",
			len(word),
			maxName,
		)}
	}
	if id, bundle, ok := strings.Cut(word, registryMark); ok { // the kind may be in front, as for rye add
		ref, err := item.ParseRef(id, item.Kind(kind))
		if err != nil || kind != "" && kind != string(ref.Kind) {
			return []diag.Finding{diag.Errorf(diag.ValidationFailed, 0, 0, "$.item_id %q is not ID@registry:HOST/NS/NAME@VERSION of the kind %q", word, kind)}
		}
		args["item_type"], args["item_id"] = string(ref.Kind), ref.ID+registryMark+bundle
		return nil
	}
	ref, ok := w.find(ctx, word, kind)
	if !ok {
		return nil
	}
	if kind != "" && kind != string(ref.Kind) {
		return []diag.Finding{diag.Errorf(
			diag.ValidationFailed,
			0,
			0,
			"$.item_id %q is a %s, but item_type is %q",
			word,
			ref.Kind,
			kind,
		)}
	}
	args["item_type"], args["item_id"] = string(ref.Kind), ref.ID
	return nil
}

// find returns the ref of an item_id that is a ref, a kind with a pattern, an id
// that only one kind has, or the path of an item's file.
func (w *Workspace) find(ctx context.Context, word, kind string) (item.Ref, bool) {
	if ref, err := item.ParseRef(word, ""); err == nil {
		return ref, true
	}
	if kind == "" && item.CheckID(word) == nil {
		ref, err := w.Verbs.Resolver().Ref(ctx, word)
		return ref, err == nil
	}
	if kind, pattern, ok := strings.Cut(word, ":"); ok &&
		strings.ContainsAny(pattern, "*?[") &&
		item.CheckKind(item.Kind(kind)) == nil {
		return item.Ref{Kind: item.Kind(kind), ID: pattern}, true
	}
	if !strings.ContainsAny(word, "./\\") || word == "" {
		return item.Ref{}, false
	}
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.Verbs.Dir(), filepath.FromSlash(path))
	}
	// Most words with a "/" are ids. To find the space of a path, every link in it and in
	// the directories of the spaces is examined.
	if _, err := os.Lstat(path); err != nil {
		return item.Ref{}, false
	}
	root, rel, ok := w.Verbs.Resolver().Spaces().Locate(path)
	if !ok || !root.Exists(rel) {
		return item.Ref{}, false
	}
	it, err := w.Verbs.Resolver().File(ctx, root, rel)
	if err != nil || it.Ref.IsZero() {
		return item.Ref{}, false
	}
	return it.Ref, true
}

// corrected returns the arguments with misspelled names and misspelled values of
// closed sets replaced by the nearest allowed ones. ok is false if that leaves
// an unknown name or a required one is missing, or if nothing changed.
func corrected(props map[string]any, args map[string]any) (out map[string]any, ok bool) {
	declared, _ := props["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(declared))
	out = map[string]any{}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(args)) {
		to := name
		if declared[name] == nil {
			to = suggest.Nearest(name, names)
			if to == "" || args[to] != nil {
				return nil, false
			}
			changed = true
		}
		v, better := nearestValue(declared[to], args[name])
		out[to] = v
		changed = changed || better
	}
	required, _ := props["required"].([]any)
	for _, name := range required {
		if text, _ := name.(string); out[text] == nil {
			return nil, false
		}
	}
	return out, changed
}

// inParameters returns the arguments of execute with the item's own parameters moved
// into parameters, where they were given next to item_id. ok is false if there are
// none, or other unknown names.
func (w *Workspace) inParameters(
	ctx context.Context,
	verb string,
	props, args map[string]any,
) (out map[string]any, ok bool) {
	if verb != string(policy.Execute) {
		return nil, false
	}
	it, builtin := w.itemSchema(ctx, args)
	if it == nil {
		return nil, false
	}
	names, _ := builtin["properties"].(map[string]any)
	declared, _ := props["properties"].(map[string]any)
	params, _ := args["parameters"].(map[string]any)
	params = maps.Clone(params)
	if params == nil {
		params = map[string]any{}
	}
	out = map[string]any{}
	for name, v := range args {
		switch {
		case declared[name] != nil:
			out[name] = v
		case names[name] != nil && params[name] == nil:
			params[name], ok = v, true
		default:
			return nil, false
		}
	}
	out["parameters"] = params
	return out, ok
}

// nearestValue returns the allowed value of a closed set that is nearest to v,
// or v and false.
func nearestValue(decl, v any) (any, bool) {
	m, _ := decl.(map[string]any)
	enum, _ := m["enum"].([]any)
	text, isText := v.(string)
	if !isText || len(enum) == 0 || slices.Contains(enum, v) {
		return v, false
	}
	var words []string
	for _, e := range enum {
		word, _ := e.(string)
		words = append(words, word)
	}
	if near := suggest.Nearest(text, words); near != "" {
		return near, true
	}
	return v, false
}

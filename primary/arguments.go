package primary

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
)

// arguments reads a verb's arguments: what is plainly meant is understood, and
// everything else that does not fit is reported at once, with the call that
// would.
func (h *Verbs) arguments(ctx context.Context, name string, raw json.RawMessage) (map[string]any, error) {
	doing := "reading the arguments of " + name
	if len(strings.TrimSpace(string(raw))) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	doc, fs := jsonx.Parse(raw)
	if err := diag.FromFindings(doing, fs); err != nil {
		return nil, err
	}
	return h.fit(ctx, name, doc.Root)
}

// fit checks arguments against the verb's schema and fills its defaults in.
func (h *Verbs) fit(ctx context.Context, name string, args map[string]any) (map[string]any, error) {
	props, err := h.schemaOf(ctx, name)
	if err != nil {
		return nil, err
	}
	s, fs := schema.Compile(props)
	if err := diag.FromFindings("reading the schema of "+verbRef(name).String(), fs); err != nil {
		return nil, err
	}
	args = maps.Clone(args)
	bad := unpack(args)
	if s.Known("item_type") == nil {
		bad = append(bad, h.identify(ctx, args)...)
	}
	for _, v := range s.Validate(args) {
		bad = append(bad, diag.Errorf(codeOf(v), 0, 0, "%s %s", v.Path, v.Message))
	}
	if len(bad) == 0 {
		return s.Defaults(args), nil
	}
	err = diag.Typed(diag.FromFindings("reading the arguments of "+name, bad)).WithHint("mend each listed argument and call %s again", name)
	if better, ok := corrected(props, args); ok {
		e := diag.Typed(err).WithDetail("corrected_call", better)
		text, _ := jsonx.Marshal(better)
		return nil, e.WithHint("call %s again with %s", name, text)
	}
	return nil, err
}

func codeOf(v schema.Violation) diag.Code {
	if v.Keyword == "additionalProperties" {
		return diag.UnknownParameter
	}
	return diag.ValidationFailed
}

// unpack reads parameters that came as a text of JSON, as some clients send
// them.
func unpack(args map[string]any) []diag.Finding {
	text, ok := args["parameters"].(string)
	if !ok {
		return nil
	}
	doc, fs := jsonx.Parse([]byte(text))
	if doc == nil {
		delete(args, "parameters")
		for i := range fs {
			fs[i].Message = "$.parameters is a text that is no JSON object: " + fs[i].Message
		}
		return fs
	}
	args["parameters"] = doc.Root
	return nil
}

// identify understands "tool:a/b" and paths of files as item_id, and fills
// item_type in from them.
func (h *Verbs) identify(ctx context.Context, args map[string]any) []diag.Finding {
	word, _ := args["item_id"].(string)
	kind, _ := args["item_type"].(string)
	if len(word) > maxName {
		return []diag.Finding{diag.Errorf(diag.ValidationFailed, 0, 0, "$.item_id has %d bytes, no id or path has more than %d", len(word), maxName)}
	}
	ref, ok := h.named(ctx, word, kind)
	if !ok {
		return nil
	}
	if kind != "" && kind != string(ref.Kind) {
		return []diag.Finding{diag.Errorf(diag.ValidationFailed, 0, 0, "$.item_id %q is a %s, and item_type says %q", word, ref.Kind, kind)}
	}
	args["item_type"], args["item_id"] = string(ref.Kind), ref.ID
	return nil
}

// maxName is the length of the longest item_id, in bytes.
const maxName = 4096

// named returns the ref that a word with a kind, a path, or an id that one kind
// alone holds stands for.
func (h *Verbs) named(ctx context.Context, word, kind string) (item.Ref, bool) {
	if ref, err := item.ParseRef(word, ""); err == nil {
		return ref, true
	}
	if kind == "" && item.CheckID(word) == nil {
		ref, err := h.p.Resolver.Ref(ctx, word)
		return ref, err == nil
	}
	if kind, pattern, ok := strings.Cut(word, ":"); ok && strings.ContainsAny(pattern, "*?[") && item.CheckKind(item.Kind(kind)) == nil {
		return item.Ref{Kind: item.Kind(kind), ID: pattern}, true
	}
	if !strings.ContainsAny(word, "./\\") || word == "" {
		return item.Ref{}, false
	}
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.p.Dir, filepath.FromSlash(path))
	}
	root, rel, ok := h.p.Resolver.Spaces().Locate(path)
	if !ok || !root.Exists(rel) {
		return item.Ref{}, false
	}
	it, err := h.p.Resolver.File(ctx, root, rel)
	if err != nil || it.Ref.IsZero() {
		return item.Ref{}, false
	}
	return it.Ref, true
}

// corrected returns the arguments with the mistakes that have one plain remedy
// repaired: names and values of a closed set that are nearly right.
func corrected(props map[string]any, args map[string]any) (map[string]any, bool) {
	declared, _ := props["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(declared))
	out, changed := map[string]any{}, false
	for _, name := range slices.Sorted(maps.Keys(args)) {
		to := name
		if declared[name] == nil {
			near := suggest.Nearest(name, names)
			if near == "" || args[near] != nil {
				return nil, false
			}
			to, changed = near, true
		}
		v, better := nearestValue(declared[to], args[name])
		out[to], changed = v, changed || better
	}
	required, _ := props["required"].([]any)
	for _, name := range required {
		if text, _ := name.(string); out[text] == nil {
			return nil, false
		}
	}
	return out, changed
}

// nearestValue returns the value of a closed set that v nearly is.
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

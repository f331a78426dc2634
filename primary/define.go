package primary

import (
	"context"
	"maps"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// VerbNames returns the names of the verbs that surfaces offer, sorted.
func VerbNames() []string {
	return []string{string(policy.Execute), string(policy.Load), string(policy.Search), string(policy.Sign)}
}

// Definitions returns what a surface shows of itself: the verbs that the caller
// holds at least one capability for, in the words of their items.
func (h *Verbs) Definitions(ctx context.Context, s *Settings) (*Definitions, error) {
	out := &Definitions{Instructions: s.Instructions}
	for _, name := range VerbNames() {
		if !h.offers(name, s) {
			continue
		}
		d, err := h.define(ctx, name)
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, *d)
	}
	return out, nil
}

// offers reports whether the caller may use the verb at all.
func (h *Verbs) offers(name string, s *Settings) bool {
	return h.p.Caller.Any(policy.Verb(name)) && (name != string(policy.Sign) || s.Sign != SignDeny)
}

func (h *Verbs) define(ctx context.Context, name string) (*Definition, error) {
	own, it, err := h.verbItems(ctx, name)
	if err != nil {
		return nil, err
	}
	d := &Definition{Name: name, Title: it.Meta.Title, Description: it.Meta.Description, Hints: hints(own)}
	in, err := h.filledIn(ctx, own)
	if err != nil {
		return nil, err
	}
	if d.InputSchema, err = jsonx.Marshal(sharpened(in, it)); err != nil {
		return nil, err
	}
	if out, ok := own.Meta.Fields["output_schema"].(map[string]any); ok {
		d.OutputSchema, err = jsonx.Marshal(out)
	}
	return d, err
}

// verbItems returns the item of a verb as this program supplies it, and the one
// that a project may have put in its place. Only the texts of the latter count:
// what a verb takes and what it may do is not for a project to say.
func (h *Verbs) verbItems(ctx context.Context, name string) (own, it *resolve.Item, err error) {
	ref := verbRef(name)
	if it, err = h.p.Resolver.Find(ctx, ref); err != nil {
		return nil, nil, err
	}
	all, err := h.p.Resolver.Shadows(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range all {
		if e.Root.Embedded() {
			if own, err = h.p.Resolver.Open(ctx, e); err == nil {
				err = own.Usable()
			}
			return own, it, err
		}
	}
	return it, it, nil
}

// sharpened returns a schema with the descriptions that an item has for its
// properties.
func sharpened(in map[string]any, it *resolve.Item) map[string]any {
	texts, _ := it.Meta.Schema["properties"].(map[string]any)
	props, _ := in["properties"].(map[string]any)
	out, better := maps.Clone(in), map[string]any{}
	for name, decl := range props {
		d, _ := decl.(map[string]any)
		other, _ := texts[name].(map[string]any)
		if text, ok := other["description"].(string); ok && d != nil {
			d = maps.Clone(d)
			d["description"] = text
		}
		better[name] = d
	}
	out["properties"] = better
	return out
}

// schemaOf returns the verb's schema of arguments.
func (h *Verbs) schemaOf(ctx context.Context, name string) (map[string]any, error) {
	own, _, err := h.verbItems(ctx, name)
	if err != nil {
		return nil, err
	}
	return h.filledIn(ctx, own)
}

// filledIn returns an item's schema with the kinds that extractors declare as
// the values of item_type. Configurations are merged, not used one by one.
func (h *Verbs) filledIn(ctx context.Context, it *resolve.Item) (map[string]any, error) {
	out := maps.Clone(it.Meta.Schema)
	props, _ := out["properties"].(map[string]any)
	decl, ok := props["item_type"].(map[string]any)
	if !ok {
		return out, nil
	}
	table, err := h.p.Resolver.Table(ctx)
	if err != nil {
		return nil, err
	}
	kinds := []any{}
	for _, ext := range table.All() {
		if ext.Kind != item.Config {
			kinds = append(kinds, string(ext.Kind))
		}
	}
	props, decl = maps.Clone(props), maps.Clone(decl)
	decl["enum"] = kinds
	props["item_type"], out["properties"] = decl, props
	return out, nil
}

func hints(it *resolve.Item) Hints {
	m, _ := it.Meta.Fields["annotations"].(map[string]any)
	is := func(name string) bool { v, _ := m[name].(bool); return v }
	return Hints{ReadOnly: is("readOnlyHint"), Destructive: is("destructiveHint"), Idempotent: is("idempotentHint"), OpenWorld: is("openWorldHint")}
}

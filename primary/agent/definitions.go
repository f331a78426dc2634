package agent

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// Definition is one of the four verbs as a model reads it. The texts and the
// schema come from the item tool:rye/primary/NAME.
// item_type has every kind that an extractor declares, except config: one layer of a
// configuration has no meaning by itself.
type Definition struct {
	Name         string
	Title        string
	Description  string
	InputSchema  json.RawMessage // root: type object, no further properties
	OutputSchema json.RawMessage // nil: none
	Hints        Hints
}

// Hints describe the effects of a verb to a client; all four are always sent.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Definitions are the instructions and tools that a server shows.
type Definitions struct {
	Instructions string
	Tools        []Definition // the verbs that the agent may use, sorted by name
	// Refused are the overrides of the verbs' items, and the kinds, that are not
	// used because their items are not trusted.
	Refused []error
}

// Names returns the names of the four verbs, sorted.
func Names() []string {
	return []string{
		string(policy.Execute),
		string(policy.Load),
		string(policy.Search),
		string(policy.Sign),
	}
}

// Definitions returns the verbs that an agent with these permissions may use for at
// least one item.
func (w *Workspace) Definitions(ctx context.Context, held policy.Held) (*Definitions, error) {
	out := &Definitions{Instructions: w.Settings.Instructions}
	for _, name := range Names() {
		if !w.offers(held, name) {
			continue
		}
		d, refused, err := w.define(ctx, name)
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, *d)
		out.refuse(refused)
	}
	_, err := w.Verbs.Resolver().Readable(ctx)
	out.refuse(err)
	for _, kind := range w.Verbs.Resolver().RefusedKinds() {
		out.refuse(kind.Err)
	}
	return out, nil
}

// refuse adds an error to Refused, once: one extractor can stop several items.
func (d *Definitions) refuse(err error) {
	if err != nil &&
		!slices.ContainsFunc(d.Refused, func(other error) bool { return other.Error() == err.Error() }) {
		d.Refused = append(d.Refused, err)
	}
}

// offers reports whether the agent may use the verb for any item.
func (w *Workspace) offers(held policy.Held, name string) bool {
	return held.AllowsAny(policy.Verb(name)) == nil &&
		(name != string(policy.Sign) || w.Settings.Sign != SignDeny)
}

func (w *Workspace) define(ctx context.Context, name string) (d *Definition, refused, err error) {
	verb, it, refused, err := w.verbItems(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	d = &Definition{
		Name:        name,
		Title:       it.Meta.Title,
		Description: it.Meta.Description,
		Hints:       hints(verb),
	}
	d.Hints.OpenWorld = d.Hints.OpenWorld || w.pinned() && name != string(policy.Sign) // a registry answers
	if d.InputSchema, err = orderedSchema(withDescriptions(w.schemaOf(verb, w.kinds(ctx)), it), verb); err != nil {
		return nil, nil, err
	}
	out, ok := verb.Meta.Fields["output_schema"].(map[string]any)
	if ok {
		d.OutputSchema, err = jsonx.Marshal(out)
	}
	return d, refused, err
}

// verbItems returns the embedded item of a verb and the item that overrides it,
// or the embedded one twice. An override changes texts only: a project must not
// change the arguments of a verb, nor the effects that clients are shown. So an
// override that is refused does not end the server: the system's texts are used,
// and refused is the reason.
//
// A project changes the texts of the verbs only. A false "read-only" hint would let clients run
// a verb without asking, and a looser schema would execute a mistyped dry_run.
func (w *Workspace) verbItems(ctx context.Context, name string) (verb, override *resolve.Item, refused, err error) {
	ref := verbRef(name)
	override, refused = w.Verbs.Resolver().Find(ctx, ref)
	if refused == nil && override.Root.Embedded() {
		return override, override, nil, nil
	}
	verb, err = w.Verbs.Resolver().System().Find(ctx, ref)
	switch {
	case diag.CodeOf(err) == diag.ToolNotFound: // a program without a system bundle
		return override, override, nil, refused
	case refused != nil:
		override = verb
	}
	return verb, override, refused, err
}

// withDescriptions returns a schema with the descriptions that an item has for
// the same properties.
func withDescriptions(in map[string]any, it *resolve.Item) map[string]any {
	texts, _ := it.Meta.Schema["properties"].(map[string]any)
	declared, _ := in["properties"].(map[string]any)
	props := map[string]any{}
	for name, v := range declared {
		d, _ := v.(map[string]any)
		other, _ := texts[name].(map[string]any)
		if text, ok := other["description"].(string); ok && d != nil {
			d = maps.Clone(d)
			d["description"] = text
		}
		props[name] = d
	}
	out := maps.Clone(in)
	out["properties"] = props
	return out
}

// kinds returns the kinds that extractors declare. Config is not one of them:
// configurations are merged and not used one by one; nor are recorded tests, which people
// record and run. A kind whose extractor is refused is one of them: a call that
// needs the extractor reports the error.
func (w *Workspace) kinds(ctx context.Context) []string {
	table, err := w.Verbs.Resolver().Readable(ctx)
	if err != nil {
		table = extract.Boot()
	}
	var out []string
	add := func(k item.Kind) {
		if k != item.Config && k != item.Test {
			out = append(out, string(k))
		}
	}
	for _, ext := range table.All() {
		add(ext.Kind)
	}
	for _, refused := range w.Verbs.Resolver().RefusedKinds() {
		add(refused.Kind)
	}
	return out
}

// schemaOf returns the argument schema of a verb's item, with the kinds as the
// values of item_type, and the space "registry" if the user pinned one.
func (w *Workspace) schemaOf(verb *resolve.Item, kinds []string) map[string]any {
	out := maps.Clone(verb.Meta.Schema)
	values := []any{}
	for _, kind := range kinds {
		values = append(values, kind)
	}
	setEnum(out, "item_type", values)
	if w.InThread {
		props, _ := out["properties"].(map[string]any)
		props = maps.Clone(props)
		delete(props, "mode")
		delete(props, "project_path")
		out["properties"] = props
	}
	props, _ := out["properties"].(map[string]any)
	if props["query"] != nil && w.pinned() {
		decl, _ := props["space"].(map[string]any)
		spaces, _ := decl["enum"].([]any)
		setEnum(out, "space", append(slices.Clone(spaces), search.RegistrySpace))
	}
	return out
}

// setEnum replaces the values of a property, if the schema has it, in copies of what
// changes.
func setEnum(s map[string]any, name string, values []any) {
	props, _ := s["properties"].(map[string]any)
	decl, ok := props[name].(map[string]any)
	if !ok {
		return
	}
	decl = maps.Clone(decl)
	decl["enum"] = values
	props = maps.Clone(props)
	props[name] = decl
	s["properties"] = props
}

// pinned reports whether the user pinned a registry.
func (w *Workspace) pinned() bool {
	return w.Registry != nil && w.Registry.Pinned()
}

func hints(it *resolve.Item) Hints {
	m, _ := it.Meta.Fields["annotations"].(map[string]any)
	is := func(name string) bool { v, _ := m[name].(bool); return v }
	return Hints{
		ReadOnly:    is("readOnlyHint"),
		Destructive: is("destructiveHint"),
		Idempotent:  is("idempotentHint"),
		OpenWorld:   is("openWorldHint"),
	}
}

package resolve

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/layered"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// The configurations with hooks and with their events.
const (
	hooksConfig  = "agent/hooks"
	eventsConfig = "agent/events"
)

// hookRules returns the mistakes in the hooks of a directive, or of a layer of
// config:agent/hooks: at run time such a hook would not run, or not do what it is for.
func (r *Resolver) hookRules(ctx context.Context, it *Item) []diag.Finding {
	doc := &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos}
	var list []hooks.Hook
	var found []diag.Finding
	switch {
	case it.Ref.Kind == item.Directive:
		list = it.Directive().Hooks // what cannot be read is among the findings of the item
	case it.Ref == item.Ref{Kind: item.Config, ID: hooksConfig}:
		list, found = hooks.Read(doc, 0)
		if len(r.settings(ctx, it)) > 0 {
			found = nil // the schema reports the same keys
		}
	}
	if len(list) == 0 {
		return found
	}
	rules := r.HookRules(ctx)
	if rules == nil {
		return found
	}
	return slices.Concat(
		found,
		rules.Check(list, doc),
		r.hookValues(ctx, rules, list, doc),
	)
}

// hookValues returns findings about values in the parameters of actions that a shell would
// read as a part of a program. A hook with one fails when it runs.
func (r *Resolver) hookValues(
	ctx context.Context,
	rules *hooks.Rules,
	list []hooks.Hook,
	doc *tree.Doc,
) (out []diag.Finding) {
	schema := func(ref item.Ref) any {
		it, err := r.Inspect(ctx, ref)
		if err != nil {
			return nil
		}
		return it.Meta.Fields["config_schema"]
	}
	risk, err := Risk(ctx, r)
	if err != nil {
		risk = nil // every run reports it
	}
	for _, h := range list {
		ref, err := item.ParseRef(h.Action.ID, h.Action.Kind)
		params, problems := interpolate.Compile(h.Action.Params)
		if err != nil ||
			ref.Kind != item.Tool ||
			h.Action.Primary != policy.Execute ||
			len(problems) > 0 {
			continue
		}
		called := policy.CallSchema(ref, schema(ref), params, policy.ConstantText, schema)
		for _, b := range policy.BracedNames(called, params, func(name string) bool { return eventReads(rules, h.Event, name) }) {
			pos := doc.At(h.At + ".params." + b.At)
			f := diag.Warnf(
				diag.ValidationFailed,
				pos.Line,
				pos.Column,
				"%s.params.%s: {%s} is not a template and stays as it is; the value is ${%s}",
				h.Name,
				b.At,
				b.Name,
				b.Name,
			)
			out = append(out, f.WithReason("braced_name"))
		}
		for _, u := range risk.ShellUses(called, params, nil) {
			pos := doc.At(h.At + ".params." + u.At)
			f := diag.Errorf(
				diag.ValidationFailed,
				pos.Line,
				pos.Column,
				"%s.params.%s: %s would become a part of the program that the shell reads",
				h.Name,
				u.At,
				u,
			)
			f = f.WithReason(u.Reason())
			f.Facts = u.Facts()
			out = append(out, f)
		}
	}
	return out
}

// eventReads reports whether hooks of an event read a value, or one below it.
func eventReads(rules *hooks.Rules, event, name string) bool {
	e, ok := rules.Event(event)
	return ok &&
		slices.ContainsFunc(e.Paths, func(p string) bool {
			return p == name || strings.HasPrefix(name, p+".")
		})
}

// HookRules returns the events of hooks that config:agent/events declares, nil without one.
// The signatures of its layers are not checked: they may be signed later than the hooks.
func (r *Resolver) HookRules(ctx context.Context) *hooks.Rules {
	ref := item.Ref{Kind: item.Config, ID: eventsConfig}
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return nil
	}
	files, err := r.layerFiles(ext, ref)
	if err != nil {
		return nil // two files of one id are reported elsewhere
	}
	var layers []layered.Layer
	for _, at := range slices.Backward(files) {
		it, err := r.Open(ctx, Entry{Ref: ref, Root: at.root, Rel: at.rel})
		if err != nil {
			return nil
		}
		layers = append(layers, layered.Layer{Name: it.Path(), Root: map[string]any{"hook_events": it.Meta.Fields["hook_events"]}})
	}
	if len(layers) == 0 {
		return nil
	}
	rules, fs := hooks.ReadRules(layered.Merge(layers))
	if diag.Failed(fs) {
		return nil // findings of that configuration
	}
	return rules
}

package prepare

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/directive"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Typed is the typed metadata of a directive with what it inherits.
type Typed struct {
	*directive.Directive
	Extends []string `json:"-"` // the refs, the nearest first
	// Unresolved states why a base or an alias could not be used. The metadata then come from
	// the directive alone.
	Unresolved string `json:"unresolved,omitempty"`
}

// TypedOf returns the typed metadata of a directive for people.
func TypedOf(ctx context.Context, p *project.Project, it *resolve.Item) *Typed {
	d, bases, err := p.Resolver.Directive(ctx, it)
	if err != nil {
		d = it.Directive()
	}
	rules := p.Resolver.HookRules(ctx)
	if rules != nil && len(d.Hooks) > 0 {
		shown := *d
		shown.Hooks = rules.WithDefaults(d.Hooks)
		d = &shown
	}
	if err != nil {
		t := &Typed{Directive: d, Unresolved: diag.Typed(err).Message}
		if !t.Directive.Extends.IsZero() {
			t.Extends = []string{t.Directive.Extends.String()}
		}
		return t
	}
	t := &Typed{Directive: d}
	for _, b := range bases {
		t.Extends = append(t.Extends, b.Ref.String())
	}
	return t
}

// Lines returns the metadata as lines of a name and a value.
func (t *Typed) Lines() [][2]string {
	var out [][2]string
	add := func(name, value string) {
		if value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	add("not resolved", t.Unresolved)
	add("model", modelLine(t.Model))
	add("limits", limitsLine(t.Limits))
	if s := t.Permissions.Sandbox; s != nil {
		b, _ := s.MarshalJSON()
		add("sandbox", string(b))
	}
	for _, c := range t.Context {
		add("context", contextLine(c))
	}
	for _, h := range t.Hooks {
		add("hook", hookLine(h))
	}
	for _, c := range t.Checks {
		add("check", fmt.Sprintf("tool:%s, at most %d attempts", strings.TrimPrefix(c.Tool, "tool:"), c.Attempts))
	}
	return out
}

// words collects "name value" pairs.
type words []string

func (w *words) add(name, value string) {
	if value != "" {
		*w = append(*w, name+" "+value)
	}
}

func (w *words) number(name string, n *int64) {
	if n != nil {
		w.add(name, strconv.FormatInt(*n, 10))
	}
}

func modelLine(m directive.Model) string {
	var w words
	w.add("tier", m.Tier)
	w.add("id", m.ID)
	w.add("provider", m.Provider)
	var fallback []string
	for _, f := range m.Fallback {
		fallback = append(fallback, f.String())
	}
	w.add("fallback", strings.Join(fallback, " "))
	w.add("effort", m.Effort)
	if m.MaxOutputTokens > 0 {
		w.number("max_output_tokens", &m.MaxOutputTokens)
	}
	if m.Temperature != nil {
		w.add("temperature", strconv.FormatFloat(*m.Temperature, 'g', -1, 64))
	}
	if m.Parallel != nil {
		w.add("parallel", strconv.FormatBool(*m.Parallel))
	}
	return strings.Join(w, ", ")
}

func limitsLine(l directive.Limits) string {
	var w words
	w.number("turns", l.Turns)
	w.number("tokens", l.Tokens)
	if l.Spend != nil {
		w.add("spend", "$"+l.Spend.String())
	}
	w.number("spawns", l.Spawns)
	w.number("depth", l.Depth)
	w.number("duration_seconds", l.DurationSeconds)
	return strings.Join(w, ", ")
}

func contextLine(c directive.Context) string {
	w := words{c.Ref.String()}
	w.add("at", c.At)
	if c.MaxTokens > 0 {
		w.number("max_tokens", &c.MaxTokens)
	}
	if c.Optional {
		w = append(w, "optional")
	}
	return strings.Join(w, ", ")
}

func hookLine(h hooks.Hook) string {
	var w words
	if h.ID != "" {
		w = append(w, h.ID)
	}
	w.add("on", h.Event)
	if h.Condition != nil {
		w.add("if", h.Condition.String())
	}
	a := h.Action
	word, ok := a.Params["action"].(string)
	if ok && a.ID == hooks.ControlID {
		w.add("then", word)
	} else {
		w.add(
			"then",
			string(a.Primary)+" "+string(a.Kind)+":"+a.ID,
		)
	}
	w.add("on failure", h.OnFailure)
	return strings.Join(w, ", ")
}

// References returns the items that knowledge refers to.
func References(it *resolve.Item) []string {
	if it.Ref.Kind != item.Knowledge {
		return nil
	}
	var out []string
	for _, key := range []string{"references", "extends", "used_by"} {
		switch v := it.Meta.Fields[key].(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, x := range v {
				if s, ok := x.(string); ok {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

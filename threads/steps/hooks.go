package steps

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cond"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// The numbers of the sources of hooks, which is their order.
const (
	UserHooks int64 = 1 + iota
	DirectiveHooks
	ProjectHooks
	BuiltinHooks
	InfraHooks // observers: their results are ignored
)

// Hook is one hook of a thread, with the number of its source or the higher one that
// it asks for.
type Hook struct {
	ID        string         `json:"id"`
	Event     string         `json:"event"`
	Source    int64          `json:"source"`
	From      string         `json:"from"` // the file or the directive
	Position  string         `json:"position,omitempty"`
	Condition string         `json:"condition,omitempty"` // "" is true
	Verb      policy.Verb    `json:"primary"`
	Kind      item.Kind      `json:"item_type"`
	Item      string         `json:"item_id"` // may have templates, as Params
	Params    map[string]any `json:"params,omitempty"`
	OnFailure string         `json:"on_failure"`
}

// HookLayer is one layer of config:agent/hooks. Layers are not merged: a project must
// not replace a hook of the user.
type HookLayer struct {
	Source int64
	Path   string
	Doc    *tree.Doc
}

// LoadHooks returns the hooks of a thread in the order in which they run. A hook of
// the user or of the project replaces the builtin one with its id.
// Those with which a thread must not start are findings: of an unknown event, or of a
// control action that could not be run.
func LoadHooks(
	layers []HookLayer,
	of []hooks.Hook,
	from string,
	rules *hooks.Rules,
) ([]Hook, []diag.Finding) {
	out := bound(of, DirectiveHooks, from, rules)
	fs := diag.WithPath(rules.CheckUsable(of, nil), from)
	replaced := map[string]bool{}
	for _, l := range layers {
		list, found := hooks.Read(l.Doc, l.Source)
		list = slices.DeleteFunc(list, func(h hooks.Hook) bool {
			return rules.Graph(h.Event)
		}) // no thread has them
		found = append(found, rules.CheckUsable(list, l.Doc)...)
		fs = append(fs, diag.WithPath(found, l.Path)...)
		if l.Source != BuiltinHooks {
			for _, h := range list {
				replaced[h.ID] = true
			}
		}
		out = append(out, bound(list, l.Source, l.Path, rules)...)
	}
	builtin := map[string]bool{}
	for _, l := range layers {
		builtin[l.Path] = builtin[l.Path] || l.Source == BuiltinHooks
	}
	out = slices.DeleteFunc(out, func(h Hook) bool {
		return builtin[h.From] && replaced[h.ID]
	})
	for i := range out {
		_, err := cond.Parse(out[i].Condition)
		if out[i].Condition != "" && err != nil {
			f := diag.Errorf(diag.ConfigError, 0, 0, "the condition of the hook %s cannot be written as a text: %v", out[i].ID, err)
			fs = append(fs, diag.WithPath(
				[]diag.Finding{f},
				out[i].From,
			)...)
		}
	}
	slices.SortStableFunc(out, func(a, b Hook) int {
		return cmp.Compare(a.Source, b.Source)
	})
	return out, fs
}

func bound(list []hooks.Hook, source int64, from string, rules *hooks.Rules) []Hook {
	var out []Hook
	for _, h := range list {
		rule, _ := rules.Event(h.Event)
		b := Hook{
			ID:        h.ID,
			Event:     h.Event,
			Source:    max(source, h.Layer),
			From:      from,
			Position:  h.Position,
			OnFailure: cmp.Or(h.OnFailure, rule.Default()),
			Verb:      h.Action.Primary,
			Kind:      h.Action.Kind,
			Item:      h.Action.ID,
			Params:    h.Action.Params,
		}
		if h.Condition != nil {
			b.Condition = h.Condition.String()
		}
		out = append(out, b)
	}
	return out
}

// HookText is a text that a hook of thread_started adds to what the model reads.
type HookText struct {
	Hook     string `json:"hook"`
	Position string `json:"position"` // system, before or after
	Ref      string `json:"ref"`
	Text     string `json:"text"`
}

// HookResult is the result of run_hooks.
type HookResult struct {
	Control *Control   `json:"control"`
	Texts   []HookText `json:"texts"`
	Ran     int        `json:"ran"`
}

type hookParams struct {
	Event   string         `json:"event"`
	Context map[string]any `json:"context"`
	Hooks   []Hook         `json:"hooks"`
}

// runHooks runs the hooks of one event in order until one decides. After it only the
// observers run.
//
// Params: {event, context, hooks}. Result: HookResult.
func runHooks(ctx context.Context, in Input) (Output, error) {
	if none, err := nothingToRun(ctx, in); err != nil || none {
		if err != nil {
			return Output{}, err
		}
		return done(HookResult{Texts: []HookText{}})
	}
	p, err := params[hookParams]("run_hooks", in)
	if err != nil {
		return Output{}, err
	}
	p.Hooks = slices.DeleteFunc(p.Hooks, func(h Hook) bool {
		return h.Event != p.Event
	})
	root, err := in.Services.Config(ctx, EventsConfig)
	if err != nil {
		return Output{}, err
	}
	rule, err := hookRule(root, p.Event)
	if err != nil {
		return Output{}, err
	}
	if len(p.Hooks) == 0 {
		return done(HookResult{Texts: []HookText{}})
	}
	// The parameters of the step have the numbers as conditions compare them.
	scope := flat(in.Params["context"])
	cfg, err := config(ctx, in.Services, ResilienceConfig, ReadResilience)
	if err != nil {
		return Output{}, err
	}
	r := &hookRun{
		in:     in,
		rule:   rule,
		time:   cfg.HookTime,
		scope:  scope,
		match:  named(scope),
		result: HookResult{Texts: []HookText{}},
	}
	for i := range p.Hooks {
		err := r.hook(ctx, &p.Hooks[i])
		if err != nil {
			return Output{}, err
		}
	}
	return done(r.result, r.events...)
}

// nothingToRun reports whether parameters belong to an event without hooks, as most events of
// most threads do. A turn has many of them: their context is not decoded.
func nothingToRun(ctx context.Context, in Input) (bool, error) {
	p := in.Params
	event, isText := p["event"].(string)
	list, isList := p["hooks"].([]any)
	_, isMap := p["context"].(map[string]any)
	if !isText || !isList || !isMap || len(p) != 3 || len(list) > 0 {
		return false, nil
	}
	root, err := in.Services.Config(ctx, EventsConfig)
	if err != nil {
		return false, err
	}
	events, _ := root["hook_events"].([]any)
	return slices.ContainsFunc(events, func(v any) bool {
		e, _ := v.(map[string]any)
		return e["id"] == event
	}), nil
}

// ReadRules reads the events of hooks of config:agent/events.
func ReadRules(root map[string]any) (*hooks.Rules, error) {
	rules, fs := hooks.ReadRules(root)
	return rules, diag.FromFindings("reading config:"+EventsConfig, fs)
}

func hookRule(root map[string]any, event string) (hooks.Rule, error) {
	rules, err := ReadRules(root)
	if err != nil {
		return hooks.Rule{}, err
	}
	rule, ok := rules.Event(event)
	if ok {
		return rule, nil
	}
	err = diag.New(diag.ValidationFailed, "running hooks: %q is not an event of hooks in config:%s", event, EventsConfig)
	if near := suggest.Nearest(event, rules.Events()); near != "" {
		diag.Typed(err).WithReason("nearest").WithDetail("nearest", near)
	}
	return rule, err
}

// flat returns the context of an event. The error of a failed model call may be whole,
// with its status and headers: error.code and error.message come from its error.
func flat(context any) map[string]any {
	scope, _ := context.(map[string]any)
	whole, _ := scope["error"].(map[string]any)
	inner, ok := whole["error"].(map[string]any)
	if !ok {
		return scope
	}
	out := maps.Clone(scope)
	out["error"] = inner
	return out
}

// named returns the scope in which error.code has all names of the error: its code,
// and the id, the category, the code and the aliases of its classification.
func named(scope map[string]any) map[string]any {
	e, ok := scope["error"].(map[string]any)
	if !ok {
		return scope
	}
	var names cond.Names
	add := func(v any) {
		s, ok := v.(string)
		if ok && s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	add(e["code"])
	if c, ok := scope["classification"].(map[string]any); ok {
		for _, key := range []string{"code", "id", "category"} {
			add(c[key])
		}
		aliases, _ := c["aliases"].([]any)
		for _, a := range aliases {
			add(a)
		}
	}
	if len(names) == 0 {
		return scope
	}
	out := maps.Clone(scope)
	withNames := maps.Clone(e)
	withNames["code"] = names
	out["error"] = withNames
	return out
}

// hookRun is the run of the hooks of one event.
type hookRun struct {
	in           Input
	time         time.Duration // of each
	rule         hooks.Rule
	scope, match map[string]any
	result       HookResult
	events       []Event
}

// hook runs one hook if its condition is true and no hook has decided.
func (r *hookRun) hook(ctx context.Context, h *Hook) error {
	infra := h.Source == InfraHooks
	if r.result.Control != nil && !infra && !r.rule.Every {
		return nil
	}
	// A condition that cannot be decided is a failed hook: on_failure decides.
	var unreadable error
	if h.Condition != "" {
		c, err := cond.Parse(h.Condition)
		if err != nil {
			return diag.New(diag.ConfigError, "reading the condition of the hook %s: %w", h.ID, err)
		}
		yes, err := c.Eval(r.match)
		if err == nil && !yes {
			return nil
		}
		if err != nil {
			unreadable = diag.New(diag.ValidationFailed, "reading its condition: %w", err)
		}
	}
	began := r.in.Services.Now()
	id := h.Item
	data := any(nil)
	err := unreadable
	if err == nil {
		id, data, err = r.execute(ctx, h)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var c, unread *Control
	if err == nil && !infra {
		c, unread, err = r.decision(h, data)
	}
	if err == nil && !infra && c == nil && r.rule.Texts {
		err = r.addText(h, id, data)
	}
	r.result.Ran++
	record := map[string]any{
		"event": h.Event, "hook": h.ID, "source": sourceNames()[h.Source], "ref": string(h.Kind) + ":" + id, "ok": err == nil,
		"duration_ms": r.in.Services.Now().Sub(began).Milliseconds(),
	}
	if err != nil {
		record["error"] = err.Error()
	}
	r.events = append(r.events, event("hook_run", record))
	if err != nil && !infra {
		if c = r.rule.Failed(h.OnFailure, h.stated(), "the hook "+h.ID+" failed: "+err.Error()); c == nil {
			c = unread
		}
	}
	r.decide(h, c)
	return nil
}

// stated returns the control action that a hook decides whatever its action returns, or "".
func (h *Hook) stated() string {
	if h.Item != hooks.ControlID || h.Kind != item.Tool {
		return ""
	}
	return hooks.Stated(h.Params)
}

func sourceNames() map[int64]string {
	return map[int64]string{
		UserHooks:      "user",
		DirectiveHooks: "directive",
		ProjectHooks:   "project",
		BuiltinHooks:   "builtin",
		InfraHooks:     "infra",
	}
}

// decide keeps a decision. Where every hook runs, a denial replaces another decision.
func (r *hookRun) decide(h *Hook, c *Control) {
	if c == nil ||
		r.result.Control != nil && (c.Action != "deny" || r.result.Control.Action == "deny") {
		return
	}
	c.By = h.ID
	r.result.Control = c
	r.events = append(r.events, event("control", map[string]any{
		"action": c.Action, "by": h.ID, "reason": cmp.Or(c.Message, c.Feedback), "delay_ms": int64(c.Delay * 1000),
	}))
}

// execute renders the action of a hook and runs it through the gates.
func (r *hookRun) execute(ctx context.Context, h *Hook) (id string, data any, err error) {
	v, err := render(h.Item, r.scope)
	if err != nil {
		return h.Item, nil, err
	}
	id, ok := v.(string)
	if !ok {
		return h.Item, nil, diag.New(diag.ValidationFailed, "item_id is %s, not a text", tree.TypeName(v))
	}
	rendered, err := render(h.Params, r.scope)
	if err != nil {
		return id, nil, err
	}
	params, _ := rendered.(map[string]any)
	within, cancel := context.WithTimeout(ctx, r.time)
	defer cancel()
	data, err = r.in.Services.Execute(within, Action{
		Verb:     h.Verb,
		Kind:     string(h.Kind),
		ID:       id,
		Params:   params,
		By:       h.ID,
		Event:    h.Event,
		Template: h.Params,
		Scope:    r.scope,
	})
	if within.Err() != nil && ctx.Err() == nil {
		err = diag.New(diag.Timeout, "the hook took longer than %s", r.time)
	}
	return id, unwrap(data), err
}

// unwrap returns the data of an envelope {success, data}, which is the result of a step
// and of many programs.
func unwrap(data any) any {
	m, _ := data.(map[string]any)
	inner, ok := m["data"]
	if _, envelope := m["success"].(bool); ok && envelope {
		return inner
	}
	return data
}

// render fills in the templates of a value. The values are not templates again.
func render(v any, scope map[string]any) (any, error) {
	m, ok := v.(map[string]any)
	if ok && m == nil {
		return nil, nil
	}
	t, problems := interpolate.Compile(v)
	if len(problems) > 0 {
		return nil, diag.New(diag.ValidationFailed, "%s", problems[0].Text)
	}
	return t.Render(scope)
}

// decision returns the control action in a result, if the event permits it. A result that
// has one which cannot be acted on is an error: unread is then the decision that keeps the
// thread from continuing, unless the action would not have stopped it.
func (r *hookRun) decision(h *Hook, data any) (c, unread *Control, err error) {
	c, err = ReadControl(data)
	if err != nil {
		return nil, r.rule.Closed("the hook " + h.ID + " decided something that rye cannot act on: " + err.Error()), err
	}
	if c == nil || slices.Contains(r.rule.Decides, c.Action) {
		return c, nil, nil
	}
	may := "no hook decides"
	if len(r.rule.Decides) > 0 {
		may = "a hook may " + strings.Join(r.rule.Decides, ", ")
	}
	err = diag.New(diag.ValidationFailed, "the hook decided %s, and at %s %s", c.Action, h.Event, may)
	if hooks.Stops(c.Action) {
		unread = r.rule.Closed(
			"the hook " + h.ID + " decided " + c.Action + ", which " + h.Event + " does not permit",
		)
	}
	return nil, unread, err
}

// addText keeps the text in the result of a thread_started hook. An item that only an
// agent or the runtime signed is not an instruction.
// The output of a hook's tool has trust="result": the tool is trusted, and its output is
// material.
func (r *hookRun) addText(h *Hook, id string, data any) error {
	s := ""
	switch v := data.(type) {
	case string:
		s = v
	case map[string]any:
		if verdict, ok := v["trust"].(string); ok && verdict != trusted {
			return diag.New(diag.PermissionDenied, "%s:%s is %s, and only trusted items become context", h.Kind, id, verdict)
		}
		for _, key := range []string{"content", "text", "output", "stdout", "body"} {
			if t, ok := v[key].(string); ok && s == "" {
				s = t
			}
		}
		if s == "" && len(v) > 0 {
			b, err := jsonx.Marshal(v)
			if err != nil {
				return diag.New(diag.Internal, "writing the result of a hook: %w", err)
			}
			s = string(b)
		}
	}
	if strings.TrimSpace(s) != "" {
		r.result.Texts = append(r.result.Texts, HookText{h.ID, cmp.Or(h.Position, "before"), string(h.Kind) + ":" + id, s})
	}
	return nil
}

// trusted is the verdict of items whose text may become context.
const trusted = "trusted"

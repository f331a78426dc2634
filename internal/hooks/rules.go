package hooks

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
)

// Rule is what hooks of an event may do.
type Rule struct {
	ID      string
	Graph   bool     // an event of the runs of graphs, whose hooks are in the graph itself
	Decides []string // the control actions
	Every   bool     // all hooks run, and one denial is enough
	Texts   bool     // the results are texts for the model
	Paths   []string // that conditions and parameters read; nil: not declared
}

// Rules are the events of hooks.
type Rules struct {
	events map[string]Rule
	ids    []string // of threads, sorted
}

// ReadRules reads the list hook_events of config:agent/events.
func ReadRules(root map[string]any) (*Rules, []diag.Finding) {
	r := tree.NewReader(&tree.Doc{Root: root}, diag.ConfigError)
	out := &Rules{events: map[string]Rule{}}
	for _, m := range r.Maps("hook_events") {
		e := Rule{
			ID:      m.Text("id"),
			Graph:   m.Enum("of", "thread", "thread", "graph") == "graph",
			Decides: m.Texts("decides", nil),
			Every:   m.Bool("every", false),
			Texts:   m.Bool("texts", false),
		}
		if m.Has("paths") {
			e.Paths = append(m.Texts("paths", nil), commonPaths()...)
		}
		out.events[e.ID] = e
		if !e.Graph {
			out.ids = append(out.ids, e.ID)
		}
	}
	slices.Sort(out.ids)
	return out, r.Findings()
}

// commonPaths are the facts about the thread that hooks of every event read.
func commonPaths() []string {
	return []string{"turn", "inputs", "directive", "model", "thread_id", "limits", "present", "headless", "cost", "usage", "context_ratio"}
}

// Event returns the rule of an event of threads.
func (r *Rules) Event(id string) (Rule, bool) {
	e, ok := r.events[id]
	return e, ok && !e.Graph
}

// Graph reports whether an event is one of the runs of graphs.
func (r *Rules) Graph(id string) bool {
	return r.events[id].Graph
}

// Events returns the events of threads, sorted.
func (r *Rules) Events() []string {
	return slices.Clone(r.ids)
}

// Default returns the decision if the action of a hook fails and the hook does not state one:
// a call that hooks guard is denied.
func (e Rule) Default() string {
	if e.Every {
		return "deny"
	}
	return "continue"
}

// WithDefaults returns hooks with what follows if their actions fail.
func (r *Rules) WithDefaults(list []Hook) []Hook {
	out := slices.Clone(list)
	for i := range out {
		rule, ok := r.Event(out[i].Event)
		if ok && out[i].OnFailure == "" {
			out[i].OnFailure = rule.Default()
		}
	}
	return out
}

// Closed returns the decision for a hook that was meant to stop the thread, or one call,
// and whose decision cannot be read: the mildest that the event permits. It is nil where
// no hook can stop anything.
func (e Rule) Closed(reason string) *Control {
	for _, action := range []string{"escalate", "suspend", "deny", "fail", "abort"} {
		if slices.Contains(e.Decides, action) {
			return decision(action, reason)
		}
	}
	return nil
}

// decision returns a control action with a reason in the member that it has for one.
func decision(action, reason string) *Control {
	c := &Control{Action: action}
	switch action {
	case "deny":
		c.Feedback = reason
	case "escalate":
		c.To = "person"
		c.Message = reason
	default:
		c.Message = reason
	}
	return c
}

// Failed returns the decision that follows from a hook whose action failed, or nil. An
// action that only states to stop still stops: its parameters give the reason, they are
// not the decision.
func (e Rule) Failed(onFailure, stated, reason string) *Control {
	switch {
	case onFailure == "fail", onFailure == "deny" && slices.Contains(e.Decides, "deny"):
		return decision(onFailure, reason)
	case onFailure == "deny": // there is no call to deny
		return e.Closed(reason)
	case Stops(stated) && slices.Contains(e.Decides, stated):
		return decision(stated, reason)
	case Stops(stated):
		return e.Closed(reason)
	}
	return nil
}

// Check returns the mistakes in hooks: events that do not exist, control actions with wrong
// parameters or that the event does not permit, and paths that the event does not have.
// doc is the document of the hooks, or nil.
func (r *Rules) Check(list []Hook, doc *tree.Doc) []diag.Finding {
	c := checker{rules: r, doc: doc}
	for _, h := range list {
		c.hook(h)
	}
	return c.out
}

// CheckUsable returns the mistakes of Check with which a thread must not start: the hook
// could not do its work.
func (r *Rules) CheckUsable(list []Hook, doc *tree.Doc) []diag.Finding {
	c := checker{rules: r, doc: doc}
	for _, h := range list {
		if c.event(h) {
			c.control(h)
		}
	}
	return c.out
}

type checker struct {
	rules *Rules
	doc   *tree.Doc
	out   []diag.Finding
}

func (c *checker) reject(h Hook, key, format string, args ...any) *diag.Finding {
	pos := diag.Position{}
	if c.doc != nil {
		pos = c.doc.At(h.At + "." + key)
	}
	f := diag.Errorf(
		diag.ValidationFailed,
		pos.Line,
		pos.Column,
		h.Name+"."+key+" "+format,
		args...,
	)
	c.out = append(c.out, f)
	return &c.out[len(c.out)-1]
}

func nearest(f *diag.Finding, word string, known []string) {
	if near := suggest.Nearest(word, known); near != "" {
		*f = f.WithReason("nearest", "nearest", near)
	}
}

// event reports an event that does not exist.
func (c *checker) event(h Hook) bool {
	_, ok := c.rules.Event(h.Event)
	switch {
	case ok || h.Event == "":
	case c.rules.Graph(h.Event):
		c.reject(h, "event", "is %q, an event of graphs: their hooks are in config.hooks of the graph", h.Event)
	default:
		nearest(
			c.reject(h, "event", "is %q, which is not an event", h.Event),
			h.Event,
			c.rules.Events(),
		)
	}
	return ok
}

func (c *checker) hook(h Hook) {
	if !c.event(h) {
		return
	}
	e, _ := c.rules.Event(h.Event)
	c.control(h)
	if h.OnFailure == "deny" && !slices.Contains(e.Decides, "deny") {
		c.reject(h, "on_failure", "is deny, and hooks of %s deny nothing: fail ends the thread", h.Event)
	}
	if h.OnFailure == "continue" && h.Action.control() == "escalate" {
		c.reject(h, "on_failure", "is continue: a hook that asks a person must not continue without the answer")
	}
	if e.Paths == nil {
		return
	}
	if h.Condition != nil {
		for _, p := range h.Condition.Paths() {
			c.path(h, e, "condition", p)
		}
	}
	for key, v := range map[string]any{"params": h.Action.Params, "action": h.Action.ID} {
		if t, problems := interpolate.Compile(v); len(problems) == 0 {
			t.Each(func(_ string, x *interpolate.Expr) {
				if !x.Optional {
					c.path(h, e, key, x.Path)
				}
			})
		} else {
			c.reject(h, key, "has a template that cannot be read: %s", problems[0].Text)
		}
	}
}

// control checks a control action that states what it decides.
// A hook that decides what its event does not permit failed, and its on_failure decides. So a
// broken guard of before_tool denies the call.
func (c *checker) control(h Hook) {
	if h.Action.ID != ControlID {
		return
	}
	e, _ := c.rules.Event(h.Event)
	if key, err := checkParams(h.Action.Params); err != nil {
		de := diag.Typed(err)
		f := c.reject(
			h,
			c.whereIs(h, key),
			"is not a control action that rye can run: %s",
			strings.TrimPrefix(de.Message, "reading a control action: "),
		)
		f.Reason = de.Reason
		f.Facts = de.Details
		return
	}
	word := h.Action.control()
	if word != "" && !slices.Contains(e.Decides, word) {
		may := "no hook decides there"
		if len(e.Decides) > 0 {
			may = "hooks of this event may " + strings.Join(e.Decides, ", ")
		}
		c.reject(h, "action", "is %s, which %s does not permit: %s", word, h.Event, may)
	}
}

// whereIs returns the key of the hook that has a parameter of its action.
func (c *checker) whereIs(h Hook, param string) string {
	if param == "action" {
		return "action"
	}
	return "params." + param
}

// path reports a path that the event does not have: a condition that reads it is never
// true, and the hook never runs.
func (c *checker) path(h Hook, e Rule, key string, p dotpath.Path) {
	var roots []string
	for _, declared := range e.Paths {
		d, err := dotpath.Parse(declared)
		if err != nil || len(d) == 0 || len(p) == 0 {
			return
		}
		n := min(len(d), len(p))
		if slices.Equal(d[:n], p[:n]) {
			return
		}
		roots = append(roots, declared)
	}
	slices.Sort(roots)
	roots = slices.Compact(roots)
	nearest(
		c.reject(h, key, "reads %s, which hooks of %s do not have: they read %s", p, h.Event, strings.Join(roots, ", ")),
		p.String(),
		roots,
	)
}

// constant reports whether a value has no templates.
func constant(v any) bool {
	t, problems := interpolate.Compile(v)
	if len(problems) > 0 {
		return false
	}
	_, fixed := t.Constant()
	return fixed
}

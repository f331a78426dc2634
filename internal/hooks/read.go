package hooks

import (
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cond"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// sourceLayer is the number of the hooks of a directive. A hook may only raise its own.
const directiveLayer, lastLayer = 2, 5

// hookKeys are the keys of a hook in a configuration.
func hookKeys() []string {
	return []string{"id", "event", "layer", "position", "condition", "action", "delay", "tool", "directive", "knowledge", "params", "inputs", "on_failure", "description"}
}

// Read reads the list hooks of a configuration: hooks as directives have them. source is
// the number of the configuration's hooks.
func Read(doc *tree.Doc, source int64) ([]Hook, []diag.Finding) {
	r := reader{tree.NewReader(doc, diag.ConfigError)}
	for _, m := range r.Maps("hooks") {
		m.Only(hookKeys()...)
		m.Require("id", "event")
	}
	hooks := r.hooks(source)
	return hooks, r.Findings()
}

// OfDirective reads the hooks of a directive, whose parser checks the keys.
func OfDirective(r *tree.Reader) []Hook {
	return reader{r}.hooks(directiveLayer)
}

type reader struct{ *tree.Reader }

func (r reader) hooks(source int64) []Hook {
	var out []Hook
	seen := map[string]bool{}
	for _, m := range r.Maps("hooks") {
		h, ok := reader{m}.hook(source)
		if h.ID != "" && seen[h.ID] {
			m.Reject("id", "is %q, as of another hook", h.ID)
			continue
		}
		seen[h.ID] = true
		if ok {
			out = append(out, h)
		}
	}
	return out
}

// hook reads one hook and reports whether it can be used.
func (r reader) hook(source int64) (Hook, bool) {
	before := r.Failed()
	h := Hook{
		ID:    r.Text("id"),
		Event: r.Text("event"),
		At:    strings.TrimSuffix(r.Path(""), "."),
		Name:  r.Self(),
	}
	h.OnFailure = r.Enum("on_failure", "", "continue", "deny", "fail")
	if h.Position = r.Enum("position", "", "system", "before", "after"); h.Position != "" &&
		h.Event != "thread_started" {
		r.Reject("position", "has no effect for the event %s, only for thread_started", h.Event)
	}
	if h.Layer = r.Int("layer", 0, 1, lastLayer); h.Layer != 0 && h.Layer < source {
		r.Warn("layer", "", nil, "is %d, which is not used: the hooks of %s have the number %d and can only raise it", h.Layer, sourceName(source), source)
		h.Layer = 0
	}
	h.Condition = r.condition()
	h.Action = r.action()
	return h, r.Failed() == before
}

func sourceName(source int64) string {
	if source == directiveLayer {
		return "a directive"
	}
	return "this configuration"
}

func (r reader) condition() *cond.Cond {
	v := r.Value("condition")
	if v == nil {
		return nil
	}
	c, found := cond.Compile(
		r.Doc(),
		r.Path("condition"),
		r.Name("condition"),
		v,
		diag.ValidationFailed,
	)
	for _, f := range found {
		r.Add(f)
	}
	return c
}

// action reads <action>, or <tool>, <directive> or <knowledge> with parameters.
func (r reader) action() Action {
	var named []string
	for _, key := range []string{"action", "tool", "directive", "knowledge"} {
		if r.Has(key) {
			named = append(named, key)
		}
	}
	if len(named) != 1 {
		what := "has no action: it needs <action>, <tool>, <directive> or <knowledge>"
		if len(named) > 1 {
			what = "has <" + strings.Join(named, "> and <") + ">, one is allowed"
		}
		r.RejectSelf("%s", what)
		return Action{}
	}
	params := r.params()
	text, _ := r.Value("action").(string)
	if text == "" && r.Has("delay") {
		r.Reject("delay", "has no effect without the action retry")
	}
	switch key := named[0]; key {
	case "action":
		if _, text := r.Value(key).(string); text {
			return r.control(params)
		}
		return r.call(reader{r.Map(key)}, params)
	case "knowledge":
		return r.target(key, Action{
			Primary: policy.Load,
			Kind:    item.Knowledge,
			ID:      r.Text(key),
			Params:  params,
		})
	default:
		return r.target(key, Action{
			Primary: policy.Execute,
			Kind:    item.Kind(key),
			ID:      r.Text(key),
			Params:  params,
		})
	}
}

// params returns the parameters of a hook, which are in one of three members.
func (r reader) params() (out map[string]any) {
	action, _ := r.Value("action").(map[string]any)
	for _, v := range []any{r.Value("params"), r.Value("inputs"), action["params"]} {
		m, ok := v.(map[string]any)
		switch {
		case !ok:
		case out != nil:
			r.RejectSelf("has its parameters twice: params, inputs and params of the action are the same")
		default:
			out = m
		}
	}
	return out
}

// control reads <action>retry</action> with its <delay>.
func (r reader) control(params map[string]any) Action {
	word := strings.TrimSpace(r.Text("action"))
	if !slices.Contains(Controls(), word) {
		r.RejectNear("action", word, Controls(), "is %q, must be one of %s, or have item_id", word, strings.Join(Controls(), ", "))
		return Action{}
	}
	all := map[string]any{}
	maps.Copy(all, params)
	all["action"] = word
	if r.Has("delay") {
		all["delay"] = r.Number("delay", 0, 0, MaxDelay)
		if word != "retry" {
			r.Reject("delay", "has no effect for the action %s, only for retry", word)
		}
	}
	return Action{
		Primary: policy.Execute,
		Kind:    item.Tool,
		ID:      ControlID,
		Params:  all,
	}
}

// call reads <action primary="execute" item_type="tool" item_id="a/b">.
func (r reader) call(m reader, params map[string]any) Action {
	m.Only("primary", "item_type", "item_id", "params")
	m.Require("item_id")
	verb := m.Enum("primary", "execute", "execute", "search", "load", "sign")
	kind := m.Text("item_type")
	if kind == "" {
		kind = string(item.Tool)
	}
	if item.CheckKind(item.Kind(kind)) != nil {
		m.Reject("item_type", "is %q, which is not a kind", kind)
		return Action{}
	}
	return m.target("item_id", Action{
		Primary: policy.Verb(verb),
		Kind:    item.Kind(kind),
		ID:      m.Text("item_id"),
		Params:  params,
	})
}

// target checks the id of an action. An id with a template is checked when it is known;
// rye.primary.load is the older spelling of rye/primary/load.
func (r reader) target(key string, a Action) Action {
	a.ID = strings.TrimSpace(a.ID)
	if strings.HasPrefix(a.ID, "rye.") {
		a.ID = strings.ReplaceAll(a.ID, ".", "/")
	}
	if a.ID == "" || strings.Contains(a.ID, "${") {
		if a.ID == "" {
			r.Reject(key, "is empty")
		}
		return a
	}
	ref, err := item.ParseRef(a.ID, a.Kind)
	if err != nil {
		r.Reject(key, "is %q: %v", a.ID, err)
		return Action{}
	}
	a.Kind = ref.Kind
	a.ID = ref.ID
	return a
}

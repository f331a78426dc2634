// Package directive has the typed metadata of directives: model, limits, permissions,
// hooks, context and checks. Read decodes them and reports every mistake with its
// position; Merge adds the metadata of the directive that another extends.
//
// It finds no items, expands no aliases of permissions and calls no model.
//
// An element or value that cannot be enforced makes the item invalid in every verb. An unknown
// tier is a warning, because a provider may have it.
package directive

import (
	"encoding/json"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Directive is the typed metadata of one directive. Zero values are absent.
type Directive struct {
	Model       Model        `json:"model,omitzero"`
	Limits      Limits       `json:"limits,omitzero"`
	Permissions Permissions  `json:"permissions,omitzero"`
	Hooks       []hooks.Hook `json:"hooks,omitempty"`
	Context     []Context    `json:"context,omitempty"`
	Checks      []Check      `json:"checks,omitempty"`

	Extends item.Ref     `json:"-"` // the zero Ref: nothing
	Inputs  []item.Input `json:"-"`
	Outputs []item.Input `json:"-"`
	Body    string       `json:"-"` // "{base}" is the body of the base, see Merge
}

// Model is what a directive asks of the model that follows it.
type Model struct {
	Tier            string     `json:"tier,omitempty"`
	ID              string     `json:"id,omitempty"` // exact
	Provider        string     `json:"provider,omitempty"`
	Fallback        []Fallback `json:"fallback,omitempty"` // tried in order
	Parallel        *bool      `json:"parallel,omitempty"`
	MaxOutputTokens int64      `json:"max_output_tokens,omitempty"`
	Effort          string     `json:"effort,omitempty"` // none, low, medium, high
	Temperature     *float64   `json:"temperature,omitempty"`
}

// Fallback is another model: of a provider, or of a tier.
type Fallback struct{ Tier, Provider, Model string }

// String renders the fallback as the attribute has it.
func (f Fallback) String() string {
	if f.Tier != "" {
		return "tier:" + f.Tier
	}
	return f.Provider + ":" + f.Model
}

// MarshalText renders as String does.
func (f Fallback) MarshalText() ([]byte, error) {
	return []byte(f.String()), nil
}

// Limits are the limits that a directive asks for. Nil is absent, zero permits none.
type Limits struct {
	Turns           *int64      `json:"turns,omitempty"`
	Tokens          *int64      `json:"tokens,omitempty"`
	Spend           *policy.USD `json:"spend,omitempty"`
	Spawns          *int64      `json:"spawns,omitempty"`
	Depth           *int64      `json:"depth,omitempty"`
	DurationSeconds *int64      `json:"duration_seconds,omitempty"`
}

// Permissions are what a directive may do.
type Permissions struct {
	Declared bool            `json:"declared,omitempty"` // the element is present; an empty one permits nothing
	Caps     policy.Set      `json:"capabilities,omitempty"`
	Aliases  []string        `json:"aliases,omitempty"` // names in config:agent/capabilities, which Expand replaces
	Sandbox  *policy.Profile `json:"sandbox,omitempty"` // a ceiling for everything that the directive starts
}

// Expand returns the permissions with the capabilities of their aliases. Names that
// lookup does not know are returned, too.
func (p Permissions) Expand(lookup map[string]policy.Set) (Permissions, []string) {
	var unknown []string
	p.Caps = slices.Clone(p.Caps)
	for _, name := range p.Aliases {
		caps, ok := lookup[name]
		if !ok {
			unknown = append(unknown, name)
		}
		for _, c := range caps {
			if !slices.Contains(p.Caps, c) {
				p.Caps = append(p.Caps, c)
			}
		}
	}
	return p, unknown
}

// Texts returns the capabilities as texts.
// Only these texts of knowledge are locked.
func (p Permissions) Texts() []string {
	var out []string
	for _, c := range p.Caps {
		out = append(out, string(c))
	}
	return out
}

// Context is an item whose text the model reads.
type Context struct {
	Ref       item.Ref `json:"-"`
	At        string   `json:"at"`                   // system, before or after
	MaxTokens int64    `json:"max_tokens,omitempty"` // 0: whole
	Optional  bool     `json:"optional,omitempty"`
}

// MarshalJSON writes the ref as a text.
func (c Context) MarshalJSON() ([]byte, error) {
	type plain Context
	return json.Marshal(struct {
		Ref string `json:"ref"`
		plain
	}{c.Ref.String(), plain(c)})
}

// Check is a tool that checks the outputs before the directive may end.
type Check struct {
	Tool     string `json:"tool"`
	Attempts int64  `json:"attempts"`
}

// keys are the fields that Read decodes.
var keys = []string{"model", "limits", "permissions", "sandbox", "hooks", "context", "checks", "extends"}

// Read decodes the metadata of a directive. It returns the correct part, with the findings of
// every mistake, which have no path.
func Read(m *item.Metadata) (*Directive, []diag.Finding) {
	d := &Directive{Inputs: m.Inputs, Outputs: m.Outputs, Body: string(m.Body)}
	if !slices.ContainsFunc(keys, func(k string) bool { return m.Fields[k] != nil }) {
		return d, nil
	}
	// The prose of a directive can be long, and its positions are not needed.
	r := reader{tree.NewReader(
		&tree.Doc{Root: m.Fields, Pos: m.Pos},
		diag.ValidationFailed,
	)}
	d.Extends = r.extends()
	d.Model = r.model(r.Map("model"))
	d.Limits = r.limits(r.Map("limits"))
	d.Permissions = r.permissions()
	d.Hooks = hooks.OfDirective(r.Reader)
	d.Context = r.context()
	d.Checks = r.checks()
	return d, r.Findings()
}

// Merge returns a directive with what it inherits: the smaller of two limits; each other
// attribute of the child, else of the base; inputs and outputs merged by name; hooks, context
// and checks of the base first. Permissions are the child's: Uncovered returns the permissions
// that the base does not have.
func Merge(base, child *Directive) *Directive {
	out := *child
	out.Model = mergeModel(base.Model, child.Model)
	out.Limits = Limits{
		Turns:           smaller(base.Limits.Turns, child.Limits.Turns),
		Tokens:          smaller(base.Limits.Tokens, child.Limits.Tokens),
		Spend:           smaller(base.Limits.Spend, child.Limits.Spend),
		Spawns:          smaller(base.Limits.Spawns, child.Limits.Spawns),
		Depth:           smaller(base.Limits.Depth, child.Limits.Depth),
		DurationSeconds: smaller(base.Limits.DurationSeconds, child.Limits.DurationSeconds),
	}
	out.Permissions.Sandbox = mergeSandbox(base.Permissions.Sandbox, child.Permissions.Sandbox)
	out.Inputs = byName(base.Inputs, child.Inputs)
	out.Outputs = byName(base.Outputs, child.Outputs)
	out.Hooks = slices.Concat(base.Hooks, child.Hooks)
	out.Context = slices.Concat(base.Context, child.Context)
	out.Checks = slices.Concat(base.Checks, child.Checks)
	out.Body = withBase(child.Body, base.Body)
	return &out
}

// Uncovered returns the capabilities of a directive that its base lacks. A base without
// permissions restricts nothing.
func Uncovered(base, child Permissions) policy.Set {
	if !base.Declared {
		return nil
	}
	var out policy.Set
	for _, c := range child.Caps {
		if !slices.Contains(policy.Narrow(policy.Set{c}, base.Caps), c) {
			out = append(out, c)
		}
	}
	return out
}

func smaller[T int64 | policy.USD](a, b *T) *T {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func mergeModel(base, m Model) Model {
	if m.ID == "" && m.Tier == "" {
		m.ID = base.ID
		m.Tier = base.Tier
	}
	if m.Provider == "" && m.ID == base.ID { // a different model may belong to a different provider
		m.Provider = base.Provider
	}
	if m.Fallback == nil {
		m.Fallback = base.Fallback
	}
	if m.Parallel == nil {
		m.Parallel = base.Parallel
	}
	if m.MaxOutputTokens == 0 {
		m.MaxOutputTokens = base.MaxOutputTokens
	}
	if m.Effort == "" {
		m.Effort = base.Effort
	}
	if m.Temperature == nil {
		m.Temperature = base.Temperature
	}
	return m
}

func mergeSandbox(base, child *policy.Profile) *policy.Profile {
	if base == nil || child == nil {
		if base == nil {
			return child
		}
		return base
	}
	both := policy.Tighten(*base, *child)
	return &both
}

// byName returns the inputs of both. An input of the child replaces the base's of its name.
func byName(base, child []item.Input) []item.Input {
	replaced := map[string]item.Input{}
	for _, in := range child {
		replaced[in.Name] = in
	}
	var out []item.Input
	for _, in := range base {
		if mine, ok := replaced[in.Name]; ok {
			in = mine
			delete(replaced, in.Name)
		}
		out = append(out, in)
	}
	for _, in := range child {
		if _, left := replaced[in.Name]; left {
			out = append(out, in)
		}
	}
	return out
}

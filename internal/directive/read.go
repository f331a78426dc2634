package directive

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Bounds of the limits that a directive may ask for.
const (
	MaxDuration = 86_100 // seconds: a day without the time in which a token ends
	MaxDepth    = 64     // levels of nested calls
)

// BasePlaceholder is replaced by the body of the directive that one extends.
const BasePlaceholder = "{base}"

func withBase(body, base string) string {
	return strings.ReplaceAll(body, BasePlaceholder, base)
}

type reader struct{ *tree.Reader }

func (r reader) extends() item.Ref {
	if !r.Has("extends") {
		return item.Ref{}
	}
	ref, err := item.ParseRef(r.Text("extends"), item.Directive)
	switch {
	case err != nil:
		r.Reject("extends", "is %q: %v", r.Text("extends"), err)
	case ref.Kind != item.Directive:
		r.Reject("extends", "is %s, must name a directive", ref)
	default:
		return ref
	}
	return item.Ref{}
}

// tiers are the tiers that rye knows. A provider item may have more.
var tiers = []string{"fast", "general", "high", "max"}

func (r reader) model(m *tree.Reader) Model {
	out := Model{
		Tier:            m.Text("tier"),
		ID:              m.Text("id"),
		Provider:        m.Text("provider"),
		MaxOutputTokens: m.Int("max_output_tokens", 0, 1, math.MaxInt32),
		Fallback:        reader{m}.fallback(),
	}
	if out.Tier != "" {
		reader{m}.tier("tier", out.Tier)
	}
	if m.Has("effort") {
		out.Effort = m.Enum("effort", "", "none", "low", "medium", "high")
	}
	if m.Has("parallel") {
		v := m.Bool("parallel", false)
		out.Parallel = &v
	}
	if m.Has("temperature") {
		v := m.Number("temperature", 1, 0, 2)
		out.Temperature = &v
	}
	return out
}

func (r reader) tier(key, tier string) {
	if !slices.Contains(tiers, tier) {
		r.Warn(key, tier, tiers, "is %q, which is not one of the tiers %s", tier, strings.Join(tiers, ", "))
	}
}

// fallback reads "provider:model, tier:fast". The name of a tier alone is read, too.
func (r reader) fallback() []Fallback {
	if !r.Has("fallback") {
		return nil
	}
	var out []Fallback
	for word := range strings.SplitSeq(r.Text("fallback"), ",") {
		word = strings.TrimSpace(word)
		provider, model, two := strings.Cut(word, ":")
		switch {
		case word == "" || two && (provider == "" || model == ""):
			r.Reject("fallback", "has the entry %q, must be provider:model or tier:name, separated by commas", word)
		case provider == "tier" || !two:
			tier := strings.TrimPrefix(word, "tier:")
			r.tier("fallback", tier)
			out = append(out, Fallback{Tier: tier})
		case item.CheckID(provider) != nil:
			r.Reject("fallback", "has the provider %q, which is not an id", provider)
		default:
			out = append(out, Fallback{Provider: provider, Model: model})
		}
	}
	return out
}

func (r reader) limits(m *tree.Reader) Limits {
	whole := func(key string, low, high int64) *int64 {
		if !m.Has(key) {
			return nil
		}
		n := m.Int(key, -1, low, high)
		if n < 0 {
			return nil // reported
		}
		return &n
	}
	out := Limits{
		Turns:           whole("turns", 1, math.MaxInt64),
		Tokens:          whole("tokens", 1, math.MaxInt64),
		Spawns:          whole("spawns", 0, math.MaxInt64),
		Depth:           whole("depth", 0, MaxDepth),
		DurationSeconds: whole("duration_seconds", 1, MaxDuration),
	}
	if m.Has("spend") {
		usd, err := policy.ParseUSD(m.Text("spend"))
		if err != nil {
			m.RejectErr("spend", err)
		} else {
			out.Spend = &usd
		}
	}
	return out
}

func (r reader) permissions() Permissions {
	out := Permissions{Declared: r.Has("permissions")}
	for _, s := range r.Texts("permissions", checkCap) {
		if alias, ok := strings.CutPrefix(s, "@"); ok {
			out.Aliases = append(out.Aliases, alias)
		} else {
			out.Caps = append(out.Caps, policy.Cap(s))
		}
	}
	if r.Has("sandbox") {
		p := policy.ReadProfile(r.Map("sandbox"))
		out.Sandbox = &p
	}
	return out
}

func checkCap(s string) error {
	if strings.HasPrefix(s, "@") {
		return nil
	}
	_, err := policy.Parse(s)
	return err
}

func (r reader) checks() []Check {
	var out []Check
	for _, m := range r.Maps("checks") {
		m.Require("tool")
		c := Check{Tool: m.Text("tool"), Attempts: m.Int("attempts", 2, 1, 100)}
		_, err := item.ParseRef(c.Tool, item.Tool)
		if c.Tool != "" && err != nil {
			m.Reject("tool", "is %q: %v", c.Tool, err)
			continue
		}
		out = append(out, c)
	}
	return out
}

// contextKinds are the kinds whose items may be context.
var contextKinds = []string{"knowledge", "directive", "tool", "config"}

// context reads <knowledge ref="a/b" at="system" max_tokens="4000" optional="true"/>.
// The id may also be the text of the element. Entries keep the order of their kinds,
// and within one the order of the file.
func (r reader) context() []Context {
	_, text := r.Value("context").(string)
	if text || !r.Has("context") {
		if text && r.Text("context") != "" {
			r.Reject("context", "must contain elements such as <knowledge ref=\"team/labels\"/>, not text")
		}
		return nil
	}
	m := reader{r.Map("context")}
	var out []Context
	for _, key := range m.Keys() {
		if key == "text" || slices.Contains(contextKinds, key) {
			continue
		}
		report := m.Warn
		if suggest.Nearest(key, contextKinds) != "" {
			report = m.RejectNear
		}
		report(key, key, contextKinds, "is not read: <context> has <knowledge>, <directive>, <tool> and <config>")
	}
	for _, kind := range contextKinds {
		list, ok := m.Value(kind).([]any)
		if !ok && m.Has(kind) {
			list = []any{m.Value(kind)}
		}
		for _, v := range list {
			if c, ok := m.entry(kind, v); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// entry reads one element of <context>. Its findings have the position of the first
// element of the kind.
func (r reader) entry(kind string, v any) (Context, bool) {
	fields, _ := v.(map[string]any)
	if text, ok := v.(string); ok {
		fields = map[string]any{"ref": text}
	}
	bad := func(format string, args ...any) (Context, bool) {
		r.Reject(kind, format, args...)
		return Context{}, false
	}
	text := func(key string) string { s, _ := fields[key].(string); return strings.TrimSpace(s) }
	known := []string{"ref", "at", "max_tokens", "optional"}
	for key := range fields {
		if key != "text" && !slices.Contains(known, key) {
			r.RejectNear(kind, key, known, "has the unknown attribute %s", key)
			return Context{}, false
		}
	}
	id := text("ref")
	if id == "" {
		id = text("text")
	}
	ref, err := item.ParseRef(id, item.Kind(kind))
	if err != nil || string(ref.Kind) != kind {
		return bad("has the ref %q, which is not the id of an item of the kind %s", id, kind)
	}
	out := Context{Ref: ref, At: "before", Optional: text("optional") == "true"}
	if s := text("optional"); s != "" && s != "true" && s != "false" {
		return bad("has optional=%q, must be true or false", s)
	}
	if at := text("at"); at != "" {
		if out.At = at; !slices.Contains([]string{"system", "before", "after"}, at) {
			return bad("has at=%q, must be system, before or after", at)
		}
	}
	if s := text("max_tokens"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if out.MaxTokens = n; err != nil || n < 1 {
			return bad("has max_tokens=%q, must be a whole number of at least 1", s)
		}
	}
	return out, true
}

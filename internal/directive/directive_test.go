package directive

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/dx"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// read reads the metadata in one element, without extractors.
func read(src string) (*Directive, []diag.Finding) {
	doc, fs := dx.Directive([]byte(src), 1)
	m := item.Metadata{Fields: doc.Root, Pos: doc.Pos}
	m.FromFields()
	d, more := Read(&m)
	return d, append(fs, more...)
}

func metadata(src string) string {
	return `<directive name="x" version="1.0.0"><metadata>` + src + `</metadata></directive>`
}

func TestMistakes(t *testing.T) {
	for src, want := range map[string]string{
		`<model temperature="3"/>`:                           "model.temperature must be a number from 0 to 2",
		`<model max_output_tokens="0"/>`:                     "model.max_output_tokens must be a whole number",
		`<model max_output_tokens="many"/>`:                  "is not of type integer",
		`<model fallback="a:, b"/>`:                          `model.fallback has the entry "a:"`,
		`<model fallback="../x:m"/>`:                         "which is not an id",
		`<limits turns="0"/>`:                                "limits.turns must be a whole number of at least 1",
		`<limits spend="1.0000000001"/>`:                     "is not an amount of US dollars",
		`<limits depth="65"/>`:                               "limits.depth must be a whole number from 0 to 64",
		`<limits duration="5"/>`:                             "unknown attribute duration",
		`<limits max_spawns="1" spawns="2"/>`:                "spawns is given twice",
		`<permissions><draft>*</draft></permissions>`:        "<draft> must name items",
		`<permissions><alias>a b</alias></permissions>`:      "<alias> must be the name",
		`<permissions><sandbox net="some"/></permissions>`:   "sandbox.net must be",
		`<permissions><sandbox write="../x"/></permissions>`: "sandbox.fs.write[0]",
		`<permissions><sandbx/></permissions>`:               "unknown element <sandbx>",
		`<hooks><hook event="error" id="a"><tool>x</tool><action>fail</action></hook></hooks>`:                              "has <action> and <tool>",
		`<hooks><hook event="error" id="a"><tool>x</tool></hook><hook event="error" name="a"><tool>x</tool></hook></hooks>`: `is "a", as of another hook`,
		`<hooks><hook event="error"><action>retyr</action></hook></hooks>`:                                                  `action is "retyr", must be one of`,
		`<hooks><hook event="error"><action>fail</action><delay>5</delay></hook></hooks>`:                                   "delay has no effect",
		`<hooks><hook event="error" position="system"><action>fail</action></hook></hooks>`:                                 "position has no effect",
		`<hooks><hook event="error" on_failure="stop"><action>fail</action></hook></hooks>`:                                 "on_failure must be continue, deny or fail",
		`<hooks><hook event="error" condition="a ="><action>fail</action></hook></hooks>`:                                   "condition",
		`<hooks><hook event="error"><condition path="a" op="like" value="1"/><action>fail</action></hook></hooks>`:          "op",
		`<hooks><hook event="error"><action primary="run" item_id="a"/></hook></hooks>`:                                     "primary must be execute, search, load or sign",
		`<hooks><hook event="error"><action item_type="tool"/></hook></hooks>`:                                              "item_id is missing",
		`<context><knowledge ref="a" att="system"/></context>`:                                                              "has the unknown attribute att",
		`<context><knowledge ref="a b"/></context>`:                                                                         "which is not the id",
		`<context><knowledge ref="a" max_tokens="-1"/></context>`:                                                           "max_tokens=",
		`<context><knowledge ref="a" optional="yes"/></context>`:                                                            "optional=",
		`<context><knowlege ref="a"/></context>`:                                                                            "knowlege is not read",
		`<context>team/labels</context>`:                                                                                    "must contain elements",
	} {
		_, fs := read(metadata(src))
		if !diag.Failed(fs) || !slices.ContainsFunc(fs, func(f diag.Finding) bool {
			return f.Severity == diag.SeverityError && strings.Contains(f.Message, want) && f.Line == 1 && f.Column > 0 && f.Code == diag.ValidationFailed
		}) {
			t.Errorf("%s: %v, want %q", src, fs, want)
		}
	}
	for _, src := range []string{
		`<context><relationships><suggests>a</suggests></relationships></context>`, `<model tier="reasoning" fallback="reasoning"/>`,
		`<hooks><hook event="error" layer="1"><action>fail</action></hook></hooks>`,
	} {
		if _, fs := read(metadata(src)); diag.Failed(fs) || len(fs) == 0 {
			t.Errorf("%s: %v, want warnings", src, fs)
		}
	}
}

func TestHooks(t *testing.T) {
	d, fs := read(metadata(`<hooks>
		<hook name="log" event="after_tool"><tool>rye.primary.load</tool><params><item_id>a</item_id></params></hook>
		<hook event="before_tool" layer="4" when="no"><knowledge>a/b</knowledge></hook>
		<hook event="error" condition="error.code == 'rate_limit'"><action>retry</action><delay>5</delay></hook>
		<hook event="limit" on_failure="fail"><action primary="load" item_type="knowledge" item_id="${limit}"/></hook></hooks>`))
	if len(d.Hooks) != 4 {
		t.Fatalf("%+v, %v", d.Hooks, fs)
	}
	if h := d.Hooks[0]; h.ID != "log" || h.Action.ID != "rye/primary/load" || h.Action.Primary != policy.Execute || h.Action.Params["item_id"] != "a" || h.OnFailure != "" { // the rule of the event
		t.Errorf("%+v", h)
	}
	if h := d.Hooks[1]; h.Action.Primary != policy.Load || h.Action.Kind != item.Knowledge || h.OnFailure != "" || h.Layer != 4 {
		t.Errorf("%+v", h)
	}
	h := d.Hooks[2]
	if h.Action.ID != hooks.ControlID || h.Action.Params["action"] != "retry" || h.Action.Params["delay"] != 5.0 ||
		!h.Condition.Match(map[string]any{"error": map[string]any{"code": "rate_limit"}}) || h.Condition.Match(map[string]any{}) {
		t.Errorf("%+v", h)
	}
	if h := d.Hooks[3]; h.Action.ID != "${limit}" || h.OnFailure != "fail" {
		t.Errorf("%+v", h)
	}
}

func TestExpand(t *testing.T) {
	p := Permissions{Declared: true, Caps: policy.Set{"rye.load.*"}, Aliases: []string{"a", "none"}}
	got, unknown := p.Expand(map[string]policy.Set{"a": {"rye.load.*", "rye.search.*"}})
	if !reflect.DeepEqual(got.Caps, policy.Set{"rye.load.*", "rye.search.*"}) || !slices.Equal(unknown, []string{"none"}) || len(p.Caps) != 1 {
		t.Errorf("%v %v %v", got, unknown, p)
	}
}

// random returns a directive with some of the limits, permissions and inputs.
func random(r *rand.Rand) *Directive {
	d := &Directive{Body: []string{"{base}", "own", "a {base} b"}[r.IntN(3)]}
	some := func() *int64 {
		if r.IntN(2) == 0 {
			return nil
		}
		n := r.Int64N(5)
		return &n
	}
	d.Limits = Limits{Turns: some(), Tokens: some(), Spawns: some(), Depth: some(), DurationSeconds: some()}
	if n := some(); n != nil {
		usd := policy.USD(*n)
		d.Limits.Spend = &usd
	}
	all := policy.Set{"rye.*", "rye.execute.*", "rye.execute.tool.a", "rye.execute.tool.?", "rye.load.*", "rye.execute.tool.a.*", "rye.execute.tool.[ab]"}
	if d.Permissions.Declared = r.IntN(3) > 0; d.Permissions.Declared {
		for range r.IntN(4) {
			d.Permissions.Caps = append(d.Permissions.Caps, all[r.IntN(len(all))])
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		if r.IntN(2) == 0 {
			d.Inputs = append(d.Inputs, item.Input{Name: name, Default: string(rune('0' + r.IntN(9)))})
		}
	}
	if n := some(); n != nil {
		d.Permissions.Sandbox = &policy.Profile{Net: []string{policy.NetNone, policy.NetAny}[*n%2]}
	}
	return d
}

// TestMergeNarrows: a directive never gets more than the one that it extends.
func TestMergeNarrows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	exceeds := func(a, b *int64) bool { return b != nil && (a == nil || *a > *b) }
	for range 20_000 {
		base, child := random(r), random(r)
		got := Merge(base, child)
		for _, from := range []*Directive{base, child} {
			g, l := got.Limits, from.Limits
			if exceeds(g.Turns, l.Turns) || exceeds(g.Tokens, l.Tokens) || exceeds(g.Spawns, l.Spawns) || exceeds(g.Depth, l.Depth) ||
				exceeds(g.DurationSeconds, l.DurationSeconds) || l.Spend != nil && (g.Spend == nil || *g.Spend > *l.Spend) {
				t.Fatalf("%+v of %+v", g, l)
			}
			if s := from.Permissions.Sandbox; s != nil && len(got.Permissions.Sandbox.Exceeds(*s)) > 0 {
				t.Fatalf("%+v of %+v", got.Permissions.Sandbox, s)
			}
		}
		if strings.Contains(got.Body, BasePlaceholder) && !strings.Contains(base.Body, BasePlaceholder) {
			t.Fatalf("body %q", got.Body)
		}
		names := map[string]bool{}
		for _, in := range got.Inputs {
			own := slices.IndexFunc(child.Inputs, func(c item.Input) bool { return c.Name == in.Name })
			if names[in.Name] || own >= 0 && child.Inputs[own] != in {
				t.Fatalf("inputs %v of %v and %v", got.Inputs, base.Inputs, child.Inputs)
			}
			names[in.Name] = true
		}
		// What Uncovered accepts, the base permits for every concrete item.
		if base.Permissions.Declared && len(Uncovered(base.Permissions, child.Permissions)) == 0 {
			for _, want := range []policy.Cap{"rye.execute.tool.a", "rye.execute.tool.b", "rye.execute.tool.a.b", "rye.load.x", "rye.sign.x", "rye.draft.x"} {
				if child.Permissions.Caps.Holds(want) && !base.Permissions.Caps.Holds(want) {
					t.Fatalf("%v has %s, %v does not", child.Permissions.Caps, want, base.Permissions.Caps)
				}
			}
		}
	}
}

// FuzzRead: no input makes Read panic, each finding has a position, and what was read
// without an error is within the bounds and has a JSON form.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`<model tier="fast" fallback="a/b:c:d, tier:high" temperature="0.5" effort="low" parallel="true"/>`,
		`<limits max_turns="6" spend="0.05" spend_currency="USD" duration_seconds="86100"/>`,
		`<permissions><alias>read-files</alias><draft><tool>drafts/*</tool></draft><sandbox net="hosts" hosts="a.b, *.c" read="{project}" exec="any" broker="true"/></permissions>`,
		`<hooks><hook name="a" event="error"><condition><not path="x" op="eq" value="1"/></condition><action>retry</action><delay>5</delay></hook></hooks>`,
		`<context><knowledge ref="a/b" at="system" max_tokens="4"/><knowledge>c</knowledge><tool/></context>`,
		`<context><knowledge><a/></knowledge><text>x</text></context>`, `<limits turns="9223372036854775808"/>`, `<hooks><hook/></hooks>`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, fs := read(metadata(s))
		for _, finding := range fs {
			if finding.Line < 1 || finding.Message == "" {
				t.Fatalf("%q: %v", s, finding)
			}
		}
		if diag.Failed(fs) {
			return
		}
		if l := d.Limits; l.Turns != nil && *l.Turns < 1 || l.DurationSeconds != nil && *l.DurationSeconds > MaxDuration || l.Spend != nil && *l.Spend < 0 {
			t.Fatalf("%q: %+v", s, l)
		}
		for _, c := range d.Permissions.Caps {
			if _, err := policy.Parse(string(c)); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
		}
		for _, h := range d.Hooks {
			if h.Action.ID == "" || h.Event == "" || h.At == "" {
				t.Fatalf("%q: %+v", s, h)
			}
		}
		if _, err := json.Marshal(d); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

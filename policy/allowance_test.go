package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
)

// shippedAllowance is the system's layer.
func shippedAllowance(t *testing.T) Layer {
	t.Helper()
	b, err := os.ReadFile("../stdlib/.ai/config/agent/allowance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, found := yamlx.Parse(b)
	if doc == nil {
		t.Fatal(found)
	}
	return Layer{Name: "system", Doc: doc, Wide: true}
}

// nested writes a value below a dotted key.
func nested(key, value string) string {
	names := strings.Split(key, ".")
	text := value
	for _, name := range slices.Backward(names[1:]) {
		text = "{" + name + ": " + text + "}"
	}
	return names[0] + ": " + text + "\n"
}

// asJSON renders every value, so that two allowances can be compared.
func asJSON(t *testing.T, a Allowance) string {
	t.Helper()
	var out []string
	for _, k := range allowanceKeys() {
		b, err := json.Marshal(k.value(&a))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k.name()+" = "+string(b))
	}
	return strings.Join(out, "\n")
}

const someKey = "ed25519:000000000000000000000000000000000000000000000000000000000000000a"

// base is the user's layer of the tests: every key has a value from which one can go in
// both directions.
const base = `
approvals: {auto_approve_up_to: {sandboxed: T2, unsandboxed: T1}, deny_from: T4, timeout_seconds: 60, headless: deny, tools: {"tool:x/y": T3}}
children: {auto_approve_up_to: {sandboxed: T2, unsandboxed: T1}}
spend: {warn_at: 0.5}
providers: ["acme/**"]
models: ["claude-*"]
sandbox: {minimum: landlock, net: hosts, hosts: ["*.acme.io"], unconfined: [], protect_remove: [".envrc"]}
drafts: ["rye.draft.tool.drafts.a"]
registry: ask
`

// moves has a wider and a narrower value for every key.
func moves() map[string][2]string {
	out := map[string][2]string{
		"limits.spend": {`"9000"`, `"0.5"`}, "spend.per_day": {`"9000.00"`, `"1"`}, "spend.per_month": {`"9000.00"`, `"1"`}, "spend.warn_at": {"1", "0.1"},
		"approvals.auto_approve_up_to.sandboxed": {"T4", "T1"}, "approvals.auto_approve_up_to.unsandboxed": {"critical", "T0"},
		"children.auto_approve_up_to.sandboxed": {"T4", "T1"}, "children.auto_approve_up_to.unsandboxed": {"T3", "T0"},
		"approvals.deny_from": {"null", "T3"}, "approvals.headless": {"suspend", ""}, "approvals.tools": {`{"tool:x/y": T1}`, `{"tool:x/*": T4}`},
		"providers": {`["**"]`, `["acme/a"]`}, "models": {`["*"]`, `["claude-9"]`},
		"sandbox.minimum": {"basic", "strict"}, "sandbox.net": {"any", "none"}, "sandbox.hosts": {`["*"]`, `["api.acme.io"]`},
		"sandbox.unconfined":     {`[{ref: "tool:**", signer: "` + someKey + `"}]`, ""},
		"sandbox.protect_remove": {`[".vscode", ".envrc"]`, `[]`}, "drafts": {`["rye.draft.tool.drafts.*"]`, `[]`}, "registry": {"run", "deny"},
	}
	for _, k := range allowanceKeys() {
		if _, has := out[k.name()]; !has && !k.policyOnly {
			out[k.name()] = [2]string{"", "1"}
		}
	}
	for name, most := range map[string]string{"limits.depth": "64", "limits.duration_seconds": "86100", "approvals.timeout_seconds": "null",
		"approvals.suspended_timeout_seconds": "2592000", "concurrency.threads": "4096", "concurrency.children": "4096", "concurrency.tool_calls": "4096",
		"sandbox.limits.cpu_seconds": "86400", "sandbox.limits.open_files": "65536", "limits.turns": "100000", "limits.tokens": "100000000", "limits.spawns": "100000",
		"sandbox.limits.memory_mb": "65536", "sandbox.limits.processes": "65536", "sandbox.limits.file_size_mb": "65536", "sandbox.limits.disk_mb": "65536", "sandbox.limits.files": "8388608"} {
		low := "1"
		if name == "sandbox.limits.open_files" || name == "sandbox.limits.memory_mb" {
			low = "16"
		}
		out[name] = [2]string{most, low}
	}
	return out
}

// narrowSources make a layer of every source that only restricts.
func narrowSources(t *testing.T) map[string]func(text string) Layer {
	return map[string]func(text string) Layer{
		"project item": func(text string) Layer { return layerOf(t, "it", false, text) },
		"bundle item":  func(text string) Layer { return layerOf(t, "it", false, "schema_version: 1.0.0\n"+text) },
		"rye.yaml": func(text string) Layer {
			l := layerOf(t, "it", false, "policy:\n  agents:\n    "+text)
			l.At = []string{"policy", "agents"}
			return l
		},
		"policy.yaml": func(text string) Layer {
			l := layerOf(t, "it", false, "agents:\n    "+text)
			l.At = []string{"agents"}
			return l
		},
	}
}

// TestOnlyTheUserWidens tries to widen and to narrow each key of the schema in a
// project's item, in a bundle's item, in rye.yaml and in a policy file.
func TestOnlyTheUserWidens(t *testing.T) {
	user := layerOf(t, "user", true, base)
	before, _, found, err := ReadAllowance([]Layer{shippedAllowance(t), user})
	if err != nil || len(found) > 0 {
		t.Fatal(err, found)
	}
	was := asJSON(t, before)
	sources := narrowSources(t)
	for _, k := range allowanceKeys() {
		if k.policyOnly {
			continue
		}
		to := moves()[k.name()]
		if to[0] == "" {
			t.Errorf("%s: the test has no wider value", k.name())
			continue
		}
		for source, layer := range sources {
			l := layer(nested(k.name(), to[0]))
			got, _, found, err := ReadAllowance([]Layer{shippedAllowance(t), user, l})
			if err != nil || asJSON(t, got) != was {
				t.Errorf("%s: a %s changed %s: %v", k.name(), source, diffLine(was, asJSON(t, got)), err)
			}
			if len(found) != 1 || found[0].Severity != diag.SeverityWarning || found[0].Line == 0 || !strings.Contains(found[0].Message, k.path[len(k.path)-1]+" exceeds what user permits") && !strings.Contains(found[0].Message, " exceeds what system permits") {
				t.Errorf("%s: warnings about a %s: %v", k.name(), source, found)
			}
			if wide, _, _, err := ReadAllowance([]Layer{shippedAllowance(t), user, layerOf(t, "more", true, nested(k.name(), to[0]))}); err != nil || asJSON(t, wide) == was {
				t.Errorf("%s: the user did not widen it: %v", k.name(), err)
			}
			if to[1] == "" {
				continue
			}
			narrow, origins, found, err := ReadAllowance([]Layer{shippedAllowance(t), user, layer(nested(k.name(), to[1]))})
			if err != nil || len(found) > 0 || asJSON(t, narrow) == was {
				t.Errorf("%s: a %s did not narrow it: %v %v", k.name(), source, err, found)
			}
			if i := slices.IndexFunc(origins, func(o Origin) bool { return o.Key == k.name() }); i < 0 || origins[i].File != "it" || origins[i].Line == 0 {
				t.Errorf("%s: the origins do not name the %s: %+v", k.name(), source, origins)
			}
		}
	}
	// A project's lower tier of an item has no effect on the tier.
	got, _, _, _ := ReadAllowance([]Layer{shippedAllowance(t), user, layerOf(t, "it", false, nested("approvals.tools", `{"tool:x/y": T1}`))})
	if tier := got.Approvals.Tools.of(toolRef("x/y"), T3, T0); tier != T3 {
		t.Errorf("a project lowered x/y to %s", tier)
	}
}

func diffLine(a, b string) string {
	other := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if line != other[i] {
			return line + " to " + other[i]
		}
	}
	return "nothing"
}

// TestShippedAllowance wants a value of the system for every key, and the schema of the
// item to name the same keys.
func TestShippedAllowance(t *testing.T) {
	l := shippedAllowance(t)
	a, origins, _, err := ReadAllowance([]Layer{l})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range allowanceKeys() {
		has := slices.ContainsFunc(origins, func(o Origin) bool { return o.Key == k.name() && o.Line > 0 })
		if has == k.policyOnly {
			t.Errorf("%s: has a value: %v", k.name(), has)
		}
		if k.policyOnly {
			continue
		}
		schema, _ := l.Doc.Root["config_schema"].(map[string]any)
		defs, _ := schema["$defs"].(map[string]any)
		for _, name := range k.path {
			schema, _ = schema["properties"].(map[string]any)[name].(map[string]any)
			if to, ok := schema["$ref"].(string); ok {
				schema, _ = defs[strings.TrimPrefix(to, "#/$defs/")].(map[string]any)
			}
			if schema == nil {
				t.Fatalf("%s: the schema has no %s", k.name(), name)
			}
		}
	}
	if got := fmt.Sprint(a.Limits.Spend, a.Spend.PerDay, a.Approvals.Sandboxed, a.Approvals.Unsandboxed, a.Children.Unsandboxed, a.Sandbox.Minimum, a.Registry); got != "10.00 20.00 T3 T1 T0landlockask" {
		t.Error(got)
	}
	if !a.AllowsProvider("rye/agent/providers/x") || !a.AllowsModel("local/x") || a.AllowsDraft("rye.draft.tool.drafts.x") || (Allowance{}).AllowsModel("x") {
		t.Error("the defaults permit other providers, models or drafts")
	}
	if c := a.Sandbox.Ceiling(); c.Net != NetAny || c.Limits.Processes != 1024 {
		t.Errorf("ceiling: %+v", c)
	}
}

// TestHostsBoundTheNetwork: a list of hosts is a bound for items with net: any too.
func TestHostsBoundTheNetwork(t *testing.T) {
	for _, c := range []struct {
		bounds SandboxBounds
		item   Profile
		net    string
		hosts  []string
	}{
		{SandboxBounds{Net: NetAny, Hosts: []string{"*"}}, Profile{Net: NetAny}, NetAny, nil},
		{SandboxBounds{Net: NetAny}, Profile{Net: NetAny}, NetAny, nil},
		{SandboxBounds{Net: NetAny, Hosts: []string{"a.io"}}, Profile{Net: NetAny}, NetHosts, []string{"a.io"}},
		{SandboxBounds{Net: NetAny, Hosts: []string{"a.io"}}, Profile{Net: NetHosts, Hosts: []string{"a.io", "b.io"}}, NetHosts, []string{"a.io"}},
		{SandboxBounds{Net: NetAny, Hosts: []string{"a.io"}}, Profile{Net: NetNone}, NetNone, nil},
		{SandboxBounds{Net: NetAny, Hosts: []string{}}, Profile{Net: NetAny}, NetNone, nil},
	} {
		if got := Tighten(c.item, c.bounds.Ceiling()); got.Net != c.net || !slices.Equal(got.Hosts, c.hosts) {
			t.Errorf("%+v with %+v: %+v", c.item, c.bounds, got)
		}
	}
}

func TestAllowanceErrors(t *testing.T) {
	for text, want := range map[string]string{
		"limits: {turn: 5}":                        `p:1:10: CONFIG_ERROR: unknown field "limits.turn"`,
		"limit: {}":                                `p:1:1: CONFIG_ERROR: unknown field "limit"`,
		"limits: {turns: -1}":                      "limits.turns must be a whole number of at least 0, not -1",
		"limits: {spend: 5.00}":                    `limits.spend must be an amount in quotes, such as "5.00", not a number`,
		"limits: {spend: \"-5\"}":                  `limits.spend: "-5" is not an amount of US dollars`,
		"limits: {spend: \"0.0000000001\"}":        "is not an amount",
		"limits: []":                               "limits must be a mapping, not a list",
		"sandbox: {minimum: none}":                 "sandbox.minimum must be basic, landlock or strict, not \"none\"",
		"sandbox: {hosts: [\"http://x\"]}":         "sandbox.hosts[0]",
		"sandbox: {protect_remove: [\".git\"]}":    `sandbox.protect_remove[0]: ".git" is not a protected path that can be removed`,
		"sandbox: {unconfined: [{ref: x}]}":        "sandbox.unconfined[0].signer is missing",
		"approvals: {tools: {x: T1}}":              `"x" is not KIND:PATTERN`,
		"approvals: {auto_approve_up_to: {a: T1}}": `unknown field "approvals.auto_approve_up_to.a"`,
		"approvals: {deny_from: high}":             `approvals.deny_from: "high" is not a risk class`,
		"approvals: {timeout_seconds: 0}":          "from 1 to 3600",
		"drafts: [\"rye.execute.*\"]":              "does not begin with rye.draft.",
		"sign: deny":                               `unknown field "sign"`,
		"registry: null":                           "registry must be run, ask or deny, not null",
	} {
		_, _, _, err := ReadAllowance([]Layer{shippedAllowance(t), layerOf(t, "p", false, text)})
		var e *diag.Error
		if !errors.As(err, &e) || len(e.Findings) == 0 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := e.Findings[0].String(); !strings.Contains(got, want) || !strings.HasPrefix(got, "p:1:") {
			t.Errorf("%s: %s, want %q", text, got, want)
		}
	}
	l := layerOf(t, "p", false, "agents: {sign: ask, capabilities: [rye.load.*], limits: {turns: 3}}")
	l.At = []string{"agents"}
	a, _, found, err := ReadAllowance([]Layer{shippedAllowance(t), l})
	if err != nil || len(found) > 0 || a.Sign != "ask" || len(a.Capabilities) != 1 || a.Limits.Turns != 3 {
		t.Errorf("%+v %v %v", a, found, err)
	}
}

func TestUSD(t *testing.T) {
	for s, want := range map[string]string{"5.00": "5.00", "0": "0.00", "1.5": "1.50", "0.026850000": "0.02685", "999999999.999999999": "999999999.999999999", "007": "7.00"} {
		if u, err := ParseUSD(s); err != nil || u.String() != want {
			t.Errorf("%s: %s, %v", s, u, err)
		}
	}
	for _, s := range []string{"", "-1", "+1", "1.", ".5", "1e3", "1,5", "$5", "1000000000", "1.0000000001", " 1"} {
		if u, err := ParseUSD(s); err == nil {
			t.Errorf("%q is %s", s, u)
		}
	}
}

// Lists of patterns that overlap stay side by side.
func TestPatternsWithin(t *testing.T) {
	p := Patterns{{"a/**", "b"}}
	q, wider := p.within([]string{"*/x"}, coversIDs)
	if len(q) != 2 || !wider {
		t.Fatal(q, wider)
	}
	a := Allowance{Providers: q}
	for id, want := range map[string]bool{"a/x": true, "a/y": false, "c/x": false, "b": false} {
		if a.AllowsProvider(id) != want {
			t.Errorf("%s: %v", id, !want)
		}
	}
	if q, wider := p.within([]string{"a/b/*"}, coversIDs); len(q) != 1 || wider {
		t.Error(q, wider)
	}
	if q, wider := p.within([]string{"**"}, coversIDs); q[0][0] != "a/**" || !wider {
		t.Error(q, wider)
	}
}

// TestAmountsOfLogs reads every amount that can be written, also one that no user can give.
func TestAmountsOfLogs(t *testing.T) {
	for _, n := range []USD{0, 1, 999_999_999_999_999_999, 1_000_000_000_000_000_000, 1<<63 - 1} {
		text, _ := n.MarshalText()
		var got USD
		if err := got.UnmarshalText(text); err != nil || got != n {
			t.Errorf("%s is read as %d, %v", text, got, err)
		}
		if want := n <= 999_999_999_999_999_999; n.Kept() != want {
			t.Errorf("%s: kept is %v", text, !want)
		}
	}
	var n USD
	for _, s := range []string{"9223372036.854775808", "10000000000", "1000000000", "-1.00", "x", "1000000000.5"} {
		if err := n.UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%s is read", s)
		}
	}
}

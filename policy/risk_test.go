package policy

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
)

// layerOf parses a layer.
func layerOf(t *testing.T, name string, wide bool, text string) Layer {
	t.Helper()
	doc, found := yamlx.Parse([]byte(text))
	if doc == nil {
		t.Fatal(found)
	}
	return Layer{Name: name, Doc: doc, Wide: wide}
}

func toolRef(id string) item.Ref { return item.Ref{Kind: item.Tool, ID: id} }

func TestParseTier(t *testing.T) {
	for i, name := range tierNames() {
		for _, s := range []string{name, Tier(i).String()} {
			if got, err := ParseTier(s); err != nil || got != Tier(i) {
				t.Errorf("%s: %v, %v", s, got, err)
			}
		}
		var back Tier
		b, err := Tier(i).MarshalText()
		if err := errors.Join(err, back.UnmarshalText(b)); err != nil || back != Tier(i) || back.Name() != name {
			t.Errorf("%s: %v, %v", b, back, err)
		}
	}
	for s, near := range map[string]string{"T5": "T4", "9": "T4", "T12": "T1", "t2": "T2", "2": "T2", "elevatd": "elevated", "Write": "write", "": "", "high": "", "T2 ": "T2"} {
		got, err := ParseTier(s)
		var e *diag.Error
		if !errors.As(err, &e) || got < T3 {
			t.Fatalf("%q: %v, %v", s, got, err)
		}
		if n, _ := e.Details["nearest"].(string); n != near {
			t.Errorf("%q: nearest %q, want %q", s, n, near)
		}
	}
}

const systemRisk = `
items:
  - {match: "tool:fs/write", tier: T2}
  - {match: "tool:fs/*", tier: safe}
classes:
  T0: {ceiling: {fs: {read: ["{project}"], write: []}, net: none, exec: none}, default: {net: none}}
  T2: {ceiling: {net: hosts, hosts: ["*"]}, exec_any: false, default: {exec: none}}
`

func TestRate(t *testing.T) {
	k, err := ReadRisk([]Layer{
		layerOf(t, "system", true, systemRisk),
		layerOf(t, "user", true, `items: [{match: "tool:fs/read", tier: T1}, {match: "*:demo/**", tier: T2}]`),
		layerOf(t, "bundle", false, `items: [{match: "tool:fs/**", tier: T1}]`),
		layerOf(t, "project", false, `items: [{match: "tool:demo/deploy", tier: T4}, {match: "tool:demo/*", tier: T0}, {match: "tool:fs/write", tier: T0}]`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id, declared string
		class, tier  Tier
		why          string
	}{
		{"fs/write", "", T2, T2, "tool:fs/write of system"},
		{"fs/ls", "", T0, T1, "tool:fs/** of bundle"},
		{"fs/read", "", T1, T1, "tool:fs/read of user"},
		{"fs/a/b", "", T3, T3, "no class is declared for it"},
		{"demo/x", "", T2, T2, "*:demo/** of user"},
		{"demo/x", "low", T1, T1, "it declares risk T1"},
		{"demo/deploy", "", T2, T4, "tool:demo/deploy of project"},
		{"demo/deploy", "T0", T0, T4, "tool:demo/deploy of project"},
		{"other", "T4", T4, T4, "it declares risk T4"},
	} {
		got, err := k.Rate(toolRef(c.id), c.declared)
		if err != nil || got != (Rating{c.class, c.tier, c.why}) {
			t.Errorf("%s %s: %+v, %v", c.id, c.declared, got, err)
		}
	}
	if got, err := k.Rate(toolRef("x"), "none"); diag.CodeOf(err) != diag.ValidationFailed || got.Tier != T4 {
		t.Errorf("an unknown class: %+v, %v", got, err)
	}
}

func TestRiskIsNotLowered(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	patterns := []string{"tool:**", "*:**", "tool:fs/*", "tool:fs/write", "tool:demo/**", "tool:demo/[a-f]*"}
	refs := []item.Ref{toolRef("fs/write"), toolRef("fs/ls"), toolRef("demo/a"), toolRef("demo/z/y"), {Kind: item.Directive, ID: "demo/a"}}
	base := []Layer{layerOf(t, "system", true, systemRisk)}
	for range 500 {
		layers := slices.Clone(base)
		for range 1 + r.IntN(3) {
			text := "items:\n"
			for range 1 + r.IntN(3) {
				text += `  - {match: "` + patterns[r.IntN(len(patterns))] + `", tier: ` + Tier(r.IntN(5)).String() + "}\n"
			}
			layers = append(layers, layerOf(t, "project", false, text))
		}
		low, err1 := ReadRisk(base)
		high, err2 := ReadRisk(layers)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		for _, ref := range refs {
			declared := []string{"", "T0", "T2", "T4"}[r.IntN(4)]
			a, _ := low.Rate(ref, declared)
			b, _ := high.Rate(ref, declared)
			if b.Tier < a.Tier || b.Class != a.Class {
				t.Fatalf("%s %q: %+v became %+v", ref, declared, a, b)
			}
		}
	}
}

func TestRiskErrors(t *testing.T) {
	_, err := ReadRisk([]Layer{layerOf(t, "p.yaml", false, "items:\n  - {match: fs/write, tier: T9}\n  - {match: \"tool:x\"}\nitem: []\nclasses: {T4: {}, T1: {ceilin: {}}}\n")})
	var e *diag.Error
	if !errors.As(err, &e) || len(e.Findings) != 6 {
		t.Fatalf("%v", err)
	}
	for i, want := range []string{
		"p.yaml:2:6: CONFIG_ERROR: items[0].match: \"fs/write\" is not KIND:PATTERN", `"T9" is not a risk class`, "items[1].tier is missing",
		"p.yaml:4:1: CONFIG_ERROR: unknown field \"item\"", `unknown field "classes.T4"`, `unknown field "classes.T1.ceilin"`,
	} {
		if !strings.Contains(e.Findings[i].String(), want) {
			t.Errorf("%d: %s, want %q", i, e.Findings[i], want)
		}
	}
}

func TestClasses(t *testing.T) {
	wide := layerOf(t, "user", true, `classes: {T2: {ceiling: {net: any}, exec_any: true}}`)
	narrow := layerOf(t, "project", false, `classes: {T0: {ceiling: {fs: {read: ["/", "{project}/a"]}, net: any, exec: any}, default: {net: any}}, T2: {ceiling: {net: none}, exec_any: true, default: {exec: any}}}`)
	k, err := ReadRisk([]Layer{layerOf(t, "system", true, systemRisk), narrow})
	if err != nil {
		t.Fatal(err)
	}
	c0, _ := k.Class(T0)
	c2, _ := k.Class(T2)
	if _, ok := k.Class(T4); ok || c0.Ceiling.Net != NetNone || len(*c0.Ceiling.Exec) != 0 || c0.Default.Net != NetNone || !c2.Named || c2.Ceiling.Net != NetNone || len(*c2.Default.Exec) != 0 {
		t.Errorf("a project widened a class: %+v %+v", c0, c2)
	}
	anyProgram := Profile{Exec: &[]string{ExecAny}}
	if got := c2.Exceeds(anyProgram); len(got) != 1 || got[0].Key != "exec" {
		t.Errorf("exec any in T2: %v", got)
	}
	if got := c2.Exceeds(Profile{Exec: &[]string{"git"}, Net: NetNone}); len(got) != 0 {
		t.Errorf("named programs in T2: %v", got)
	}
	k, err = ReadRisk([]Layer{layerOf(t, "system", true, systemRisk), wide})
	c2, _ = k.Class(T2)
	if err != nil || c2.Named || c2.Ceiling.Net != NetAny || len(*c2.Default.Exec) != 0 || len(c2.Exceeds(anyProgram)) != 0 {
		t.Errorf("the user did not widen a class: %+v, %v", c2, err)
	}
}

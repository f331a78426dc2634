package resolve

import (
	"testing"

	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust/doc"
)

// riskLayer gives the tool demo/x a tier.
func riskLayer(tier string) string {
	return "schema_version: 1.0.0\ncategory: agent\nitems: [{match: \"tool:demo/x\", tier: " + tier + "}]\n"
}

// TestRiskLayers wants only the system's items, and the user's own that a person
// signed, to lower a tier.
func TestRiskLayers(t *testing.T) {
	const rel = "config/agent/capability_risk.yaml"
	agent := testkit.Key(9)
	for name, c := range map[string]struct {
		put  func(h *testkit.Workspace)
		want policy.Rating
	}{
		"no layer":             {func(*testkit.Workspace) {}, policy.Rating{Class: policy.T3, Tier: policy.T3}},
		"the user's lowers":    {func(h *testkit.Workspace) { h.Put(h.User, rel, riskLayer("T1")) }, policy.Rating{Class: policy.T1, Tier: policy.T1}},
		"the project's lowers": {func(h *testkit.Workspace) { h.Put(h.Project, rel, riskLayer("T1")) }, policy.Rating{Class: policy.T3, Tier: policy.T3}},
		"the project's raises": {func(h *testkit.Workspace) { h.Put(h.Project, rel, riskLayer("T4")) }, policy.Rating{Class: policy.T3, Tier: policy.T4}},
		"both": {func(h *testkit.Workspace) {
			h.Put(h.User, rel, riskLayer("T1"))
			h.Put(h.Project, rel, riskLayer("T2"))
		}, policy.Rating{Class: policy.T1, Tier: policy.T2}},
		"the user's of an agent's key": {func(h *testkit.Workspace) {
			h.Own(agent, "agent", doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"drafts/**"}, May: []string{"sign"}})
			h.Put(h.User, rel, "schema_version: 1.0.0\ncategory: agent\nextends: drafts/risk\n")
			h.Write(h.User, "config/drafts/risk.yaml", string(h.Signed("config/drafts/risk.yaml", "schema_version: 1.0.0\nitems: [{match: \"tool:demo/x\", tier: T0}]\n", agent)))
		}, policy.Rating{Class: policy.T3, Tier: policy.T3}},
	} {
		t.Run(name, func(t *testing.T) {
			h := testkit.New(t)
			c.put(h)
			r := New(Params{Spaces: h.Spaces(), Trust: h.Store()})
			k, err := Risk(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := k.Rate(item.Ref{Kind: item.Tool, ID: "demo/x"}, "")
			if err != nil || got.Class != c.want.Class || got.Tier != c.want.Tier {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	// A bundle of the user space is not the user.
	h := testkit.New(t)
	l := install(h, h.User, space.User, "b")
	base := h.User + "/.ai/bundles/" + l.Install
	h.Put(base, rel, riskLayer("T0"))
	l.Manifest = manifestOf(h, base)
	l.Prefers = func(item.Ref) bool { return true }
	r := layeredResolver(h, l)
	k, err := Risk(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := k.Rate(item.Ref{Kind: item.Tool, ID: "demo/x"}, ""); got.Tier != policy.T3 {
		t.Errorf("a bundle lowered a tier: %+v", got)
	}
}

// TestRiskChanges wants a changed layer to apply to the next call, and a damaged one to
// be refused: classes that were read before do not hide it.
func TestRiskChanges(t *testing.T) {
	const rel = "config/agent/capability_risk.yaml"
	h := testkit.New(t)
	h.Put(h.User, rel, riskLayer("T1"))
	r := New(Params{Spaces: h.Spaces(), Trust: h.Store()})
	for _, want := range []policy.Tier{policy.T1, policy.T2, policy.T1} {
		h.Put(h.User, rel, riskLayer(want.String()))
		k, err := Risk(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Risk(t.Context(), r)
		if err != nil || again != k {
			t.Errorf("equal layers are interpreted again: %v", err)
		}
		if got, _ := k.Rate(item.Ref{Kind: item.Tool, ID: "demo/x"}, ""); got.Class != want {
			t.Errorf("class %s, want %s", got.Class, want)
		}
	}
	h.Write(h.User, rel, riskLayer("T0"))
	if _, err := Risk(t.Context(), r); err == nil {
		t.Error("a layer without a signature is accepted")
	}
}

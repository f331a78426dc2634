package resolve_test

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

func directive(id, extends, more string) string {
	if extends != "" {
		extends = ` extends="` + extends + `"`
	}
	return "# " + id + "\n\n```xml\n<directive name=\"" + id + "\" version=\"1.0.0\"" + extends + ">\n<metadata><description>D.</description>" + more +
		"</metadata>\n</directive>\n```\n\nText.\n"
}

// TestUses: the items that are named by a fixed id, with everything that a base names.
func TestUses(t *testing.T) {
	h := testkit.New(t)
	put := func(id, extends, more string) { h.Put(h.Project, "directives/"+id+".md", directive(id, extends, more)) }
	know := func(dir, id string) {
		h.Put(dir, "knowledge/"+id+".md", "---\nid: "+id+"\ntitle: K\nversion: 1.0.0\n---\nk\n")
	}
	know(h.Project, "a")
	know(h.Project, "b")
	know(h.User, "mine")
	h.Put(h.Project, "tools/t.yaml", "{version: 1.0.0, tool_type: script, executor_id: rye/core/primitives/subprocess, description: T.}\n")
	h.Put(h.Project, "config/base.yaml", "schema_version: \"1.0.0\"\nx: 1\n")
	h.Put(h.Project, "config/top.yaml", "schema_version: \"1.0.0\"\nextends: base\ny: 1\n")
	h.Put(h.User, "config/base.yaml", "schema_version: \"1.0.0\"\nx: 2\n")
	h.Put(h.User, "config/alone.yaml", "schema_version: \"1.0.0\"\nx: 2\n")
	put("plain", "", "")
	put("base", "", `<context><knowledge ref="a"/></context>`)
	put("child", "base", `<context><knowledge ref="b" at="system"/><knowledge>a</knowledge><config ref="base"/></context>`)
	put("hooks", "", `<hooks><hook event="after_tool"><tool>t</tool></hook><hook event="limit"><action primary="execute" item_type="directive" item_id="plain"/></hook>`+
		`<hook event="error"><action>retry</action></hook><hook event="error"><tool>${call.ref}</tool></hook></hooks>`)
	put("gone", "", `<context><knowledge ref="nowhere"/><knowledge ref="nowhere2" optional="true"/></context>`)
	put("mine", "", `<context><knowledge ref="mine"/></context>`)
	put("x", "y", "")
	put("y", "x", "")
	put("self", "self", "")
	put("lost", "nowhere", "")
	put("wild", "", `<hooks><hook event="error"><tool>${a b}</tool></hook></hooks>`)
	r := resolve.New(resolve.Params{Spaces: h.Spaces(), Trust: h.Store()})
	for _, c := range []struct {
		ref, want string
		missing   int
		code      diag.Code
	}{
		{"directive:plain", "", 0, ""},
		{"directive:base", "knowledge:a", 0, ""},
		{"directive:child", "config:base directive:base knowledge:a knowledge:b", 0, ""},
		{"directive:hooks", "directive:plain tool:t", 0, ""},
		{"directive:gone", "", 1, ""},
		{"directive:mine", "knowledge:mine", 0, ""},
		{"config:top", "config:base", 0, ""},
		{"knowledge:a", "", 0, ""},
		{"directive:x", "", 0, diag.CircularDependency},
		{"directive:self", "", 0, diag.CircularDependency},
		{"directive:lost", "", 0, diag.ItemNotFound},
		{"directive:wild", "", 0, ""},
	} {
		ref, err := item.ParseRef(c.ref, "")
		if err != nil {
			t.Fatal(err)
		}
		it, err := r.Find(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		uses, missing, err := r.Uses(t.Context(), it)
		var got []string
		for _, u := range uses {
			got = append(got, u.Ref.String())
			if u.Ref.String() == "config:base" && u.Root.Space != "project" {
				t.Errorf("%s uses the layer of %s", c.ref, u.Root.Space)
			}
		}
		if strings.Join(got, " ") != c.want || len(missing) != c.missing || diag.CodeOf(err) != c.code {
			t.Errorf("%s uses %q, %v, %v", c.ref, got, missing, err)
		}
	}
	it, err := r.Find(t.Context(), item.Ref{Kind: item.Tool, ID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	uses, _, err := r.Uses(t.Context(), it, "top", "alone")
	if err != nil || len(uses) != 2 || uses[0].Ref.ID != "base" || uses[1].Ref.ID != "top" {
		t.Errorf("the configurations that a tool reads: %v %v", uses, err)
	}
}

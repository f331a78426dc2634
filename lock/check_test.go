package lock

import (
	"errors"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func element(name, bytes, space string) Element {
	return Element{Link: Link{ref(name), digestOf(bytes)}, Space: space, Signer: "leo"}
}

func TestCheckItem(t *testing.T) {
	system := System{"rye-core", "v0.3.0", "h1:a"}
	other := System{"rye-core", "v0.4.0", "h1:b"}
	chain := func(edit func([]Element)) []Element {
		c := []Element{element("tool:a", "a", "project"), element("tool:run", "run", "system"), element("tool:prim", "prim", "system")}
		if edit != nil {
			edit(c)
		}
		return c
	}
	own := []Element{element("tool:own", "own", "project"), element("tool:mine", "mine", "project"), element("tool:prim", "prim", "system")}
	l := &Lock{System: system}
	for _, c := range [][]Element{chain(nil), own, own[1:]} {
		it, err := NewItem(c[0], c, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.SetItem(it)
	}
	for _, tc := range []struct {
		name  string
		found Found
		want  Standing
		text  string
	}{
		{"same", Found{Chain: chain(nil), System: system}, Matched, ""},
		{"same, locked", Found{Chain: chain(nil), System: system, Locked: true}, Matched, ""},
		{"same bytes, other system", Found{Chain: chain(nil), System: other, Locked: true}, Matched, ""},
		{"no entry", Found{Chain: []Element{element("tool:b", "b", "project")}, System: system}, NotLocked, ""},
		{"no entry, locked", Found{Chain: []Element{element("tool:b", "b", "project")}, System: system, Locked: true}, NotLocked, "LOCK_STALE checking tool:b: rye.lock has no entry"},
		{"changed item", Found{Chain: chain(func(c []Element) { c[0].Digest = digestOf("x") }), System: system}, Mismatch,
			"LOCK_MISMATCH checking tool:a: tool:a has other bytes than were locked; the found bytes are signed by leo"},
		{"changed item, other system", Found{Chain: chain(func(c []Element) { c[0].Digest = digestOf("x") }), System: other}, Mismatch, "LOCK_MISMATCH"},
		{"changed system item", Found{Chain: chain(func(c []Element) { c[1].Digest = digestOf("x") }), System: other}, Drifted,
			"LOCK_STALE checking tool:a: the system item tool:run changed: locked with rye-core v0.3.0 " + digestOf("run").String() + ", this program (rye-core v0.4.0) has " + digestOf("x").String()},
		{"an item of the project is gone", Found{Chain: []Element{own[0], element("tool:mine", "x", "system"), own[2]}, System: other}, Mismatch, "tool:mine has other bytes"},
		{"and what it leads to", Found{Chain: chain(func(c []Element) { c[1].Digest, c[2] = digestOf("x"), element("tool:new", "n", "system") }), System: other}, Drifted, "LOCK_STALE checking tool:a: the system item tool:run changed"},
		{"shadowed by the project", Found{Chain: chain(func(c []Element) { c[1].Space, c[1].Digest = "project", digestOf("x") }), System: other}, Mismatch, "tool:run has other bytes"},
		{"another runtime", Found{Chain: chain(func(c []Element) { c[1] = element("tool:evil", "x", "system") }), System: other}, Mismatch,
			"its chain goes to tool:evil where tool:run was locked"},
		{"longer", Found{Chain: append(chain(nil), element("tool:more", "m", "system")), System: system}, Mismatch, "continues to tool:more"},
		{"shorter", Found{Chain: chain(nil)[:2], System: system}, Mismatch, "ends before tool:prim"},
		{"a project runtime replaced", Found{Chain: []Element{own[0], element("tool:other", "mine", "system"), own[2]}, System: other}, Mismatch, "goes to tool:other"},
	} {
		got, err := l.CheckItem(tc.found)
		text := ""
		if err != nil {
			text = string(diag.CodeOf(err)) + " " + err.Error()
		}
		if got != tc.want || !strings.Contains(text, tc.text) || (tc.text == "") != (err == nil) {
			t.Errorf("%s: %s %q, want %s %q", tc.name, got, text, tc.want, tc.text)
		}
	}
	_, err := l.CheckItem(Found{Chain: chain(func(c []Element) { c[1].Digest, c[1].Space = digestOf("x"), "project" }), System: system})
	var e *diag.Error
	if !errors.As(err, &e) || e.Details["expected"] != "tool:run "+digestOf("run").String() || e.Details["found"] != "tool:run "+digestOf("x").String() ||
		e.Details["signer"] != "leo" || e.Details["element"] != 1 || e.Details["space"] != "project" || e.Code.Class() != diag.ClassIntegrity {
		t.Errorf("details %+v", e)
	}
}

func TestUserSpaceIsNotLockable(t *testing.T) {
	_, err := NewItem(element("tool:a", "a", "project"), []Element{element("tool:a", "a", "project"), element("tool:mine", "m", "user")}, nil)
	if diag.CodeOf(err) != diag.Unresolvable || !strings.Contains(err.Error(), "tool:mine of the user space") {
		t.Errorf("%v", err)
	}
}

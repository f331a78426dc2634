package primary_test

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

func lockVerbs(h *testkit.Workspace) *primary.Verbs {
	r := resolve.New(resolve.Params{Spaces: h.Spaces(), Trust: h.Store()})
	e := exec.New(exec.Params{Resolver: r, Cache: h.Cache, Project: h.Project, Now: h.Clock})
	return primary.New(primary.Params{Resolver: r, Executor: e, Now: h.Clock})
}

func script(executor, more string) string {
	return "{version: 1.0.0, tool_type: script, executor_id: " + executor + ", description: T., x-more: \"" + more + "\"}\n"
}

func runtimeOf(more string) string {
	return "{version: 1.0.0, tool_type: runtime, executor_id: rye/core/primitives/subprocess, description: R., x-more: \"" + more + "\", config: {command: sh}}\n"
}

func lockedProject(t *testing.T) *testkit.Workspace {
	h := testkit.New(t)
	h.Put(h.Project, "tools/t.yaml", script("rt", ""))
	h.Put(h.Project, "tools/other.yaml", script("rt", ""))
	h.Put(h.Project, "tools/rt.yaml", runtimeOf(""))
	h.Put(h.Project, "knowledge/k.md", "---\nid: k\ntitle: K\nversion: 1.0.0\ncategory: \"\"\n---\nk\n")
	return h
}

func names(items []lock.Item) string {
	var out []string
	for _, it := range items {
		out = append(out, it.Ref.ID)
	}
	return strings.Join(out, " ")
}

func TestLockItems(t *testing.T) {
	h := lockedProject(t)
	h.Put(h.Project, "tools/through.yaml", script("urt", ""))
	h.Put(h.User, "tools/urt.yaml", runtimeOf(""))
	h.Put(h.User, "tools/mine.yaml", script("urt", ""))
	h.Write(h.Project, "tools/unsigned.yaml", script("rt", ""))
	h.Write(h.Project, "tools/helper.txt", "data")
	items, fs, err := lockVerbs(h).LockItems(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(items); got != "other rt t" {
		t.Errorf("entries of %s", got)
	}
	if len(items) == 3 && (len(items[2].Chain) != 3 || items[2].Chain[0].Digest != items[2].Digest) {
		t.Errorf("%+v", items[2])
	}
	if len(fs) != 2 || fs[0].Severity != diag.SeverityWarning || fs[0].Code != diag.Unresolvable || !strings.Contains(fs[0].Message, "tool:urt of the user space") ||
		fs[1].Severity != diag.SeverityError || fs[1].Code != diag.Unsigned || fs[1].Path != ".ai/tools/unsigned.yaml" {
		t.Errorf("%v", fs)
	}
}

// TestRefreshLock: what was signed is accepted, and where that leads; any other
// difference stays one.
func TestRefreshLock(t *testing.T) {
	tool := func(id string) item.Ref { return item.Ref{Kind: item.Tool, ID: id} }
	for name, c := range map[string]struct {
		change  func(h *testkit.Workspace, l *lock.Lock)
		signed  []item.Ref
		good    string // the entries that match afterwards
		refused string // a part of the one warning, "" for none
	}{
		"nothing signed":      {func(h *testkit.Workspace, _ *lock.Lock) { h.Put(h.Project, "tools/t.yaml", script("rt", "2")) }, nil, "other rt", ""},
		"knowledge signed":    {func(h *testkit.Workspace, _ *lock.Lock) { h.Put(h.Project, "tools/t.yaml", script("rt", "2")) }, []item.Ref{{Kind: item.Knowledge, ID: "k"}}, "other rt", ""},
		"the tool":            {func(h *testkit.Workspace, _ *lock.Lock) { h.Put(h.Project, "tools/t.yaml", script("rt", "2")) }, []item.Ref{tool("t")}, "other rt t", ""},
		"the runtime of both": {func(h *testkit.Workspace, _ *lock.Lock) { h.Put(h.Project, "tools/rt.yaml", runtimeOf("2")) }, []item.Ref{tool("rt")}, "other rt t", ""},
		"another tool":        {func(h *testkit.Workspace, _ *lock.Lock) { h.Put(h.Project, "tools/t.yaml", script("rt", "2")) }, []item.Ref{tool("other")}, "other rt", ""},
		"a runtime not signed": {func(h *testkit.Workspace, _ *lock.Lock) {
			h.Put(h.Project, "tools/t.yaml", script("rt", "2"))
			h.Put(h.Project, "tools/rt.yaml", runtimeOf("2"))
		}, []item.Ref{tool("t")}, "", "tool:t differs"},
		"to another runtime": {func(h *testkit.Workspace, _ *lock.Lock) {
			h.Put(h.Project, "tools/rt2.yaml", runtimeOf(""))
			h.Put(h.Project, "tools/t.yaml", script("rt2", ""))
		}, []item.Ref{tool("t")}, "other rt t", ""},
		"a new tool":            {func(h *testkit.Workspace, _ *lock.Lock) { h.Put(h.Project, "tools/new.yaml", script("rt", "")) }, []item.Ref{tool("new")}, "new other rt t", ""},
		"a new one, not signed": {func(h *testkit.Workspace, _ *lock.Lock) { h.Put(h.Project, "tools/new.yaml", script("rt", "")) }, []item.Ref{tool("t")}, "other rt t", ""},
		"another system item": {func(h *testkit.Workspace, l *lock.Lock) {
			drift(l)
			h.Put(h.Project, "tools/t.yaml", script("rt", "2"))
		}, []item.Ref{tool("t")}, "drift: other rt t", ""},
	} {
		h := lockedProject(t)
		items, _, err := lockVerbs(h).LockItems(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := &lock.Lock{Items: items}
		c.change(h, l)
		before := string(l.Render())
		verbs := lockVerbs(h)
		changed, fs, err := verbs.RefreshLock(t.Context(), l, c.signed)
		if err != nil {
			t.Fatal(err)
		}
		if changed != (before != string(l.Render())) {
			t.Errorf("%s: changed is %t", name, changed)
		}
		if c.refused == "" && len(fs) > 0 || c.refused != "" && (len(fs) != 1 || !strings.Contains(fs[0].Message, c.refused)) {
			t.Errorf("%s: %v, want %q", name, fs, c.refused)
		}
		if got := matching(t, verbs, l); got != c.good {
			t.Errorf("%s: %q match, want %q", name, got, c.good)
		}
	}
}

// drift makes the locked system items others than there are.
func drift(l *lock.Lock) {
	for i := range l.Items {
		chain := l.Items[i].Chain
		chain[len(chain)-1].Digest[0] ^= 1
	}
}

// matching returns the tools whose entries fit the chains there are.
func matching(t *testing.T, h *primary.Verbs, l *lock.Lock) string {
	items, _, err := h.LockItems(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	drifted := ""
	for _, it := range items {
		f := lock.Found{}
		for _, x := range it.Chain {
			e := lock.Element{Link: x, Space: "project"}
			if strings.HasPrefix(x.Ref.ID, "rye/") {
				e.Space = "system"
			}
			f.Chain = append(f.Chain, e)
		}
		s, err := l.CheckItem(f)
		if s == lock.Drifted {
			drifted = "drift: "
		}
		if s == lock.Drifted || err == nil && s != lock.NotLocked {
			out = append(out, it.Ref.ID)
		}
	}
	return drifted + strings.Join(out, " ")
}

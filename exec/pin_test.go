package exec

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
)

// TestChainPinned runs a chain against a lock that was made for it and then
// changes one thing.
func TestChainPinned(t *testing.T) {
	sys := lock.System{ID: "rye-core", Version: "v1.0.0", Sum: "h1:x"}
	for name, c := range map[string]struct {
		change func(h *testkit.Workspace, l *lock.Lock)
		locked bool
		run    string // the tool, "" is t
		want   diag.Code
		part   string
	}{
		"as locked": {func(*testkit.Workspace, *lock.Lock) {}, true, "", "", ""},
		"the tool changed": {func(h *testkit.Workspace, _ *lock.Lock) {
			h.Put(h.Project, "tools/t.yaml", yaml("script", "rt", "x-a: 1"))
		}, false, "", diag.LockMismatch, "tool:t has other bytes than were locked; the found bytes are signed by ada"},
		"the runtime": {func(h *testkit.Workspace, _ *lock.Lock) {
			h.Put(h.Project, "tools/rt.yaml", yaml("runtime", Subprocess, "config: {command: rye}"))
		}, false, "", diag.LockMismatch, "tool:rt has other bytes"},
		"another runtime":             {func(h *testkit.Workspace, _ *lock.Lock) { h.Put(h.Project, "tools/t.yaml", yaml("script", "rt2")) }, false, "", diag.LockMismatch, "tool:t"},
		"another system item":         {func(_ *testkit.Workspace, l *lock.Lock) { l.Items[0].Chain[2].Digest[0] ^= 1 }, false, "", "", "the system item tool:rye/core/primitives/subprocess changed"},
		"it, locked":                  {func(_ *testkit.Workspace, l *lock.Lock) { l.Items[0].Chain[2].Digest[0] ^= 1 }, true, "", diag.LockStale, "the system item tool:rye/core/primitives/subprocess changed: locked with rye-core v1.0.0 sha256:"},
		"it, of a tool of the system": {func(_ *testkit.Workspace, l *lock.Lock) { l.Items[0].Chain[2].Digest[0] ^= 1 }, true, "rye/bash/bash", diag.LockStale, "primitives/subprocess changed"},
		"an item that is not used":    {func(_ *testkit.Workspace, l *lock.Lock) { l.System.Version = "v0.9.0" }, true, "", "", ""},
		"no entry":                    {func(_ *testkit.Workspace, l *lock.Lock) { l.Items = nil }, false, "", "", ""},
		"no entry, locked":            {func(_ *testkit.Workspace, l *lock.Lock) { l.Items = nil }, true, "", diag.LockStale, "no entry"},
		"the user's runtime":          {func(h *testkit.Workspace, _ *lock.Lock) {}, false, "u", "", ""},
		"it is not lockable":          {func(h *testkit.Workspace, _ *lock.Lock) {}, true, "u", diag.LockStale, "tool:urt is in the user space"},
		"a system tool":               {func(h *testkit.Workspace, _ *lock.Lock) {}, true, "rye/bash/bash", "", ""},
	} {
		h := testkit.New(t)
		h.Put(h.Project, "tools/t.yaml", yaml("script", "rt"))
		h.Put(h.Project, "tools/u.yaml", yaml("script", "urt"))
		for _, rt := range []string{"rt", "rt2"} {
			h.Put(h.Project, "tools/"+rt+".yaml", yaml("runtime", Subprocess, "config: {command: prog}"))
		}
		h.Put(h.User, "tools/urt.yaml", yaml("runtime", Subprocess, "config: {command: prog}"))
		chain, err := executor(h, nil).Walk(t.Context(), tool("t"))
		if err != nil {
			t.Fatal(err)
		}
		entry, err := lock.NewItem(Elements(chain.Tool())[0], Elements(chain.Elements...), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := &lock.Lock{System: sys, Items: []lock.Item{entry}}
		c.change(h, l)
		run := c.run
		if run == "" {
			run = "t"
		}
		warned := ""
		e := executor(h, func(p *Params) {
			p.Warn = func(err error) { warned = err.Error() }
			p.Lock, p.Locked, p.System = l, c.locked, func() lock.System { return sys }
		})
		got, err := e.Chain(t.Context(), tool(run))
		if diag.CodeOf(err) != c.want || err != nil && !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.want, c.part)
		}
		if err == nil && (warned == "") != (c.part == "") || !strings.Contains(warned, c.part) && err == nil {
			t.Errorf("%s: warned %q, want %q", name, warned, c.part)
		}
		if got == nil {
			t.Errorf("%s: no chain to show", name)
		}
		if _, err := e.Walk(t.Context(), tool(run)); err != nil {
			t.Errorf("%s: who writes a lock is not held by it: %v", name, err)
		}
	}
}

func TestElements(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/t.yaml", yaml("script", "rt"))
	h.Put(h.User, "tools/rt.yaml", yaml("runtime", Subprocess, "config: {command: prog}"))
	c, err := executor(h, nil).Walk(t.Context(), tool("t"))
	if err != nil {
		t.Fatal(err)
	}
	es := Elements(c.Elements...)
	if len(es) != 3 || es[0].Space != "project" || es[1].Space != "user" || es[2].Space != "system" {
		t.Fatalf("%v", es)
	}
	if es[0].Digest == (item.Digest{}) || es[0].Digest != c.Tool().Digest || !strings.HasPrefix(es[0].Signer, "ada (") {
		t.Errorf("%v", es[0])
	}
}

package graph

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Asking for the owner of a run does not create the directories of a deleted project.
func TestOwnerCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deleted", "project")
	if got := Owner(t.Context(), dir, "x-01jd3v8k2m9q4x7c5n0b6t1ras"); got != -1 {
		t.Errorf("owner %d", got)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s exists: %v", dir, err)
	}
}

// error.item is the entry of the node's own foreach, not one of a graph that it called.
func TestErrorOfChild(t *testing.T) {
	f := newFake()
	p := params(t, f)
	child := parse(t, "\nconfig:\n  start: each\n  state: {list: [1, 2]}\n  nodes:\n    each: {type: foreach, over: \"${state.list}\", as: n, action: {item_id: t/bad}}\n")
	f.do["t/bad"] = func(context.Context, Call) (any, error) { return nil, diag.New(diag.ExecutionFailed, "no") }
	f.do["t/child"] = func(ctx context.Context, c Call) (any, error) {
		q := p
		q.Child = &Child{Run: NewID("t/child", p.Now()), Parent: c.RunID, Depth: 1, Left: 1}
		_, err := Start(ctx, child, item.Digest{}, nil, q)
		return nil, err
	}
	g := parse(t, "\nconfig:\n  start: a\n  nodes:\n    a: {action: {item_id: t/child}, on_error: r}\n    r: {type: return, output: {e: \"${error}\"}}\n")
	r, err := Start(t.Context(), g, item.Digest{}, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := r.Output.(map[string]any)
	e, _ := out["e"].(map[string]any)
	if e["node"] != "a" {
		t.Fatalf("error: %v", e)
	}
	if got, ok := e["item"]; ok && got != nil {
		t.Errorf("error.item of a plain node: %v", got)
	}
}

package resolve_test

import (
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/resolve"
)

// TestOnce: in the context of Once a target is read and judged once; elsewhere each call
// reads the file.
func TestOnce(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/demo/hello.yaml", hello)
	r := resolver(h, false)
	ctx := resolve.Once(t.Context())
	first, err := r.Find(ctx, tool("demo/hello"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Find(ctx, tool("demo/none")); diag.CodeOf(err) != diag.ToolNotFound {
		t.Fatal(err)
	}
	h.Write(h.Project, "tools/demo/hello.yaml", "changed\n")
	h.Put(h.Project, "tools/demo/none.yaml", hello)
	if again, err := r.Find(ctx, tool("demo/hello")); err != nil || again != first {
		t.Errorf("it was read again: %v", err)
	}
	if _, err := r.Find(ctx, tool("demo/none")); diag.CodeOf(err) != diag.ToolNotFound {
		t.Errorf("it was searched again: %v", err)
	}
	if _, err := resolver(h, false).Find(ctx, tool("demo/hello")); err == nil {
		t.Error("another resolver uses the judgement of the first")
	}
	if _, err := r.Find(t.Context(), tool("demo/hello")); err == nil {
		t.Error("the changed file is trusted")
	}
	if _, err := r.Find(t.Context(), tool("demo/none")); err != nil {
		t.Error(err)
	}
	// The same ref below another root is another target.
	if _, err := r.FindFrom(ctx, tool("demo/none"), h.Spaces().Roots[len(h.Spaces().Roots)-1]); diag.CodeOf(err) != diag.ExecutorNotFound {
		t.Error(err)
	}
}

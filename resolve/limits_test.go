package resolve_test

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/resolve"
)

// The limits hold to the byte (T22): an item of 1 MiB with its signature is
// used, one byte more is not; nor is a detached signature above 1 KiB.
func TestLimitsAtTheEdge(t *testing.T) {
	const rel = "tools/demo/hello.yaml"
	find := func(h *testkit.Workspace) error {
		_, err := resolver(h, false).Find(t.Context(), tool("demo/hello"))
		return err
	}
	h := testkit.New(t)
	line := len(h.Signed(rel, hello, h.Key)) - len(hello)
	fill := func(total int) string {
		return hello + "#" + strings.Repeat("x", total-line-len(hello)-2) + "\n"
	}
	h.Put(h.Project, rel, fill(resolve.MaxItem))
	if err := find(h); err != nil {
		t.Errorf("an item of %d bytes: %v", resolve.MaxItem, err)
	}
	h = testkit.New(t)
	h.Write(h.Project, rel, string(h.Signed(rel, fill(resolve.MaxItem), h.Key))+"#")
	if err := find(h); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("one byte more: %v", err)
	}
	for size, want := range map[int]diag.Code{1 << 10: diag.Unsigned, 1<<10 + 1: diag.TooLarge} {
		h = testkit.New(t)
		h.Write(h.Project, rel, hello)
		h.Write(h.Project, rel+".rye-sig", strings.Repeat("x", size-1)+"\n")
		if err := find(h); diag.CodeOf(err) != want {
			t.Errorf("a detached signature of %d bytes: %v, want %s", size, err, want)
		}
	}
}

//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mcpTools is a list of tools for the fixture, all described alike.
func mcpTools(description string, names ...string) string {
	var list []string
	for _, n := range names {
		list = append(list, fmt.Sprintf(`{"name": %q, "description": %q, "inputSchema": {"type": "object"}}`, n, description))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// mcpState returns the tools that have items, with the text that tells the lists
// of a test apart, and fails when the items of one server come from two lists.
func mcpState(l *lab) string {
	l.t.Helper()
	files, err := filepath.Glob(filepath.Join(l.dir, ".ai", "tools", "mcp", "fx", "*"))
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		for line := range strings.Lines(string(l.read(f))) {
			if text, ok := strings.CutPrefix(line, "description: "); ok {
				out = append(out, filepath.Base(f)+" "+strings.TrimSpace(text))
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestCrashMCP kills rye mcp add and rye mcp refresh at random instants: all items
// of a server are the old or the new ones, they verify, and the next run goes on
// from there.
func TestCrashMCP(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes")
	}
	l := newLab(t)
	l.must("key", "new", "--no-passphrase", "--owner", "ada")
	if err := os.MkdirAll(filepath.Join(l.dir, ".ai", "tools"), 0o755); err != nil {
		t.Fatal(err)
	}
	lists := []string{mcpTools("first", "a", "b"), mcpTools("second", "a", "c", "d")}
	states := []string{"a.yaml first, b.yaml first", "a.yaml second, c.yaml second, d.yaml second"}
	l.write("tools.json", lists[0])
	add := []string{"mcp", "add", "fx", "--yes", "--", "mcp-fixture", "-tools", "tools.json"}
	span := l.span(add...)
	for range rounds(15) {
		l.must("mcp", "remove", "fx")
		l.killed(span, add...)
		if got := mcpState(l); got != "" && got != states[0] {
			t.Fatalf("after a killed add: %s", got)
		}
		l.must("verify")
		if _, _, status := l.run("mcp", "refresh", "fx", "--yes"); status != 0 {
			l.must(add...)
		}
		if got := mcpState(l); got != states[0] {
			t.Fatalf("after the next run: %s", got)
		}
	}
	changed := 0
	for i := range rounds(15) {
		l.write("tools.json", lists[(i+1)%2])
		l.killed(span, "mcp", "refresh", "fx", "--yes")
		switch got := mcpState(l); got {
		case states[(i+1)%2]:
			changed++
		case states[i%2]:
		default:
			t.Fatalf("after a killed refresh: %s", got)
		}
		l.must("verify")
		l.must("mcp", "refresh", "fx", "--yes")
	}
	t.Logf("%d of the killed runs had their effect", changed)
	if left, _ := filepath.Glob(filepath.Join(l.dir, ".ai", "cache", "mcp-*")); len(left) > 0 {
		t.Errorf("%q stayed", left)
	}
}

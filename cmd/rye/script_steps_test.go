package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryStepIsReplaced requires a script that replaces each step of the loop by a program
// of a project: a step that only rye can write would not be an item.
func TestEveryStepIsReplaced(t *testing.T) {
	items, err := filepath.Glob("../../stdlib/.ai/tools/rye/agent/threads/internal/*.yaml")
	if err != nil || len(items) < 14 {
		t.Fatal(len(items), err)
	}
	scripts, err := filepath.Glob("../../testdata/scripts/thread_*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range scripts {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for _, path := range items {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if !strings.Contains(all.String(), "internal/"+name+".py\n") && !strings.Contains(all.String(), " $I/"+name+".py\n") && !strings.Contains(all.String(), " $I/"+name+".sh\n") {
			t.Errorf("no script replaces the step %s", name)
		}
	}
}

package main

import (
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
)

// visibleWriter writes to stderr and may be used by several goroutines.
type visibleWriter struct {
	mu sync.Mutex
	u  *cli.UI
}

// Write writes each line with control characters made visible.
func (w *visibleWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		if _, err := w.u.Stderr.Write([]byte(hidden.Visible(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")) + "\n")); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

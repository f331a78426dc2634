package env

import (
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
)

// VisibleWriter writes to stderr and may be used by several goroutines.
type VisibleWriter struct {
	mu sync.Mutex
	U  *cli.UI
}

// Write writes each line with control characters made visible.
func (w *VisibleWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		_, err := w.U.Stderr.Write([]byte(
			hidden.Visible(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")) + "\n",
		))
		if err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

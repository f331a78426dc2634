package primary

import (
	"path/filepath"

	"github.com/ryeos/rye/internal/atomicfile"
)

// sweep removes what killed writes left beside the targets.
func (h *Verbs) sweep(files []signTarget) {
	before := h.p.Now().Add(-atomicfile.Abandoned)
	seen := map[string]bool{}
	for _, f := range files {
		if dir := filepath.Dir(f.root.Path(f.rel)); !seen[dir] {
			seen[dir] = true
			atomicfile.Sweep(dir, before)
		}
	}
}

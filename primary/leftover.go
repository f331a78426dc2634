package primary

import (
	"path/filepath"
	"time"

	"github.com/ryeos/rye/internal/atomicfile"
)

// leftoverAge is how old a temporary file must be to be nobody's any more.
const leftoverAge = 5 * time.Minute

// sweep removes what killed writes left beside the targets.
func (h *House) sweep(files []signTarget) {
	before := h.p.Now().Add(-leftoverAge)
	seen := map[string]bool{}
	for _, f := range files {
		if dir := filepath.Dir(f.root.Path(f.rel)); !seen[dir] {
			seen[dir] = true
			atomicfile.Sweep(dir, before)
		}
	}
}

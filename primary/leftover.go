package primary

import (
	"path/filepath"

	"github.com/ryeos/rye/internal/atomicfile"
)

// sweep removes temporary files that killed processes left in the directories of
// the targets.
func (v *Verbs) sweep(files []signTarget) {
	before := v.p.Now().Add(-atomicfile.Abandoned)
	seen := map[string]bool{}
	for _, f := range files {
		if dir := filepath.Dir(f.root.Path(f.rel)); !seen[dir] {
			seen[dir] = true
			atomicfile.Sweep(dir, before)
		}
	}
}

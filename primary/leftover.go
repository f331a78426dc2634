package primary

import (
	"path"
	"path/filepath"
)

// sweep removes temporary files that killed processes of earlier versions left in the
// directories of the targets.
func (v *Verbs) sweep(files []signTarget) {
	seen := map[string]bool{}
	for _, f := range files {
		dir := filepath.Dir(f.root.Path(f.rel))
		if f.root.OnDisk() && !f.root.ReadOnly() && !seen[dir] {
			seen[dir] = true
			f.root.WriteBase().SweepIn(path.Dir(f.rel))
		}
	}
}

package verify

import (
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/space"
)

// hidden looks into a file of a bundle that is no item for what a reader does
// not see; items were looked at when they were verified.
func (p LockParams) hidden(r *Report, root *space.Root, b hidden.Blob) {
	rel, below := strings.CutPrefix(b.Path, space.Dir+"/")
	if at, known := p.table.Place(rel); below && known && at.Type.Ext != "" {
		return
	}
	has := func(name string) bool {
		if rel, below := strings.CutPrefix(name, space.Dir+"/"); below {
			return root.Exists(rel)
		}
		_, _, err := root.Beside(name, lock.MaxTreeFile)
		return err == nil
	}
	for _, f := range hidden.Blobs(b, has) {
		f.Path = path.Join(path.Dir(root.Display(".")), b.Path)
		r.add(f)
	}
}

// alike warns of bundles whose ids are easily taken for one that is required.
func (p LockParams) alike(r *Report) {
	for _, b := range p.Lock.Bundles {
		for _, q := range p.Lock.Bundles {
			x, err := lock.ParseID(b.ID)
			y, err2 := lock.ParseID(q.ID)
			if err != nil || err2 != nil || q.Require == "" || b.Require != "" && b.ID < q.ID || lock.Alike(x, y) == lock.Unlike {
				continue
			}
			f := diag.Warnf(diag.HiddenChars, 0, 0, "%s looks like %s, which is required: see that both are meant", b.ID, q.ID)
			f.Path = lock.LockFile
			r.add(f)
		}
	}
}

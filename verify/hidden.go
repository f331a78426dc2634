package verify

import (
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
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

// packed warns of what is in a file of one's own that would refuse a bundle, or be
// odd in one.
func packed(it *resolve.Item) []diag.Finding {
	b := hidden.Blob{Path: path.Join(space.Dir, it.Rel), Bytes: it.Bytes, Executable: it.Root.Executable(it.Rel)}
	fs := hidden.Blobs(b, func(name string) bool { return it.Root.Exists(strings.TrimPrefix(name, space.Dir+"/")) })
	for i := range fs {
		fs[i].Path, fs[i].Severity = it.Path(), diag.SeverityWarning
	}
	return fs
}

// alike warns of bundles whose ids are easily taken for one that is required.
func (p LockParams) alike(r *Report) {
	looks := p.Lock.Looks()
	for i, b := range p.Lock.Bundles {
		for j, q := range p.Lock.Bundles {
			if q.Require == "" || b.Require != "" && i < j || looks[i].Alike(looks[j]) == lock.Unlike {
				continue
			}
			f := diag.Warnf(diag.HiddenChars, 0, 0, "%s looks like %s, which is required: see that both are meant", b.ID, q.ID)
			f.Path = lock.LockFile
			r.add(f)
		}
	}
}

package verify

import (
	"github.com/ryeos/rye/lock/treehash"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// hidden reports hidden content of a bundle file that is not an item. Items are
// scanned when they are verified.
func (p LockParams) hidden(r *Report, root *space.Root, b hidden.Blob) {
	rel, below := strings.CutPrefix(b.Path, space.Dir+"/")
	at, known := p.table.Classify(rel)
	if below && known && at.Type.Ext != "" {
		return
	}
	has := func(name string) bool {
		if rel, below := strings.CutPrefix(name, space.Dir+"/"); below {
			return root.Exists(rel)
		}
		_, _, err := root.Sibling(name, treehash.MaxFile)
		return err == nil
	}
	for _, f := range hidden.Blobs(b, has) {
		f.Path = path.Join(path.Dir(root.Display(".")), b.Path)
		r.add(f)
	}
}

// unfitForBundle warns about content of a project's own file that would make rye
// refuse or question a bundle that contains it.
func unfitForBundle(it *resolve.Item) []diag.Finding {
	b := hidden.Blob{Path: path.Join(space.Dir, it.Rel), Bytes: it.Bytes, Executable: it.Root.Executable(it.Rel)}
	fs := hidden.Blobs(b, func(name string) bool {
		return it.Root.Exists(strings.TrimPrefix(name, space.Dir+"/"))
	})
	for i := range fs {
		fs[i].Path = it.Path()
		fs[i].Severity = diag.SeverityWarning
	}
	return fs
}

// alike warns about bundles whose ids are easily mistaken for a required one.
func (p LockParams) alike(r *Report) {
	looks := p.Lock.Looks()
	for i, b := range p.Lock.Bundles {
		for j, q := range p.Lock.Bundles {
			if q.Require == "" ||
				b.Require != "" && i < j ||
				looks[i].Alike(looks[j]) == lock.Unlike {
				continue
			}
			f := diag.Warnf(diag.HiddenChars, 0, 0, "%s looks like %s, which is required: check that both are intended", b.ID, q.ID)
			f.Path = lock.LockFile
			r.add(f)
		}
	}
}

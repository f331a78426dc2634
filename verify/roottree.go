package verify

import (
	"path"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/resolve/space"
)

// BundleTree returns the directory of a root's .ai as a tree, and a function that
// closes it.
func BundleTree(root *space.Root) (bundle.Tree, func(), error) {
	if !root.OnDisk() {
		return rootTree{root}, func() {}, nil
	}
	t, err := bundle.Folder(root.Base)
	if err != nil {
		return nil, nil, err
	}
	return t, func() { _ = t.Close() }, nil
}

// rootTree is a bundle.Tree over a root that is not on disk.
type rootTree struct{ root *space.Root }

// Modes implements bundle.Tree: embedded files have none.
func (t rootTree) Modes() bool {
	return !t.root.Embedded()
}

// Read implements bundle.Tree.
func (t rootTree) Read(p string, limit int64) ([]byte, bool, error) {
	rel, inside := strings.CutPrefix(p, space.Dir+"/")
	if !inside {
		return t.root.Sibling(p, limit)
	}
	b, err := t.root.Read(rel, limit)
	return b, t.root.Executable(rel), err
}

// Walk implements bundle.Tree.
func (t rootTree) Walk(skip func(string) bool, fn func(string, error)) error {
	return t.root.Walk(".", func(e space.Entry) error {
		p := path.Join(space.Dir, e.Rel)
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if skip(dir) {
				return nil
			}
		}
		fn(p, e.Err)
		return nil
	})
}

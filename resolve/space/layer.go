package space

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
)

// BundlesFolder is where bundles are installed and manifests stand, below .ai.
const BundlesFolder = "bundles"

// Layer is a bundle below a space's own items: installed in the space, or a
// folder of this machine that is used where it is.
type Layer struct {
	Space   Name
	ID      string
	Version string // "" for a folder used where it is
	// Install is the folder below .ai/bundles that holds the bundle, as
	// github.com/acme/core@v1.8.2; "" for a folder used where it is.
	Install string
	Base    string // the folder used where it is, absolute; "" when installed
	Show    string // Base as messages name it
	// Files is the .ai folder of a bundle that lies on no disk, nil for others.
	Files Files
	// At is the space on a disk that holds an installed bundle, when the own
	// items of its space lie on none; nil means that they are in one place.
	At *Root
	// Manifest is the digest that the bundle's manifest must have; zero pins
	// nothing.
	Manifest item.Digest
	Needs    []string // ids of the bundles that its items may depend on
	// Offers says which items the space sees. Nil means all. The bundle's own
	// items, and those of bundles that need it, see all in any case.
	Offers func(item.Ref) bool
	// Allowed says why rules refuse the bundle as a whole; it is asked once, when
	// something of the bundle is first wanted. Nil refuses nothing.
	Allowed func(*Root) error
}

// Installed reports whether a path below .ai lies in the folder of an installed
// bundle, or is that folder: bundles/HOST/PATH@VERSION. The folder of a
// manifest never has an "@" in its name.
func Installed(rel string) bool {
	rest, below := strings.CutPrefix(rel, BundlesFolder+"/")
	return below && strings.Contains(rest, "@")
}

// AddLayers puts bundles below the own items of their spaces, in the order
// given. A bundle of a space that does not exist is left out.
func (s *Spaces) AddLayers(layers ...Layer) {
	for _, l := range layers {
		at := s.endOf(l.Space)
		if at < 0 {
			continue
		}
		own := at - 1
		for s.Roots[own].Bundled() {
			own--
		}
		s.Roots = slices.Insert(s.Roots, at, newLayer(l, s.Roots[own]))
	}
}

// endOf returns the index after the last root of a space that is not compiled
// in, -1 without one.
func (s *Spaces) endOf(n Name) int {
	for i, r := range slices.Backward(s.Roots) {
		if r.Space == n && !r.Embedded() {
			return i + 1
		}
	}
	return -1
}

func newLayer(l Layer, own *Root) *Root {
	r := layerRoot(l, own)
	if l.Allowed != nil {
		r.allowed = sync.OnceValue(func() error { return l.Allowed(r) })
	}
	return r
}

func layerRoot(l Layer, own *Root) *Root {
	base, show := l.Base, l.Show
	if l.Install != "" {
		show = own.Display(path.Join(BundlesFolder, l.Install))
	}
	if l.Files != nil {
		return &Root{Space: l.Space, Layer: l.ID, files: l.Files, layer: &l, show: show}
	}
	if l.At != nil {
		own = l.At
	}
	if l.Install != "" {
		base = own.Path(path.Join(BundlesFolder, l.Install))
	}
	r := NewDir(l.Space, l.ID, base, false)
	r.layer, r.show = &l, show
	open := r.open
	r.open = sync.OnceValues(func() (*openat.Dir, error) {
		if l.Install != "" {
			if err := own.linkless(path.Join(BundlesFolder, l.Install)); err != nil {
				return nil, err
			}
		} else if err := inside(own.Base, base, show); err != nil {
			return nil, err
		}
		return open()
	})
	return r
}

// inside refuses a folder below dir that is reached through a link; one that a
// person placed elsewhere on purpose is looked at as it is.
func inside(dir, base, show string) error {
	rel, err := filepath.Rel(dir, base)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	for at := base; at != dir && len(at) > len(dir); at = filepath.Dir(at) {
		if fi, err := os.Lstat(at); err == nil && fi.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return diag.New(diag.PathEscape, "opening %s: it is a link, or lies behind one", show).
				WithHint("name the folder itself in rye.yaml")
		}
	}
	return nil
}

// Installs returns the folders of the bundles that are installed in a space,
// locked or not, as Layer.Install names them.
func (r *Root) Installs() []string {
	if r.files != nil {
		return installsIn(r.files)
	}
	var out []string
	d, err := r.open()
	if err != nil {
		return nil
	}
	// A folder that cannot be listed is an error of whoever needs it.
	_ = d.Walk(BundlesFolder, func(p string, e openat.Entry) error {
		if !e.IsDir() || !strings.Contains(e.Name, "@") || !r.Exists(path.Join(p, Dir)) {
			return nil
		}
		out = append(out, strings.TrimPrefix(p, BundlesFolder+"/"))
		return fs.SkipDir
	})
	return out
}

// Install returns the folder of an installed bundle, "" for any other root.
func (r *Root) Install() string {
	if r.layer == nil {
		return ""
	}
	return r.layer.Install
}

// Bundled reports whether the root is a bundle below a space's own items.
func (r *Root) Bundled() bool { return r.layer != nil }

// ReadOnly reports whether the root is an installed bundle, whose files are
// never edited in place.
func (r *Root) ReadOnly() bool { return r.layer != nil && r.layer.Install != "" }

// Version returns the version of an installed bundle.
func (r *Root) Version() string {
	if r.layer == nil {
		return ""
	}
	return r.layer.Version
}

// Manifest returns the digest that the manifest of a bundle must have, zero
// when nothing is pinned.
func (r *Root) Manifest() (d item.Digest) {
	if r.layer != nil {
		d = r.layer.Manifest
	}
	return d
}

// Offers reports whether the space sees an item of the root.
func (r *Root) Offers(ref item.Ref) bool {
	return r.layer == nil || r.layer.Offers == nil || r.layer.Offers(ref)
}

// Allowed returns why rules refuse the root as a whole, or nil.
func (r *Root) Allowed() error {
	if r.allowed == nil {
		return nil
	}
	return r.allowed()
}

// Ready returns nil when a bundle is where it should be and no rule refuses it,
// so that what it does not hold may be looked for elsewhere.
func (r *Root) Ready() error {
	if err := r.there(); err != nil {
		return err
	}
	return r.Allowed()
}

// there returns nil when a bundle is where it should be.
func (r *Root) there() error {
	if r.layer == nil || r.files != nil && r.files.Exists(".") {
		return nil
	}
	err := fs.ErrNotExist
	if r.files == nil {
		_, err = r.open()
	}
	switch {
	case err == nil || !IsMissing(err):
		return err
	case r.ReadOnly() && r.files != nil:
		return diag.New(diag.BundleFileMissing, "opening %s: it is locked, and was not committed", r.Label()).
			WithHint("commit .ai/bundles, or keep bundles out of git with rye vendor --off")
	case r.ReadOnly():
		return diag.New(diag.BundleFileMissing, "opening %s: it is locked and not installed", r.Label()).WithHint("rye sync")
	}
	return diag.New(diag.BundleFileMissing, "opening %s: the folder %s holds no %s", r.Label(), r.show, Dir).
		WithHint("correct replace or workspace in rye.yaml, then rye lock")
}

// from returns the roots that an item of a bundle may depend on: the bundle,
// what it needs, and the lower spaces; never the space's own items.
func (s *Spaces) from(root *Root) []*Root {
	out := []*Root{root}
	for _, r := range s.Roots {
		needed := r.Bundled() && r != root && r.Space == root.Space && slices.Contains(root.layer.Needs, r.Layer)
		if needed || r.Space.Rank() > root.Space.Rank() || r.Space == root.Space && r.Embedded() {
			out = append(out, r)
		}
	}
	return out
}

// Tree calls fn for every file of an installed bundle, with its path from the
// folder that holds .ai, its bytes and whether it is executable. What is no
// plain file is an error.
func (r *Root) Tree(limit int64, fn func(rel string, b []byte, executable bool) error) error {
	if r.files != nil {
		return treeOf(r.files, limit, fn)
	}
	if _, err := r.open(); err != nil {
		return err
	}
	d, err := openat.Open(r.Base)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Walk(".", func(p string, e openat.Entry) error {
		switch {
		case e.Err != nil:
			return e.Err
		case e.IsDir():
			return nil
		}
		b, info, err := d.Read(p, limit)
		if err != nil {
			return err
		}
		return fn(p, b, info.Mode&0o111 != 0)
	})
}

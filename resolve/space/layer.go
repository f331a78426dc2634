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
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// BundlesFolder is the directory of installed bundles and of manifests, below
// .ai.
const BundlesFolder = "bundles"

// Layer is a bundle below a space's own items: installed in the space, or used
// from another directory of this machine (a member or a replacement).
type Layer struct {
	Space   Name
	ID      string
	Version string // "" if not installed
	// Install is the install directory below .ai/bundles, for example
	// github.com/acme/core@v1.8.2; "" if not installed.
	Install string
	Base    string // directory that contains .ai, absolute; "" if installed
	Show    string // Base, for messages
	// Files is the .ai directory of a bundle that is not on disk, else nil.
	Files Files
	// At is the root on disk that contains the installed bundle if the own items
	// of its space are not on disk, for example in a git tree. Nil means that
	// both are in the same root.
	At *Root
	// Manifest is the digest that the bundle's manifest must have; zero permits
	// any.
	Manifest item.Digest
	// Signers are the keys that signed that manifest, as the lock records them.
	Signers []sign.Fingerprint
	Needs   []string // ids of the bundles that its items may depend on
	// Offers reports whether the space sees an item of the bundle. Nil means all.
	// Items of this bundle, and of bundles that need it, see all items.
	Offers func(item.Ref) bool
	// Prefers reports whether the project file names this bundle for an item. The
	// bundle provides reserved items only then. Nil means none.
	Prefers func(item.Ref) bool
	// Stale reports that the lock does not reflect the settings of the project file,
	// prefer among them.
	Stale bool
	// Allowed returns why rules refuse the bundle. It is called once, when an
	// item of the bundle is first needed. Nil permits the bundle.
	Allowed func(*Root) error
}

// Installed reports whether a path below .ai is an install directory or in one:
// bundles/HOST/PATH@VERSION. The id of a manifest has no "@".
func Installed(rel string) bool {
	rest, below := strings.CutPrefix(rel, BundlesFolder+"/")
	return below && strings.Contains(rest, "@")
}

// AddLayers adds bundles below the own items of their spaces, in the given order.
// It skips a bundle whose space does not exist.
func (s *Spaces) AddLayers(layers ...Layer) {
	for _, l := range layers {
		at := s.endOf(l.Space)
		if at < 0 {
			continue
		}
		last := at - 1
		for s.Roots[last].Bundled() {
			last--
		}
		s.Roots = slices.Insert(s.Roots, at, newLayer(l, s.Roots[last]))
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

func newLayer(l Layer, root *Root) *Root {
	r := layerRoot(l, root)
	if l.Allowed != nil {
		r.allowed = sync.OnceValue(func() error { return l.Allowed(r) })
	}
	return r
}

func layerRoot(l Layer, root *Root) *Root {
	base := l.Base
	show := l.Show
	if l.Install != "" {
		show = root.Display(path.Join(BundlesFolder, l.Install))
	}
	if l.Files != nil {
		return &Root{
			Space: l.Space,
			Layer: l.ID,
			files: l.Files,
			layer: &l,
			show:  show,
		}
	}
	if l.At != nil {
		root = l.At
	}
	if l.Install != "" {
		base = root.Path(path.Join(BundlesFolder, l.Install))
	}
	r := NewDir(l.Space, l.ID, base, false)
	r.layer = &l
	r.show = show
	r.disk.check = func() error {
		if l.Install != "" {
			return root.linkless(path.Join(BundlesFolder, l.Install))
		}
		return checkInside(root.Base, base, show)
	}
	return r
}

// checkInside returns an error if base is below dir and the path between them has
// a link: a commit could add the link. A base outside dir is the user's choice.
func checkInside(dir, base, show string) error {
	rel, err := filepath.Rel(dir, base)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	for at := base; at != dir && len(at) > len(dir); at = filepath.Dir(at) {
		fi, err := os.Lstat(at)
		if err == nil && fi.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return diag.New(diag.PathEscape, "opening %s: it is a link or below a link", show).WithReason("linked_bundle")
		}
	}
	return nil
}

// Install returns the install directory of a bundle, "" for any other root.
func (r *Root) Install() string {
	if r.layer == nil {
		return ""
	}
	return r.layer.Install
}

// Bundled reports whether the root is a bundle below a space's own items.
func (r *Root) Bundled() bool {
	return r.layer != nil
}

// ReadOnly reports whether the root is an installed bundle. Its files are not
// edited in place: they must match the lock.
func (r *Root) ReadOnly() bool {
	return r.layer != nil && r.layer.Install != ""
}

// Version returns the version of an installed bundle.
func (r *Root) Version() string {
	if r.layer == nil {
		return ""
	}
	return r.layer.Version
}

// Manifest returns the digest that the manifest of a bundle must have, zero if
// any is permitted.
func (r *Root) Manifest() (d item.Digest) {
	if r.layer != nil {
		d = r.layer.Manifest
	}
	return d
}

// LockedSigner reports whether the lock names the key as a signer of the manifest of
// a bundle.
func (r *Root) LockedSigner(key sign.Fingerprint) bool {
	return r.layer != nil && slices.Contains(r.layer.Signers, key)
}

// Offers reports whether the space sees an item of the root.
// Completion reads names of files only, to be fast. It offers an id whatever its signature, and
// the parameters of a tool that verifies.
func (r *Root) Offers(ref item.Ref) bool {
	return r.layer == nil ||
		r.Provides(ref) && (r.layer.Offers == nil || r.layer.Offers(ref))
}

// Provides reports whether an item of the root may be used at all, also by items
// of the same bundle: a bundle provides a reserved item only where the project file
// prefers it.
func (r *Root) Provides(ref item.Ref) bool {
	return r.layer == nil ||
		!Reserved(ref) ||
		r.layer.Prefers != nil && r.layer.Prefers(ref)
}

// Pending reports whether the project file prefers the root for an item, and the lock
// does not reflect that.
func (r *Root) Pending(ref item.Ref) bool {
	return r.layer != nil &&
		r.layer.Stale &&
		r.layer.Prefers != nil &&
		r.layer.Prefers(ref)
}

// Reserved reports whether a bundle may provide the item only where the project
// file prefers it: everything below rye/, and the configuration that system items
// read: the instructions for agents, and the programs that start.
func Reserved(ref item.Ref) bool {
	if strings.HasPrefix(ref.ID, "rye/") {
		return true
	}
	namespace, _, _ := strings.Cut(ref.ID, "/")
	return ref.Kind == item.Config && slices.Contains(reservedConfig(), namespace)
}

// reservedConfig returns the namespaces of the system's configuration. A test of
// internal/project compares them with the system bundle.
func reservedConfig() []string {
	return []string{"agent", "export", "lsp", "review", "web"}
}

// Allowed returns why rules refuse the root, or nil.
func (r *Root) Allowed() error {
	if r.allowed == nil {
		return nil
	}
	return r.allowed()
}

// Ready returns nil if a bundle is present and no rule refuses it. Only then may
// a search for an item continue in other roots: an absent bundle could contain
// it.
func (r *Root) Ready() error {
	if err := r.present(); err != nil {
		return err
	}
	return r.Allowed()
}

// present returns nil if the .ai directory of a bundle exists.
func (r *Root) present() error {
	if r.layer == nil || r.disk == nil && r.files.Exists(".") {
		return nil
	}
	err := fs.ErrNotExist
	if r.disk != nil {
		_, err = r.disk.open()
	}
	switch {
	case err == nil || !IsMissing(err):
		return err
	case r.ReadOnly() && r.disk == nil:
		return diag.New(diag.BundleFileMissing, "opening %s: it is locked and not committed", r.Label()).WithReason("not_committed")
	case r.ReadOnly():
		return diag.New(diag.BundleFileMissing, "opening %s: it is locked and not installed", r.Label()).WithReason("not_installed")
	}
	return diag.New(diag.BundleFileMissing, "opening %s: the directory %s has no %s", r.Label(), r.show, Dir).
		WithReason("no_items")
}

// from is From for a bundle. It leaves out the space's own items: a bundle must
// work the same in every project.
func (s *Spaces) from(root *Root) []*Root {
	out := []*Root{root}
	for _, r := range s.Roots {
		needed := r.Bundled() &&
			r != root &&
			r.Space == root.Space &&
			slices.Contains(root.layer.Needs, r.Layer)
		if needed ||
			r.Space.Rank() > root.Space.Rank() ||
			r.Space == root.Space && r.Embedded() {
			out = append(out, r)
		}
	}
	return out
}

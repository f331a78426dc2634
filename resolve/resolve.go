// Package resolve turns a ref into a verified item. It finds the file in the
// spaces, reads it once, verifies it, and reads its metadata with the extractor
// of its kind, which it resolves in the same way.
//
// A dynamic edge, such as a command's argument, is searched from the project
// space down; a static edge, such as executor_id, from the space of the item that
// contains it. The package does not walk chains, run programs or write files.
package resolve

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// MaxItem is the largest item, in bytes.
const MaxItem = 1 << 20

// Params configures a Resolver. Nil Spaces are empty; a nil Trust trusts no key.
type Params struct {
	Spaces *space.Spaces
	Trust  *trust.Store
	// Lenient skips extractors that do not verify and falls back to the boot
	// table. sign, verify and trust need it: they repair such extractors.
	Lenient bool
	// Locked reports whether the lock records these bytes for an item of a space's
	// own. Items of bundles are recorded by the manifest that the lock names. Nil:
	// there is no lock.
	Locked func(*space.Root, item.Ref, item.Digest) bool
	// WasTool reports whether the lock records an item of the project's own as a tool.
	// Such a file is not a support file. It may be nil.
	WasTool func(item.Ref) bool
	// Check returns findings about an item from packages above this one, which know
	// what its tool_type needs. Lint adds them. It may be nil.
	Check func(context.Context, *Resolver, *Item) []diag.Finding
	// Plain is used by Walked. It may be nil.
	Plain Plain
	// NoCache keeps no metadata, for a walk that reads each file once.
	NoCache bool
	// Parsed is the metadata of embedded items that the program contains. It may be nil.
	Parsed *Parsed
	// Readers is a Resolver whose extractors this one uses, if both are lenient and over the
	// same spaces and keys. Nil: it reads its own.
	Readers *Resolver
}

// Resolver finds items. It is safe for concurrent use and caches metadata by
// content digest, never by path.
type Resolver struct {
	p     Params
	roots []*space.Root

	readers *readers
	cache   *metaCache

	embedded *embedded // nil keeps none
	passed   passed    // see Pass

	riskMu  sync.Mutex
	risk    *policy.Risk // of the layers that riskKey names
	riskKey string
	classes judgedRisk // of the system alone, see systemRisk

	manifestMu sync.Mutex
	listed     map[*space.Root]map[string]listing
	locked     map[*space.Root]func() *lockedFiles
	system     func() *Resolver
}

// New returns a Resolver over p.
func New(p Params) *Resolver {
	if p.Trust == nil {
		p.Trust, _ = trust.Load(trust.Params{})
	}
	r := &Resolver{
		p:      p,
		listed: map[*space.Root]map[string]listing{},
		locked: map[*space.Root]func() *lockedFiles{},
		cache:  newMetaCache(4096),
	}
	if p.NoCache {
		r.cache.max = 0
	} else {
		r.embedded = &embedded{m: map[source]judgedAt{}}
	}
	if r.p.Spaces == nil {
		r.p.Spaces = &space.Spaces{}
	}
	r.roots = r.p.Spaces.Roots
	if r.readers = r.sharedReaders(p.Readers); r.readers == nil {
		r.readers = &readers{kinds: map[item.Kind]*kindEntry{}, parsers: map[string]*parserEntry{}, all: sync.OnceValues(r.discoverKinds)}
	}
	r.p.Readers = nil // the other one need not stay in memory
	r.system = sync.OnceValue(r.newSystem)
	return r
}

// Spaces returns the spaces of the Resolver, never nil.
func (r *Resolver) Spaces() *space.Spaces {
	return r.p.Spaces
}

// Trust returns the store that gives the verdicts, nil if no key is trusted.
func (r *Resolver) Trust() *trust.Store {
	return r.p.Trust
}

// Roots returns the roots in order of precedence.
func (r *Resolver) Roots() []*space.Root {
	return r.roots
}

// System returns a Resolver over the embedded bundle only. No file of a disk
// changes what it finds: the program itself depends on such items.
func (r *Resolver) System() *Resolver {
	return r.system()
}

func (r *Resolver) newSystem() *Resolver {
	p := r.p
	p.Spaces = &space.Spaces{}
	for _, root := range r.roots {
		if root.Embedded() {
			p.Spaces.Roots = append(p.Spaces.Roots, root)
		}
	}
	return New(p)
}

// Item is one resolved file: its bytes and the verdict on them.
type Item struct {
	Ref       item.Ref
	Root      *space.Root
	Rel       string // below the root's .ai folder
	Extractor *extract.Extractor
	Type      extract.FileType
	Bytes     []byte
	Signature []byte // the detached signature's bytes, nil when inline
	Digest    item.Digest
	Meta      item.Metadata
	Verdict   trust.Verdict
	Findings  []diag.Finding // metadata and lints, with the display path set

	plain   [sha256.Size]byte // see ReadDigest; zero if it is not known yet
	walked  bool              // see Walked
	kept    *kept
	unread  bool // its metadata is not read, see systemRisk
	Skipped bool // Meta was not read: it is known that nothing is found in it
}

// Path returns the item's display path.
func (it *Item) Path() string {
	return it.Root.Display(it.Rel)
}

// own reports whether the item is the project's own, not an item of a bundle.
func (it *Item) own() bool {
	return it.Root.Space == space.Project && !it.Root.Bundled()
}

// Support reports whether the file is not an item but a file that a tool uses.
func (it *Item) Support() bool {
	return it.Ref.Kind == item.Tool && it.Meta.ToolType == "" && !it.Skipped
}

// Find returns the item of a dynamic edge: the first of all spaces, verified and
// valid. It does not fall back to a lower space if the file of a higher one does
// not verify: an attacker could then choose the version by breaking a signature.
func (r *Resolver) Find(ctx context.Context, ref item.Ref) (*Item, error) {
	return r.find(ctx, ref, r.roots, notFound(ref))
}

// FindFrom returns the item of a static edge of an item in root. It searches root
// and the spaces below it.
func (r *Resolver) FindFrom(
	ctx context.Context,
	ref item.Ref,
	root *space.Root,
) (*Item, error) {
	return r.find(ctx, ref, r.p.Spaces.From(root), diag.ExecutorNotFound)
}

// FileFrom returns the support file of a static edge of an item in root: the
// first at rel in root and the spaces below it, with any verdict.
func (r *Resolver) FileFrom(
	ctx context.Context,
	rel string,
	root *space.Root,
) (*Item, error) {
	for _, from := range r.p.Spaces.From(root) {
		if err := from.Ready(); err != nil {
			return nil, err
		}
		if from.Exists(rel) {
			return r.File(ctx, from, rel)
		}
	}
	return r.File(ctx, root, rel)
}

// InspectFrom is FindFrom for items with any verdict and findings.
func (r *Resolver) InspectFrom(
	ctx context.Context,
	ref item.Ref,
	root *space.Root,
) (*Item, error) {
	return r.inspect(ctx, ref, r.p.Spaces.From(root), diag.ExecutorNotFound)
}

// Inspect is Find for items with any verdict and findings.
func (r *Resolver) Inspect(ctx context.Context, ref item.Ref) (*Item, error) {
	return r.inspect(ctx, ref, r.roots, notFound(ref))
}

// Holds reports whether a static edge of an item in root has a target, without
// reading it. Two files for one id are a target.
func (r *Resolver) Holds(ctx context.Context, ref item.Ref, root *space.Root) bool {
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return false
	}
	at, _, err := r.locate(ext, ref, r.p.Spaces.From(root))
	return at != nil || err != nil
}

// Missing reports whether no space has an item. Unlike the error of Find it does not list
// the items to suggest a different one: it is for items that need not exist.
func (r *Resolver) Missing(ctx context.Context, ref item.Ref) (bool, error) {
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return false, err
	}
	if at, _, err := r.locate(ext, ref, r.roots); at != nil || err != nil {
		return false, err
	}
	for _, root := range r.roots {
		if err := root.Ready(); err != nil {
			return false, err // the item may be in this root
		}
	}
	return true, nil
}

func notFound(ref item.Ref) diag.Code {
	if ref.Kind == item.Tool {
		return diag.ToolNotFound
	}
	return diag.ItemNotFound
}

func (r *Resolver) find(
	ctx context.Context,
	ref item.Ref,
	roots []*space.Root,
	missing diag.Code,
) (*Item, error) {
	it, err := r.inspect(ctx, ref, roots, missing)
	if err != nil {
		return nil, err
	}
	return it, it.Usable()
}

// Usable returns the reason why the item may not be used, or nil.
func (it *Item) Usable() error {
	if !it.Verdict.OK() {
		return it.Verdict.Err(it.Path())
	}
	// Before Support: a file that does not parse has no tool_type either.
	if len(it.Findings) > 0 {
		err := diag.FromFindings("reading "+it.Ref.String(), it.Findings)
		if err != nil {
			return err
		}
	}
	if it.Support() {
		return diag.New(diag.ToolNotFound, "finding %s: %s has no tool_type, so it is a support file, not a tool", it.Ref, it.Path()).
			WithReason(extract.HeaderHint).WithDetail("header", extract.Header(it.Type))
	}
	return nil
}

func (r *Resolver) inspect(
	ctx context.Context,
	ref item.Ref,
	roots []*space.Root,
	missing diag.Code,
) (*Item, error) {
	return r.found(ctx, ref, roots, func() (*Item, error) {
		return r.read(ctx, ref, roots, missing)
	})
}

// read finds the first file of an item in roots and judges it.
func (r *Resolver) read(
	ctx context.Context,
	ref item.Ref,
	roots []*space.Root,
	missing diag.Code,
) (*Item, error) {
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	root, rel, err := r.locate(ext, ref, roots)
	if err != nil {
		return nil, err
	}
	if root == nil {
		err := r.missing(ctx, ref, ext, roots, missing)
		if e := diag.Typed(err); e.Reason == "" {
			if other := r.ofOtherKind(ctx, ref); other != "" {
				err = e.
					WithReason("other_kind").
					WithDetail("id", ref.ID).
					WithDetail("kind", string(other))
			}
		}
		return nil, err
	}
	return r.load(ctx, root, rel, extract.Match{Extractor: ext, Type: typeOf(ext, rel), Ref: ref})
}

func typeOf(ext *extract.Extractor, rel string) extract.FileType {
	t, _ := ext.Type(rel)
	return t
}

// ofOtherKind returns another kind that has an item with the id of ref, "" without one.
func (r *Resolver) ofOtherKind(ctx context.Context, ref item.Ref) item.Kind {
	table, err := r.Readable(ctx)
	if err != nil {
		return ""
	}
	for _, ext := range table.All() {
		if ext.Kind == ref.Kind || ext.Kind == item.Config {
			continue
		}
		for _, e := range r.entries(ext, r.roots) {
			if e.Ref.ID == ref.ID {
				return e.Ref.Kind
			}
		}
	}
	return ""
}

func (r *Resolver) missing(
	ctx context.Context,
	ref item.Ref,
	ext *extract.Extractor,
	roots []*space.Root,
	code diag.Code,
) error {
	labels := make([]string, len(roots))
	for i, root := range roots {
		if err := root.Ready(); err != nil {
			return err // the ref may be in this root
		}
		labels[i] = root.Label()
	}
	searched := "there is no space"
	if len(labels) > 0 {
		searched = "looked in " + strings.Join(labels, ", ")
		if len(roots) == len(r.roots) &&
			r.p.Spaces.Of(space.Project) == nil {
			searched += "; there is no project here"
		}
	}
	if unused := unpreferred(ext, ref, roots); unused != nil {
		return diag.New(code, "finding %s: only the bundle %s has it, and a bundle provides items below rye/ and configuration of the system only where prefer names it", ref, unused.Label()).
			WithReason("reserved").
			WithDetail("ref", ref.String()).
			WithDetail("bundle", unused.Layer)
	}
	err := diag.New(code, "not found in any space: %s (%s)", ref, searched)
	var ids []string
	for _, e := range r.entries(ext, roots) {
		ids = append(ids, e.Ref.ID)
	}
	if near := suggest.Nearest(ref.ID, ids); near != "" {
		err.
			WithReason("nearest").
			WithDetail("nearest", string(ref.Kind)+":"+near)
	} else if i := slices.IndexFunc(ids, func(id string) bool { return strings.HasSuffix(id, "/"+ref.Name()) }); i >= 0 {
		err.
			WithReason("nearest").
			WithDetail("nearest", string(ref.Kind)+":"+ids[i])
	}
	return err.WithDetail("ref", ref.String()).WithDetail("searched", labels)
}

// unpreferred returns the bundle that has a ref and may not provide it, or nil.
func unpreferred(ext *extract.Extractor, ref item.Ref, roots []*space.Root) *space.Root {
	for _, root := range roots {
		if root.Provides(ref) {
			continue
		}
		rel, err := inRoot(ext.Paths(ref.ID), ref, root)
		if err == nil && rel != "" {
			return root
		}
	}
	return nil
}

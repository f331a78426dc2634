// Package resolve turns a ref into a verified item: it finds the file through
// the spaces, reads it once, judges it, and reads its metadata with the
// extractor of its kind, which it resolves the same way.
//
// It follows dynamic edges (from the project down) and static edges (from the
// owner's space down). It does not walk chains, run anything or write files.
package resolve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// MaxItem is the largest item, in bytes.
const MaxItem = 1 << 20

// Params says what a Resolver works on. Nil Spaces hold nothing; a nil Trust
// trusts nothing.
type Params struct {
	Spaces *space.Spaces
	Trust  *trust.Store
	// Lenient passes over extractors that do not verify and falls back to
	// the boot table, as sign, verify and trust must.
	Lenient bool
	// NoCache keeps no metadata, for a walk that reads each file once.
	NoCache bool
}

// Resolver finds items. It is safe for concurrent use and caches metadata by
// content digest, never by path.
type Resolver struct {
	p     Params
	roots []*space.Root

	mu      sync.Mutex
	kinds   map[item.Kind]*kindEntry
	parsers map[string]parserEntry
	notes   []diag.Finding // why an extractor was passed over
	cache   *metaCache

	vouchMu  sync.Mutex
	vouchers map[*space.Root]voucher
	pinLists map[*space.Root]func() *pins
	allKinds func() ([]item.Kind, error)
}

// New returns a Resolver over p.
func New(p Params) *Resolver {
	if p.Trust == nil {
		p.Trust, _ = trust.Load(trust.Params{})
	}
	r := &Resolver{p: p, kinds: map[item.Kind]*kindEntry{}, parsers: map[string]parserEntry{},
		vouchers: map[*space.Root]voucher{}, pinLists: map[*space.Root]func() *pins{}, cache: newMetaCache(4096)}
	if p.NoCache {
		r.cache.max = 0
	}
	if r.p.Spaces == nil {
		r.p.Spaces = &space.Spaces{}
	}
	r.roots = r.p.Spaces.Roots
	r.allKinds = sync.OnceValues(r.discoverKinds)
	return r
}

// Spaces returns what the Resolver works on, never nil.
func (r *Resolver) Spaces() *space.Spaces { return r.p.Spaces }

// Roots returns the roots in order of precedence.
func (r *Resolver) Roots() []*space.Root { return r.roots }

// Item is one resolved item: the bytes that were judged, and the judgement.
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
}

// Path returns the item's display path.
func (it *Item) Path() string { return it.Root.Display(it.Rel) }

// Support reports whether the file is no item but verified beside one.
func (it *Item) Support() bool { return it.Ref.Kind == item.Tool && it.Meta.ToolType == "" }

// Find returns the item that a dynamic edge reaches: the first of all spaces,
// verified and valid, or an error. It never falls back to a lower space when a
// higher one holds a file that does not verify.
func (r *Resolver) Find(ctx context.Context, ref item.Ref) (*Item, error) {
	return r.find(ctx, ref, r.roots, notFound(ref))
}

// FindFrom returns the item that a static edge of an item in root reaches:
// searched in root and the spaces below it.
func (r *Resolver) FindFrom(ctx context.Context, ref item.Ref, root *space.Root) (*Item, error) {
	return r.find(ctx, ref, r.p.Spaces.From(root), diag.ExecutorNotFound)
}

// FileFrom returns the support file that a static edge of an item in root
// reaches: the first at rel in root and the spaces below it, whatever its
// verdict.
func (r *Resolver) FileFrom(ctx context.Context, rel string, root *space.Root) (*Item, error) {
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

// InspectFrom finds like FindFrom but returns the item whatever its verdict and
// findings are.
func (r *Resolver) InspectFrom(ctx context.Context, ref item.Ref, root *space.Root) (*Item, error) {
	return r.inspect(ctx, ref, r.p.Spaces.From(root), diag.ExecutorNotFound)
}

// Inspect finds like Find but returns the item whatever its verdict and
// findings are.
func (r *Resolver) Inspect(ctx context.Context, ref item.Ref) (*Item, error) {
	return r.inspect(ctx, ref, r.roots, notFound(ref))
}

// Holds reports whether a static edge of an item in root reaches anything: two
// files for one id too. Nothing is read.
func (r *Resolver) Holds(ctx context.Context, ref item.Ref, root *space.Root) bool {
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return false
	}
	at, _, err := r.locate(ext, ref, r.p.Spaces.From(root))
	return at != nil || err != nil
}

func notFound(ref item.Ref) diag.Code {
	if ref.Kind == item.Tool {
		return diag.ToolNotFound
	}
	return diag.ItemNotFound
}

func (r *Resolver) find(ctx context.Context, ref item.Ref, roots []*space.Root, missing diag.Code) (*Item, error) {
	it, err := r.inspect(ctx, ref, roots, missing)
	if err != nil {
		return nil, err
	}
	return it, it.Usable()
}

// Usable returns the reason why the item may not be used, or nil.
func (it *Item) Usable() error {
	if err := it.Verdict.Err(it.Path()); err != nil {
		return err
	}
	// First, for a file that does not parse names no tool_type either.
	if err := diag.FromFindings("reading "+it.Ref.String(), it.Findings); err != nil {
		return err
	}
	if it.Support() {
		return diag.New(diag.ToolNotFound, "finding %s: %s has no tool_type, so it is a support file and no tool", it.Ref, it.Path()).
			WithHint("add tool_type to make it a tool")
	}
	return nil
}

func (r *Resolver) inspect(ctx context.Context, ref item.Ref, roots []*space.Root, missing diag.Code) (*Item, error) {
	ext, err := r.Extractor(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	root, rel, err := r.locate(ext, ref, roots)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, r.missing(ctx, ref, ext, roots, missing)
	}
	return r.load(ctx, root, rel, extract.Place{Extractor: ext, Type: typeOf(ext, rel), Ref: ref})
}

func typeOf(ext *extract.Extractor, rel string) extract.FileType {
	t, _ := ext.Type(rel)
	return t
}

func (r *Resolver) missing(ctx context.Context, ref item.Ref, ext *extract.Extractor, roots []*space.Root, code diag.Code) error {
	labels := make([]string, len(roots))
	for i, root := range roots {
		if err := root.Ready(); err != nil {
			return err // it may be there
		}
		labels[i] = root.Label()
	}
	looked := "there is no space"
	if len(labels) > 0 {
		looked = "looked in " + strings.Join(labels, ", ")
		if len(roots) == len(r.roots) && r.p.Spaces.Of(space.Project) == nil {
			looked += "; there is no project here"
		}
	}
	err := diag.New(code, "not found in any space: %s (%s)", ref, looked)
	var ids []string
	for _, e := range r.entries(ext, roots) {
		ids = append(ids, e.Ref.ID)
	}
	if near := suggest.Nearest(ref.ID, ids); near != "" {
		err.Hint = fmt.Sprintf("did you mean %s:%s?", ref.Kind, near)
	} else if i := slices.IndexFunc(ids, func(id string) bool { return strings.HasSuffix(id, "/"+ref.Name()) }); i >= 0 {
		err.Hint = fmt.Sprintf("did you mean %s:%s?", ref.Kind, ids[i])
	}
	return err.WithDetail("ref", ref.String()).WithDetail("searched", labels)
}

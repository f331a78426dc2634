// Package search finds items: it parses a query, ranks the matching items of
// every space, and returns each hit with the verdict about its signature.
//
// Results always describe the current files. An index in the cache makes a
// query fast and may be deleted at any time. The package makes no verdict itself,
// changes no item and runs nothing.
//
// The files item*.go read items as documents, query*.go parse and widen queries,
// rank*.go match and order documents, and index*.go keep the index.
package search

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// Params are the inputs of an Index. Resolver is required.
type Params struct {
	Resolver *resolve.Resolver
	// CacheDir is the cache directory of the user. The index is in a directory of
	// its own in it. "" keeps the index in memory.
	CacheDir string
	// Build identifies the program. An index of another build is not used: it may
	// have read items differently. "" is a build like any other.
	Build string
	// Scan reads every item for each query and keeps no index.
	Scan bool
	// Record reports whether a key, as 32 bytes, signs records of runs. Records are
	// found only in the space "threads". Nil: no key does.
	Record func(signer string) bool
	// Fresh is the time for which the state of the files is reused, for a server
	// with many queries. Zero checks the files for each query.
	Fresh time.Duration
	Now   func() time.Time // nil means time.Now
}

// Query is one query. The zero value lists the first items of every space.
// The options of the original (fields, filters, fuzzy, proximity) are in the text of the query.
// There are no filters by date or version.
type Query struct {
	Text   string              // words, operators and fields; "" or "*" is every item
	Scope  string              // a kind, optionally with a namespace: "tool.rye.core.*"; "" or "all" is every kind
	Space  string              // "project", "user", "system" or RecordSpace; "" or "all" is every space without records
	Kinds  []item.Kind         // the kinds that the caller may see; nil is every kind
	Shown  func(item.Ref) bool // reports which items the caller may see; nil is all
	Limit  int                 // most hits; 0 means DefaultLimit
	Offset int                 // number of hits to skip

	// Executable leaves out the tools that cannot be executed, such as runtimes and
	// primitives, unless the query or its scope names a namespace or a tool_type.
	Executable bool
}

// DefaultLimit is the limit of a query that sets none, MaxLimit the largest
// limit.
const (
	DefaultLimit = 10
	MaxLimit     = 1000
)

// MaxDescription is the length of a description in a hit, in characters.
const MaxDescription = 160

// Hit is one matching item. Its version, title and description are from the bytes
// that the verdict is about.
type Hit struct {
	Type        item.Kind `json:"type"`
	ID          string    `json:"id"`
	Source      string    `json:"source"` // the label of its space or bundle
	Version     string    `json:"version,omitempty"`
	Title       string    `json:"title,omitempty"`
	Score       float64   `json:"score"`
	Trust       string    `json:"trust"`              // "trusted", or the code of the failed check
	Shadowed    bool      `json:"shadowed,omitempty"` // another copy is used by runs
	Shadows     []string  `json:"shadows,omitempty"`  // the labels of the copies that this one shadows
	Description string    `json:"description"`        // one line
	Path        string    `json:"-"`                  // for messages
}

// Ref returns the ref of the hit.
func (h Hit) Ref() item.Ref {
	return item.Ref{Kind: h.Type, ID: h.ID}
}

// Result is one page of the hits of a query.
type Result struct {
	Hits        []Hit    `json:"results"` // never nil
	Total       int      `json:"total"`   // on all pages
	NextOffset  int      `json:"next_offset,omitempty"`
	Note        string   `json:"note,omitempty"`        // why there is no hit, or none with all words
	Suggestions []string `json:"suggestions,omitempty"` // the query with corrected words
	Warnings    []string `json:"warnings,omitempty"`    // roots that could not be searched completely, with the reason
}

// Index runs queries over the items of one resolver. It is safe for concurrent
// use.
type Index struct {
	p     Params
	store store
	mem   *memory
}

// New returns an Index over p. Nothing is read before the first query.
func New(p Params) *Index {
	if p.Now == nil {
		p.Now = time.Now
	}
	x := &Index{p: p, mem: newMemory()}
	if p.CacheDir != "" {
		x.store.dir = filepath.Join(p.CacheDir, folderName)
	}
	return x
}

// Over returns an Index over another resolver that shares the memory of this
// one, for a server that reloads trust documents and locks.
func (x *Index) Over(r *resolve.Resolver) *Index {
	y := *x
	y.p.Resolver = r
	return &y
}

// Search runs q. An invalid query, scope or space is a *diag.Error with the code
// USAGE and the details "query" and "column", the position of the error in
// characters from 1.
func (x *Index) Search(ctx context.Context, q Query) (*Result, error) {
	table, err := x.p.Resolver.Readable(ctx)
	if err != nil {
		return nil, err
	}
	f := x.mem.fieldsOf(table)
	roots := x.p.Resolver.Roots()
	ask, err := q.read(f, roots)
	if err != nil {
		return nil, err
	}
	lib, notes, err := x.corpus(ctx, f, roots)
	if err != nil {
		return nil, err
	}
	res := x.answer(ctx, &ranker{lib, roots, ranks(roots)}, ask)
	if v, ok := lib.(*view); ok && v.broken() {
		// The checksum of a segment matches and its content is invalid, which no
		// crash causes. Read the items, and let the next query build a new index.
		x.mem.drop()
		x.store.discard()
		if lib, notes, err = x.scan(ctx, f, roots); err != nil {
			return nil, err
		}
		res = x.answer(ctx, &ranker{lib, roots, ranks(roots)}, ask)
	}
	for _, refused := range x.p.Resolver.RefusedKinds() {
		notes = append(notes, fmt.Sprintf("the items of kind %s are not searched: %s", refused.Kind, refused.Err))
	}
	res.Warnings = notes
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return res, nil
}

// question is a parsed query.
type question struct {
	Query
	node        node
	constraints []node
	records     bool // the query names the space of records
}

func (q Query) read(f *fields, roots []*space.Root) (*question, error) {
	if err := q.bounds(); err != nil {
		return nil, err
	}
	known := names{fields: f.names, kinds: f.kinds, spaces: []string{RecordSpace}}
	for _, s := range []space.Name{space.Project, space.User, space.System} {
		known.spaces = append(known.spaces, string(s))
	}
	for _, r := range roots {
		known.spaces = append(known.spaces, rootNames(r)...)
	}
	slices.Sort(known.spaces)
	known.spaces = slices.Compact(known.spaces)
	node, err := parse(q.Text, known)
	if err != nil {
		return nil, err
	}
	scope, err := parseScope(q.Scope, f.kinds)
	if err != nil {
		return nil, err
	}
	in, err := parseSpace(q.Space)
	if err != nil {
		return nil, err
	}
	constraints := append(scope, in...)
	field := f.number(toolTypeField)
	if q.Executable && field >= 0 && !namesTools(all(append(scope, node)...)) {
		constraints = append(constraints, executable(field)...)
	}
	if q.Kinds != nil {
		constraints = append(constraints, filter{"type", joinKinds(q.Kinds)})
	}
	return &question{q, node, constraints, namesRecords(all(append(in, node)...))}, nil
}

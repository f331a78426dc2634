// Package search finds items: it reads a query, ranks the items of every space
// that match it, and tells for the ones it shows how far they are trusted.
//
// The answer is always that of the files as they are; an index in the cache
// only makes it fast and may be deleted at any time. The package judges no
// trust itself, changes no item and runs nothing.
package search

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// Params says what an Index works on. Resolver is required.
type Params struct {
	Resolver *resolve.Resolver
	// CacheDir is the cache folder of the user; the index lies in a folder of
	// its own in it. "" keeps the index in memory.
	CacheDir string
	// Build names the program: what another build has read from the items is
	// not taken over. "" is a build like any other.
	Build string
	// Scan reads every item for each query and keeps no index.
	Scan bool
	// Fresh is for how long one look at the files counts, for a server that
	// is asked often. Zero looks for each query.
	Fresh time.Duration
	Now   func() time.Time // nil means time.Now
}

// Query is one question. Its zero value lists the first items of every space.
type Query struct {
	Text   string      // words, operators and fields; "" or "*" is everything
	Scope  string      // a kind, with a namespace if wanted: "tool.rye.core.*"; "" or "all" is every kind
	Space  string      // "project", "user" or "system"; "" or "all" is every space
	Kinds  []item.Kind // only these, whatever else is asked, for a caller who may not see others; nil is every kind
	Limit  int         // at most this many hits; 0 means DefaultLimit
	Offset int         // hits to leave out before the first
}

// DefaultLimit is the number of hits of a query that names none; MaxLimit is
// the largest that it may name.
const (
	DefaultLimit = 10
	MaxLimit     = 1000
)

// MaxDescription is the length to which descriptions are cut, in characters.
const MaxDescription = 160

// Hit is one item that matches, as every surface shows it. What it says of the
// item comes from the bytes that the verdict is about.
type Hit struct {
	Type        item.Kind `json:"type"`
	ID          string    `json:"id"`
	Source      string    `json:"source"` // the label of the space or bundle that holds it
	Version     string    `json:"version,omitempty"`
	Title       string    `json:"title,omitempty"`
	Score       float64   `json:"score"`
	Trust       string    `json:"trust"`              // "trusted", or the code of what is wrong
	Shadowed    bool      `json:"shadowed,omitempty"` // another copy is the one that runs
	Shadows     []string  `json:"shadows,omitempty"`  // where copies lie that this one hides
	Description string    `json:"description"`        // one line
	Path        string    `json:"-"`                  // for messages
}

// Ref returns the ref of the hit.
func (h Hit) Ref() item.Ref { return item.Ref{Kind: h.Type, ID: h.ID} }

// Relaxed says how a query was widened because nothing matched it as it stands.
type Relaxed string

// The ways to widen a query.
const (
	AsWritten Relaxed = ""
	Fuzzy     Relaxed = "fuzzy" // words that no item has were taken for typing errors
	AnyWord   Relaxed = "any"   // items have some of the words, none has all
)

// Result is the answer to a query.
type Result struct {
	Hits        []Hit    `json:"results"` // never nil
	Total       int      `json:"total"`   // of all pages
	NextOffset  int      `json:"next_offset,omitempty"`
	Relaxed     Relaxed  `json:"relaxed,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"` // queries that were perhaps meant
	Notes       []string `json:"notes,omitempty"`       // what could not be searched, and why
}

// Index answers queries over the items of one resolver. It is safe for
// concurrent use.
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

// Over returns an Index over another resolver that shares what this one knows
// already, for a server that reads trust documents and locks anew.
func (x *Index) Over(r *resolve.Resolver) *Index {
	y := *x
	y.p.Resolver = r
	return &y
}

// Search answers q. A query, scope or space that cannot be read is a
// *diag.Error with the code USAGE and, in Details, the "query" and the "column"
// that the mistake stands at, counted in characters from 1.
func (x *Index) Search(ctx context.Context, q Query) (*Result, error) {
	table, err := x.p.Resolver.Table(ctx)
	if err != nil {
		return nil, err
	}
	f := x.mem.fieldsOf(table)
	roots := x.p.Resolver.Roots()
	ask, err := q.read(f, roots)
	if err != nil {
		return nil, err
	}
	lib, notes, err := x.library(ctx, f, roots)
	if err != nil {
		return nil, err
	}
	res := x.answer(ctx, &shelf{lib, roots, ranks(roots)}, ask)
	if v, ok := lib.(*view); ok && v.broken() {
		// The checksum of a segment holds and its content does not: no crash
		// does that. The answer is read from the items, and the index is made anew.
		x.mem.drop()
		x.store.discard()
		if lib, notes, err = x.scan(ctx, f, roots); err != nil {
			return nil, err
		}
		res = x.answer(ctx, &shelf{lib, roots, ranks(roots)}, ask)
	}
	res.Notes = notes
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return res, nil
}

// question is a query that was read.
type question struct {
	Query
	node    node
	demands []node
}

func (q Query) read(f *fields, roots []*space.Root) (*question, error) {
	switch {
	case q.Limit < 0 || q.Limit > MaxLimit:
		return nil, diag.New(diag.Usage, "searching items: the limit %d is not between 1 and %d", q.Limit, MaxLimit)
	case q.Offset < 0:
		return nil, diag.New(diag.Usage, "searching items: the offset %d is less than 0", q.Offset)
	case q.Limit == 0:
		q.Limit = DefaultLimit
	}
	known := names{fields: f.names, kinds: f.kinds}
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
	demands := append(scope, in...)
	if q.Kinds != nil {
		demands = append(demands, filter{"type", strings.Join(kindNames(q.Kinds), " ")})
	}
	return &question{q, node, demands}, nil
}

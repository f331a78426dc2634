package search

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
)

// maxFields is the number of search fields of all extractors together; names
// beyond it, in alphabetical order, are ignored.
const maxFields = 64

// fields are the search fields that the extractors declare, and the weight of a
// word in each for each kind.
type fields struct {
	names   []string
	kinds   []item.Kind
	weights [][]float64 // by kind, then field
	exts    []*extract.Extractor
	print   [sha256.Size]byte // of everything that affects the reading of a file
	reads   atomic.Int64      // number of files read
}

// defaultFields returns the fields of a kind whose extractor declares none.
func defaultFields() map[string]float64 {
	return map[string]float64{
		"name":        1,
		"title":       1,
		"description": 1,
		"body":        1,
	}
}

func searchFields(ext *extract.Extractor) map[string]float64 {
	if len(ext.Search) == 0 {
		return defaultFields()
	}
	return ext.Search
}

func newFields(table *extract.Table) *fields {
	f := &fields{}
	all := map[string]bool{}
	for _, ext := range table.All() {
		f.exts = append(f.exts, ext)
		f.kinds = append(f.kinds, ext.Kind)
		for name := range searchFields(ext) {
			all[name] = true
		}
	}
	f.names = slices.Sorted(maps.Keys(all))
	f.names = f.names[:min(len(f.names), maxFields)]
	for _, ext := range f.exts {
		w := make([]float64, len(f.names))
		for i, name := range f.names {
			w[i] = max(searchFields(ext)[name], 0)
		}
		f.weights = append(f.weights, w)
	}
	f.print = f.fingerprint()
	return f
}

// fingerprint changes with everything that affects the reading of a file. Weights
// are not part of it: they are applied to each query.
func (f *fields) fingerprint() [sha256.Size]byte {
	type kind struct {
		Kind, Folder, ID, File string
		Types                  []extract.FileType
		Rules                  []extract.Rule
		Fields                 []string
	}
	var all []kind
	for _, e := range f.exts {
		all = append(all, kind{string(e.Kind), e.Folder, string(e.ID), e.File, e.Types, e.Rules, slices.Sorted(maps.Keys(searchFields(e)))})
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings and booleans only
	}
	return sha256.Sum256(b)
}

// equal reports whether the fields of other extractors have the same effect.
func (f *fields) equal(o *fields) bool {
	return o != nil &&
		f.print == o.print &&
		slices.EqualFunc(f.weights, o.weights, slices.Equal[[]float64])
}

// number returns the number of a field, -1 if no extractor declares it.
func (f *fields) number(name string) int {
	return slices.Index(f.names, name)
}

// kind returns the number of a kind, -1 if it is unknown.
func (f *fields) kind(k item.Kind) int {
	return slices.Index(f.kinds, k)
}

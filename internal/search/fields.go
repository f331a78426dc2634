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

// maxFields is the number of fields that all extractors together may declare
// for the search; names beyond it, in the order of the alphabet, do not count.
const maxFields = 64

// fields is what the extractors say of the search: which fields there are, and
// what a word in one weighs for each kind.
type fields struct {
	names   []string
	kinds   []item.Kind
	weights [][]float64 // by kind, then field
	exts    []*extract.Extractor
	print   [sha256.Size]byte // of everything that decides what is read from a file
	reads   atomic.Int64      // how many files were read
}

// everything is what a kind is searched by whose extractor names no field.
func everything() map[string]float64 {
	return map[string]float64{"name": 1, "title": 1, "description": 1, "body": 1}
}

func searched(ext *extract.Extractor) map[string]float64 {
	if len(ext.Search) == 0 {
		return everything()
	}
	return ext.Search
}

func newFields(table *extract.Table) *fields {
	f := &fields{}
	all := map[string]bool{}
	for _, ext := range table.All() {
		f.exts = append(f.exts, ext)
		f.kinds = append(f.kinds, ext.Kind)
		for name := range searched(ext) {
			all[name] = true
		}
	}
	f.names = slices.Sorted(maps.Keys(all))
	f.names = f.names[:min(len(f.names), maxFields)]
	for _, ext := range f.exts {
		w := make([]float64, len(f.names))
		for i, name := range f.names {
			w[i] = max(searched(ext)[name], 0)
		}
		f.weights = append(f.weights, w)
	}
	f.print = f.fingerprint()
	return f
}

// fingerprint changes with everything that decides what is read from a file.
// Weights are left out: they are applied when a query is answered.
func (f *fields) fingerprint() [sha256.Size]byte {
	type kind struct {
		Kind, Folder, ID, File string
		Types                  []extract.FileType
		Rules                  []extract.Rule
		Fields                 []string
	}
	var all []kind
	for _, e := range f.exts {
		all = append(all, kind{string(e.Kind), e.Folder, string(e.ID), e.File, e.Types, e.Rules, slices.Sorted(maps.Keys(searched(e)))})
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings and booleans only
	}
	return sha256.Sum256(b)
}

// like reports whether other extractors say the same of the search.
func (f *fields) like(o *fields) bool {
	return o != nil && f.print == o.print && slices.EqualFunc(f.weights, o.weights, slices.Equal[[]float64])
}

// number returns the number of a field, -1 when no extractor declares it.
func (f *fields) number(name string) int { return slices.Index(f.names, name) }

// kind returns the number of a kind, -1 when there is none.
func (f *fields) kind(k item.Kind) int { return slices.Index(f.kinds, k) }

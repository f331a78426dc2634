// Package extract reads a file as an item: which kind and id its path gives,
// how it is signed, where its metadata stands and which rules that must meet.
//
// All of it is data: an Extractor comes from an extractor item, or from the
// boot table that is needed to read the first one. The package never reads a
// disk and decides nothing about trust; extractors choose codecs and comment
// styles that are compiled in, they cannot bring new ones.
package extract

import (
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// IDForm says how a path becomes an id.
type IDForm string

// The id forms: the path below the kind's folder without its extension, or the
// folder that holds the file (skills/pdf/SKILL.md is pdf).
const (
	IDPath      IDForm = "path"
	IDParentDir IDForm = "parent_dir"
)

// FileType says how files of one extension are signed and read.
type FileType struct {
	Ext      string     // with the dot, lower case
	Style    sign.Style // comment style of the signature line; bare when detached
	Detached bool       // the signature stands in a file of its own
	Codec    string     // name of a compiled-in codec
}

// Extractor describes one kind.
type Extractor struct {
	Kind   item.Kind
	Folder string // below .ai, one segment
	ID     IDForm
	File   string // file name that marks an item when ID is IDParentDir
	Types  []FileType
	Rules  []Rule
	Search map[string]float64 // field weights
	Schema Schema
	Boot   bool // from the boot table: its schema is the built-in minimum
}

// Rule names the sources of one field, the first present one wins.
type Rule struct {
	Field string
	From  []string
}

// Type returns the file type of a path, by extension. Extensions are lower case
// everywhere, so that one id has one spelling on every file system.
func (e *Extractor) Type(rel string) (FileType, bool) {
	ext := path.Ext(rel)
	for _, t := range e.Types {
		if t.Ext == ext {
			return t, true
		}
	}
	return FileType{}, false
}

// Paths returns every path, below .ai, at which an item of this id may stand.
func (e *Extractor) Paths(id string) []string {
	if e.ID == IDParentDir {
		return []string{path.Join(e.Folder, id, e.File)}
	}
	out := make([]string, len(e.Types))
	for i, t := range e.Types {
		out[i] = path.Join(e.Folder, id+t.Ext)
	}
	return out
}

// Table holds the extractors by kind, in the order they were added.
type Table struct{ list []*Extractor }

// Add puts e into the table and replaces an extractor of the same kind. Two
// kinds in one folder are an error: a path would have two meanings.
func (t *Table) Add(e *Extractor) error {
	at := len(t.list)
	for i, o := range t.list {
		switch {
		case o.Kind == e.Kind:
			at = i
		case strings.EqualFold(o.Folder, e.Folder):
			return diag.New(diag.ConfigError, "reading the extractor of kind %s: folder %q is that of kind %s", e.Kind, e.Folder, o.Kind)
		}
	}
	t.list = slices.Replace(t.list, at, min(at+1, len(t.list)), e)
	return nil
}

// All returns the extractors.
func (t *Table) All() []*Extractor { return t.list }

// Kind returns the extractor of a kind, or nil.
func (t *Table) Kind(k item.Kind) *Extractor {
	for _, e := range t.list {
		if e.Kind == k {
			return e
		}
	}
	return nil
}

// DetachedExt ends the name of a detached signature.
const DetachedExt = ".rye-sig"

// Own reports whether a path below .ai is in a folder that rye uses itself:
// trust documents have their own reader, generated folders hold no items.
func Own(rel string) bool {
	top, _, _ := strings.Cut(rel, "/")
	switch strings.ToLower(top) { // Windows and macOS know one spelling
	case "trust", "trusted_keys", "threads", "keys", "cache":
		return true
	}
	return false
}

// Place is what a path says about a file.
type Place struct {
	Extractor *Extractor
	Type      FileType
	Ref       item.Ref // zero when the name is outside the id grammar: an asset
}

// Place classifies a path below .ai. ok is false when no extractor claims the
// folder; Type is zero when none claims the extension.
func (t *Table) Place(rel string) (p Place, ok bool) {
	for _, e := range t.list {
		if p, ok = e.Place(rel); ok {
			return p, true
		}
	}
	return Place{}, false
}

// Place classifies a path below .ai; ok is false outside the kind's folder.
func (e *Extractor) Place(rel string) (p Place, ok bool) {
	folder, rest, found := strings.Cut(rel, "/")
	if !found || folder != e.Folder {
		return Place{}, false
	}
	return e.place(rest), true
}

func (e *Extractor) place(rest string) Place {
	p := Place{Extractor: e}
	ft, known := e.Type(rest)
	if !known {
		return p
	}
	id := rest[:len(rest)-len(ft.Ext)]
	if e.ID == IDParentDir {
		if path.Base(rest) != e.File {
			return p
		}
		id = path.Dir(rest)
	}
	if item.CheckID(id) != nil {
		return p
	}
	p.Type, p.Ref = ft, item.Ref{Kind: e.Kind, ID: id}
	return p
}

// Subject returns what a signature of the item is about.
func Subject(ref item.Ref) sign.Subject {
	return sign.Subject{Use: sign.UseItem, Kind: string(ref.Kind), ID: ref.ID}
}

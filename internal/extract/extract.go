// Package extract reads a file as an item. It derives the kind and the id from the
// path, knows the comment style of the signature line, extracts the metadata and
// validates it.
//
// All of this is data: an Extractor comes from an extractor item, or from the boot
// table, with which the first one is read. Extractors select compiled-in codecs
// and comment styles and cannot add new ones. The package reads no files and does
// not decide about trust.
package extract

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/winname"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// IDForm is how an id is derived from a path.
type IDForm string

// The id forms: the path below the kind's directory without its extension, or the
// directory that contains the file (the id of skills/pdf/SKILL.md is pdf).
const (
	IDPath      IDForm = "path"
	IDParentDir IDForm = "parent_dir"
)

// FileType is how files of one extension are signed and read.
type FileType struct {
	Ext      string     // with the dot, lower case
	Style    sign.Style // comment style of the signature line; bare when detached
	Detached bool       // the signature is in a file of its own
	Codec    string     // name of a compiled-in codec
}

// Extractor describes one kind.
type Extractor struct {
	Kind   item.Kind
	Folder string // below .ai, one segment
	ID     IDForm
	File   string // name of the file that makes a directory an item if ID is IDParentDir
	Types  []FileType
	Rules  []Rule
	Search map[string]float64  // field weights
	Keys   map[string][]string // keys without a rule, by tool_type or anyType; nil: every key is permitted
	Schema Schema
	Source item.Digest // of the item; zero in the boot table
	Boot   bool        // from the boot table: its schema is the built-in minimum
}

// Rule is the source keys of one field. The first one in the file is used.
type Rule struct {
	Field string
	From  []string
}

// Type returns the file type of a path by its extension. Extensions are lower case, so
// that one id has one spelling on every file system.
func (e *Extractor) Type(rel string) (FileType, bool) {
	ext := path.Ext(rel)
	for _, t := range e.Types {
		if t.Ext == ext {
			return t, true
		}
	}
	return FileType{}, false
}

// Paths returns every possible path, below .ai, of an item with this id.
func (e *Extractor) Paths(id string) []string {
	return slices.Collect(e.EachPath(id))
}

// EachPath is Paths, each path when it is asked for.
func (e *Extractor) EachPath(id string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if e.ID == IDParentDir {
			yield(path.Join(e.Folder, id, e.File))
			return
		}
		for _, t := range e.Types {
			at := e.Folder + "/" + id + t.Ext
			if !fs.ValidPath(at) { // else Join changes nothing, and takes longer than all that is done with the path
				at = path.Join(e.Folder, id+t.Ext)
			}
			if !yield(at) {
				return
			}
		}
	}
}

// Table is the extractors of all kinds, in the order of Add.
type Table struct{ list []*Extractor }

// Add adds e to the table, or replaces the extractor of the same kind. Two kinds with
// one directory are an error: a path would belong to both.
func (t *Table) Add(e *Extractor) error {
	at := len(t.list)
	for i, o := range t.list {
		switch {
		case o.Kind == e.Kind:
			at = i
		case strings.EqualFold(o.Folder, e.Folder):
			return diag.New(diag.ConfigError, "reading the extractor of kind %s: the directory %q belongs to kind %s", e.Kind, e.Folder, o.Kind)
		}
	}
	t.list = slices.Replace(
		t.list,
		at,
		min(at+1, len(t.list)),
		e,
	)
	return nil
}

// All returns the extractors.
func (t *Table) All() []*Extractor {
	return t.list
}

// Digest returns the digest of everything that the metadata of files depend on, except the
// program and the files. ok is false if an extractor is built in.
func (t *Table) Digest() (digest [sha256.Size]byte, ok bool) {
	in := make([]byte, 0, 1024)
	add := func(s string) {
		in = append(binary.LittleEndian.AppendUint32(in, uint32(len(s))), s...)
	}
	for _, e := range t.list {
		if e.Boot {
			return digest, false
		}
		add(string(e.Kind))
		in = append(in, e.Source[:]...)
		in = binary.LittleEndian.AppendUint32(in, uint32(len(e.Types)))
		for _, ft := range e.Types {
			add(ft.Ext)
			add(ft.Codec) // its parser item names it
		}
	}
	return sha256.Sum256(in), len(t.list) > 0
}

// Kind returns the extractor of a kind, or nil.
func (t *Table) Kind(k item.Kind) *Extractor {
	for _, e := range t.list {
		if e.Kind == k {
			return e
		}
	}
	return nil
}

// DetachedExt is the extension of a detached signature.
const DetachedExt = ".rye-sig"

// Own reports whether a path below .ai is in a directory that rye uses itself: the directory
// of trust documents or of reviews, or a generated one without items.
func Own(rel string) bool {
	top, _, _ := strings.Cut(rel, "/")
	switch strings.ToLower(top) { // Windows and macOS ignore case
	case "adopted", "trust", "trusted_keys", "threads", "keys", "cache":
		return true
	}
	return false
}

// Match is the properties of a file that follow from its path.
type Match struct {
	Extractor *Extractor
	Type      FileType
	Ref       item.Ref // zero for a name that is not a valid id: an asset
}

// Classify returns the kind and id of a path below .ai. ok is false if the directory belongs to no
// extractor; Type is zero if the extractor does not have the extension.
func (t *Table) Classify(rel string) (p Match, ok bool) {
	for _, e := range t.list {
		if p, ok = e.Classify(rel); ok {
			return p, true
		}
	}
	return Match{}, false
}

// Classify returns the id of a path below .ai. ok is false outside the kind's directory.
func (e *Extractor) Classify(rel string) (p Match, ok bool) {
	folder, rest, found := strings.Cut(rel, "/")
	if !found || folder != e.Folder {
		return Match{}, false
	}
	return e.place(rest), true
}

func (e *Extractor) place(rest string) Match {
	p := Match{Extractor: e}
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
	p.Type = ft
	p.Ref = item.Ref{Kind: e.Kind, ID: id}
	return p
}

// NoItem returns why a file that Classify gives no id is not an item, and the reason of
// the finding that states it.
func NoItem(rel string) (why, reason string) {
	if name := winname.In(rel); name != "" {
		return fmt.Sprintf("%q is a device on Windows, where the file cannot exist", name), "device_name"
	}
	return "ids are letters, digits, - and _ below the directory of a kind, with its ending", "not_an_item"
}

// Subject returns the subject of the item's signature.
func Subject(ref item.Ref) sign.Subject {
	return sign.Subject{Use: sign.UseItem, Kind: string(ref.Kind), ID: ref.ID}
}

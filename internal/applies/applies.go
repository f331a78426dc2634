// Package applies reads when a knowledge item applies: its fields apply and paths.
//
// It decides nothing about trust, and adds nothing to a prompt.
package applies

import (
	"errors"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/tree"
)

// A Mode is a value of the field apply.
type Mode string

// The modes. An item without both fields has the empty mode: like Search.
const (
	Always Mode = "always" // every thread of the project reads the item
	Paths  Mode = "paths"  // the item is about files, those that its paths match
	Search Mode = "search" // threads find the item, and rye adds it to no prompt
)

// The names of the fields.
const (
	applyKey = "apply"
	pathsKey = "paths"
)

// maxPaths is the largest number of patterns of one item.
const maxPaths = 100

// Of returns the mode of an item with these fields. Paths without a mode mean Paths. A
// value that Check refuses is the empty mode.
func Of(fields map[string]any) Mode {
	switch mode, _ := fields[applyKey].(string); {
	case slices.Contains([]Mode{Always, Paths, Search}, Mode(mode)):
		return Mode(mode)
	case fields[applyKey] == nil && fields[pathsKey] != nil:
		return Paths
	}
	return ""
}

// Check returns the errors of both fields.
func Check(doc *tree.Doc) []diag.Finding {
	if doc.Root[applyKey] == nil && doc.Root[pathsKey] == nil {
		return nil
	}
	r := tree.NewReader(doc, diag.ValidationFailed)
	mode := r.Enum(
		applyKey,
		string(Of(doc.Root)),
		string(Always),
		string(Paths),
		string(Search),
	)
	list := r.Texts(pathsKey, checkPattern)
	switch {
	case Mode(mode) == Paths && !r.Has(pathsKey):
		r.Reject(applyKey, "is paths, and the item has no paths: name the files, such as [\"src/**\"]")
	case r.Has(pathsKey) && len(list) == 0 && len(r.Findings()) == 0:
		r.Reject(pathsKey, "is empty")
	case len(list) > maxPaths:
		r.Reject(pathsKey, "has %d patterns, at most %d are allowed", len(list), maxPaths)
	case r.Has(pathsKey) && (Mode(mode) == Always || Mode(mode) == Search):
		r.Reject(pathsKey, "has no effect with apply: %s; write apply: paths, or remove the paths", mode)
	}
	return r.Findings()
}

func checkPattern(pattern string) error {
	if pattern == "" {
		return errors.New("the pattern is empty")
	}
	if _, fs := glob.Compile(pattern); len(fs) > 0 {
		return errors.New("the pattern " + fs[0].Message)
	}
	return nil
}

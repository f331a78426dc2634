// Package header reads the metadata that shell, JavaScript and TypeScript
// files carry in their first comment lines ("# key: value") or, for the latter
// two, in constants at column 0 (export const __version__ = "1.0.0").
//
// It executes nothing, maps no key to a field and knows no extractor.
package header

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// Parse reads the comment header of src; comment is "#" or "//". isKey says
// which names are metadata (nil means ToolKey); every other line is prose.
func Parse(src []byte, comment string, isKey func(string) bool) (*tree.Doc, []diag.Finding) {
	return tree.New(), nil
}

// ParseJS reads the "//" header and the constants of a JavaScript or
// TypeScript file.
func ParseJS(src []byte, isKey func(string) bool) (*tree.Doc, []diag.Finding) {
	return tree.New(), nil
}

// ToolKey reports whether name is a metadata name of tools, plain or dunder.
func ToolKey(name string) bool { return false }

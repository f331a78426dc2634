package extract

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// OfOriginal returns the finding that an extractor item is one of the Python
// original, nil when it is not. Those are Python, or name no kind and one parser
// for all their files: read as an extractor of today such an item would be a
// list of faults that nobody can mend one by one.
func OfOriginal(t FileType, m *item.Metadata) *diag.Finding {
	pos := diag.Pos{Line: 1, Column: 1}
	_, kind := m.Fields["kind"]
	old := t.Codec == CodecPython
	for _, key := range [...]string{"parser", "signature_format"} {
		if _, ok := m.Fields[key]; ok && !kind && !old {
			old, pos = true, (&tree.Doc{Pos: m.Pos}).At(key)
		}
	}
	if !old {
		return nil
	}
	f := diag.Errorf(diag.ConfigError, max(pos.Line, 1), pos.Column, "this extractor has the format of the Python original, which rye does not read")
	f.Fix = "remove it and the built-in one counts; or write it anew, with kind, folder and a list of extensions"
	return &f
}

package extract

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// OfOriginal returns the finding that an extractor or parser item is one of the
// Python original, nil when it is not. Those are Python, or name no kind and one
// parser for all their files: read as one of today such an item would be a list
// of faults that nobody can mend one by one.
func OfOriginal(t FileType, m *item.Metadata) *diag.Finding {
	f := diag.Errorf(diag.ConfigError, 1, 1, "this is Python code of the original; rye reads extractors and parsers as data and runs none")
	f.Fix = "remove it and the built-in one counts; or write it anew in YAML"
	if t.Codec == CodecPython {
		return &f
	}
	if _, ok := m.Fields["kind"]; ok {
		return nil
	}
	for _, key := range [...]string{"parser", "signature_format"} {
		if _, ok := m.Fields[key]; !ok {
			continue
		}
		pos := (&tree.Doc{Pos: m.Pos}).At(key)
		f.Line, f.Column = max(pos.Line, 1), pos.Column
		f.Message = "this extractor has the format of the Python original, which rye does not read"
		f.Fix = "remove it and the built-in one counts; or write it anew, with kind, folder and a list of extensions"
		return &f
	}
	return nil
}

package extract

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// OfOriginal returns a finding if an extractor or parser item was written for the
// Python version of rye, else nil. Such items are Python code, or have no kind and
// one parser for all their files. Parse would return a long list of errors for
// them, none of which can be fixed alone.
func OfOriginal(t FileType, m *item.Metadata) *diag.Finding {
	f := diag.Errorf(diag.ConfigError, 1, 1, "this is Python code of the original; rye reads extractors and parsers as data and does not run them")
	f = f.WithReason("original_code")
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
		f.Line = max(pos.Line, 1)
		f.Column = pos.Column
		f.Message = "this extractor has the format of the Python original, which rye does not read"
		f.Reason = "original_format"
		return &f
	}
	return nil
}

package extract

import (
	"testing"

	"github.com/ryeos/rye/item"
)

func TestOfOriginal(t *testing.T) {
	table := Boot().Kind(item.Tool)
	for _, c := range []struct {
		name, file, text string
		line             int // of the finding, 0 for none
	}{
		{"today's", "a.yaml", "kind: tool\nfolder: tools\nextensions:\n  - {ext: .py, parser: p, comment: \"#\"}\n", 0},
		{"today's with a stray key", "a.yaml", "kind: tool\nparser: python\n", 0},
		{"today's, unfinished", "a.yaml", "folder: tools\n", 0},
		{"today's parser", "a.yaml", "codec: yaml\n", 0},
		{"original", "a.yaml", "extensions: [.py]\nparser: python_ast\n", 2},
		{"original, with its signature format only", "a.yaml", "# x\n\nsignature_format: {prefix: \"#\"}\n", 3},
		{"original in Python", "a.py", "PARSER = \"python_ast\"\n", 1},
		{"parser of the original", "a.py", "def parse(content):\n    return {}\n", 1},
		{"empty", "a.yaml", "", 0},
	} {
		ft, _ := table.Type(c.file)
		m, _ := table.Read(ft, []byte(c.text))
		f := OfOriginal(ft, &m)
		if (f == nil) != (c.line == 0) || f != nil && (f.Line != c.line || f.Reason == "") {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

package project

import (
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/memo"
	"github.com/ryeos/rye/item"
)

// readers returns a table of two extractors as if items had been read for it.
func readers(t *testing.T, change func(tool, config *extract.Extractor)) *extract.Table {
	t.Helper()
	tool, config := *extract.Boot().Kind(item.Tool), *extract.Boot().Kind(item.Config)
	tool.Types, config.Types = append([]extract.FileType{}, tool.Types...), append([]extract.FileType{}, config.Types...)
	tool.Boot, config.Boot = false, false
	tool.Source, config.Source = item.DigestOf([]byte("tool")), item.DigestOf([]byte("config"))
	change(&tool, &config)
	table := &extract.Table{}
	for _, e := range []*extract.Extractor{&tool, &config} {
		if err := table.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// TestRequestsOfOthers adds what some files request, and changes each thing that it depends
// on: other files, another list, other readers and another program are not known.
func TestRequestsOfOthers(t *testing.T) {
	m := memo.New(filepath.Join(t.TempDir(), "memo"))
	defer m.Close()
	known := requests{m, [32]byte{1}}
	same := readers(t, func(_, _ *extract.Extractor) {})
	caps := []string{"net:a.io", "net:b.io"}
	known.Add(same, "h1:x", caps)
	if !known.Known(readers(t, func(_, _ *extract.Extractor) {}), "h1:x", caps) {
		t.Error("what was added is not known")
	}
	for _, list := range [][]string{nil, {}, caps[:1], {"net:b.io", "net:a.io"}, {"net:a.ionet:b.io"}, {"net:a.io", "net:b.io", ""}, {"h1:x", "net:a.io", "net:b.io"}} {
		if known.Known(same, "h1:x", list) {
			t.Errorf("the list %q is known", list)
		}
	}
	if known.Known(same, "h1:y", caps) {
		t.Error("other files are known")
	}
	if (requests{m, [32]byte{2}}).Known(same, "h1:x", caps) {
		t.Error("what another program read is known")
	}
	for name, change := range map[string]func(tool, config *extract.Extractor){
		"extractor":        func(tool, _ *extract.Extractor) { tool.Source[0] ^= 1 },
		"second extractor": func(_, config *extract.Extractor) { config.Source[0] ^= 1 },
		"parser":           func(tool, _ *extract.Extractor) { tool.Types[0].Codec = extract.CodecYAML },
		"extension":        func(tool, _ *extract.Extractor) { tool.Types[0].Ext = ".x" },
		"fewer types":      func(tool, _ *extract.Extractor) { tool.Types = tool.Types[1:] },
		"exchanged":        func(tool, config *extract.Extractor) { tool.Source, config.Source = config.Source, tool.Source },
	} {
		if known.Known(readers(t, change), "h1:x", caps) {
			t.Errorf("%s: what another table read is known", name)
		}
	}
}

// TestRequestsNeedReaders shows that nothing is known without a memo, and nothing that the
// built-in extractors read: no item states how they read.
func TestRequestsNeedReaders(t *testing.T) {
	m := memo.New(filepath.Join(t.TempDir(), "memo"))
	defer m.Close()
	known := requests{m, [32]byte{1}}
	for name, table := range map[string]*extract.Table{
		"built in":             extract.Boot(),
		"one of them built in": readers(t, func(_, config *extract.Extractor) { config.Boot = true }),
		"no kinds":             {},
	} {
		if known.Add(table, "h1:x", nil); known.Known(table, "h1:x", nil) {
			t.Errorf("%s: it is known", name)
		}
	}
	same := readers(t, func(_, _ *extract.Extractor) {})
	if (requests{}).Add(same, "h1:x", nil); (requests{}).Known(same, "h1:x", nil) {
		t.Error("it is known without a memo")
	}
}

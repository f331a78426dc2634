package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed templates
var templates embed.FS

// sort is one kind of item of the corpus.
type sort struct {
	folder, template, ext string
	share                 int // of ten items
}

// mix is the make-up of the corpus: much code, some prose.
func mix() []sort {
	return []sort{
		{"tools", "python.py", ".py", 3},
		{"tools", "bash.sh", ".sh", 2},
		{"tools", "yaml.yaml", ".yaml", 1},
		{"directives", "directive.md", ".md", 2},
		{"knowledge", "knowledge.md", ".md", 2},
	}
}

// writeCorpus writes a project of n unsigned items, numbered from first on, 50 to
// a folder.
func writeCorpus(dir string, first, n int) error {
	var order []sort
	for _, s := range mix() {
		for range s.share {
			order = append(order, s)
		}
	}
	for i := first; i < first+n; i++ {
		err := writeItem(dir, order[i%len(order)], i)
		if err != nil {
			return err
		}
	}
	return nil
}

func writeItem(dir string, s sort, i int) error {
	text, err := templates.ReadFile("templates/" + s.template)
	if err != nil {
		return err
	}
	category := fmt.Sprintf("area%02d/part%03d", i/500%20, i/50)
	name := fmt.Sprintf("item_%05d", i)
	filled := strings.NewReplacer(
		"{{name}}",
		name,
		"{{category}}",
		category,
		"{{n}}",
		strconv.Itoa(i),
	).Replace(string(text))
	path := filepath.Join(dir, ".ai", s.folder, filepath.FromSlash(category), name+s.ext)
	err = os.MkdirAll(filepath.Dir(path), 0o755)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(filled), 0o644)
}

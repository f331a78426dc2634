package ryeos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page about the differences has the table of the modules as the program has it.
// RYE_UPDATE_GOLDEN=1 writes it.
func TestModulesDocument(t *testing.T) {
	const head = "| The tool imports | Use |\n|---|---|\n"
	page := filepath.Join("..", "..", "docs", "reference", "differences-from-python.md")
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), head)
	if !ok {
		t.Fatalf("%s has no table that begins with %q", page, head)
	}
	table, after, _ := strings.Cut(strings.TrimRight(rest, "\n")+"\n\n", "\n\n")
	var rows []string
	for _, m := range Modules() {
		rows = append(rows, "| `"+m.Name+"` | "+m.Use+" |")
	}
	want := strings.Join(rows, "\n")
	if table != want && os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(page, []byte(before+head+want+"\n\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("%s: the table of modules differs from Modules(); RYE_UPDATE_GOLDEN=1 go test ./internal/ryeos writes it\n got %s\nwant %s", page, table, want)
	}
}

// A module that contains another one is after it, so that the narrower one is found.
func TestNarrowerModulesAreFirst(t *testing.T) {
	for _, m := range Modules() {
		if got := Replacement(m.Name + ".part"); got != m.Use {
			t.Errorf("Replacement(%s.part) = %q, want %q", m.Name, got, m.Use)
		}
	}
	if got := Replacement("ryeland"); got != "" {
		t.Errorf("ryeland is taken for a module of the original: %q", got)
	}
}

func TestImports(t *testing.T) {
	src := "import os, json\nfrom rye.utils import path_utils\n  from rye.constants import AI_DIR\nimport ryeland\nfrom rye.utils.path_utils import x\n# from rye.tools import y\n"
	got := Imports([]byte(src))
	if len(got) != 2 || got[0].Line != 2 || got[1].Line != 3 || got[1].Module != "rye.constants" {
		t.Errorf("Imports = %+v", got)
	}
}

package lsp

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestCompanion checks that the file comes from the node_modules directory of the
// server's program, also when the program is a link, and that the settings of the
// configuration stay unchanged.
func TestCompanion(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(rel string) string {
		file := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	program := put("lib/node_modules/server/cli.mjs")
	s := &server{id: "ts", install: "npm install", companion: companion{"typescript/lib/tsserver.js", "tsserver.path"}}
	put("lib/typescript/lib/tsserver.js") // not below node_modules
	if err := s.useCompanion(program); err == nil || !strings.Contains(err.Error(), "is not installed next to") {
		t.Errorf("without the companion: %v", err)
	}
	want := put("lib/node_modules/typescript/lib/tsserver.js")
	given := map[string]any{"a": true, "tsserver": map[string]any{"logVerbosity": "off"}}
	s.options = given
	link := filepath.Join(dir, "bin")
	if err := os.Symlink(program, link); err != nil {
		t.Skip(err)
	}
	if err := s.useCompanion(link); err != nil {
		t.Fatal(err)
	}
	if got := map[string]any{"a": true, "tsserver": map[string]any{"logVerbosity": "off", "path": want}}; !reflect.DeepEqual(s.options, any(got)) {
		t.Errorf("options %v", s.options)
	}
	if !reflect.DeepEqual(given, map[string]any{"a": true, "tsserver": map[string]any{"logVerbosity": "off"}}) {
		t.Errorf("the configuration changed: %v", given)
	}
}

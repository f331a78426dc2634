package mcpclient

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestNamedFiles checks what the paths in a command permit the server to read.
func TestNamedFiles(t *testing.T) {
	top := t.TempDir()
	home := filepath.Join(top, "home")
	for _, file := range []string{
		"home/notes.txt", "home/run.py", "home/.aws/credentials", "home/.aws/tool.js", "home/.config/x/package.json", "home/.config/x/dist/i.js",
		"home/.nvm/lib/node_modules/pkg/i.js", "home/src/package.json", "home/src/dist/i.js", "home/src/data.json",
		"home/lone/run.py", "home/lone/data.txt", "home/lone/.venv/run.py", "srv/a/b/c/d/i.mjs", "srv/package.json",
	} {
		file = filepath.Join(top, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link.txt": "home/.aws/credentials", "node_modules": "home/.aws", "me": "home"} {
		if err := os.Symlink(filepath.Join(top, filepath.FromSlash(to)), filepath.Join(top, link)); err != nil {
			t.Skip("this system permits no link:", err)
		}
	}
	for arg, want := range map[string]string{
		"home":                                "", // or any directory above it
		"":                                    "",
		"home/notes.txt":                      "home/notes.txt",
		"home/run.py":                         "home/run.py",
		"home/.aws":                           "",
		"home/.aws/credentials":               "",
		"home/.aws/tool.js":                   "",
		"home/.config/x/dist/i.js":            "",
		"home/.nvm/lib/node_modules/pkg/i.js": "home/.nvm/lib/node_modules",
		"home/src/node_modules/../../.aws":    "",
		"home/src/dist/i.js":                  "home/src",
		"home/src/data.json":                  "home/src",
		"home/src/absent.js":                  "",
		"home/lone":                           "home/lone",
		"home/lone/run.py":                    "home/lone",
		"home/lone/data.txt":                  "home/lone/data.txt",
		"home/lone/.venv/run.py":              "home/lone/.venv",
		"srv/a/b/c/d/i.mjs":                   "srv/a/b/c/d", // the description is too far up
		"link.txt":                            "",
		"node_modules/tool.js":                "",
		"me":                                  "",
		"me/.aws/credentials":                 "",
		"me/lone/run.py":                      "me/lone",
	} {
		var list []string
		if want != "" {
			list = []string{filepath.Join(top, filepath.FromSlash(want))}
		}
		s := &Server{Args: []string{top + sep + filepath.FromSlash(arg), arg}}
		if got := s.NamedFiles(home); !slices.Equal(got, list) {
			t.Errorf("%s: %q, want %q", arg, got, list)
		}
	}
	if got := (&Server{Args: []string{filepath.Join(top, "home", "lone", "run.py")}}).NamedFiles(filepath.Join(top, "me")); len(got) != 1 {
		t.Errorf("home is a link: %q", got)
	}
	if got := (&Server{Args: []string{filepath.Join(top, "home", ".aws", "tool.js")}}).NamedFiles(filepath.Join(top, "me")); got != nil {
		t.Errorf("home is a link: %q", got)
	}
}

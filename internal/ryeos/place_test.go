package ryeos

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLeftOut(t *testing.T) {
	for rel, want := range map[string]struct {
		group string
		why   Reason
	}{
		"tools/demo/x.py":                                    {},
		"directives/rye/core/create_tool.md":                 {},
		"tools/rye/mine/x.py":                                {},
		"tools/rye/bash.py":                                  {},
		"config/web/websearch.yaml":                          {},
		"README.md":                                          {},
		"tools/rye/bash/bash.py":                             {"tools/rye/bash", LeftLibrary},
		"tools/rye/core/runtimes/python_script_runtime.yaml": {"tools/rye/core", LeftLibrary},
		"tools/rye/core/extractors/tool/tool_extractor.yaml": {"tools/rye/core/extractors", LeftReader},
		"tools/rye/core/parsers/yaml.py":                     {"tools/rye/core/parsers", LeftReader},
		"parsers/own.py":                                     {"parsers", LeftReader},
		"bundles/fx/manifest.yaml":                           {"bundles/fx", LeftBundle},
		"keys/private_key.pem":                               {"keys", LeftKeys},
		"trusted_keys/0123456789abcdef.toml":                 {"trusted_keys", LeftKeys},
		"config/keys/signing/private_key.pem":                {"config/keys", LeftKeys},
		"auth/token.json":                                    {"auth", LeftKeys},
		"lockfiles/demo/x@1.0.0.lock.json":                   {"lockfiles", LeftLocks},
		"threads/registry.db":                                {"threads", LeftRuns},
		"cache/tools/read/line_index/0123456789abcdef.json":  {"cache", LeftRuns},
		"knowledge/agent/threads/greet-1.md":                 {"knowledge/agent/threads", LeftRuns},
		"knowledge/graphs/report/1.md":                       {"knowledge/graphs", LeftRuns},
		"objects/blobs/ab/cd/0":                              {"objects", LeftRuns},
		"other/x":                                            {"other", LeftUnknown},
		".env":                                               {".env", LeftUnknown},
	} {
		if group, why := leftOut(rel); group != want.group || why != want.why {
			t.Errorf("%s: %q %q, want %q %q", rel, group, why, want.group, want.why)
		}
	}
}

// Read passes no link, not even one that is named as a directory of items.
func TestReadPassesNoLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(outside, "secret.md"), filepath.Join(dir, ".ai", "tools", "demo", "x.sh")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("text"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{filepath.Join(dir, ".ai", "knowledge"), filepath.Join(dir, ".ai", "tools", "demo", "more")} {
		if err := os.Symlink(outside, link); err != nil {
			t.Skip(err)
		}
	}
	var copied []string
	left, err := Read(dir, func(f File) error {
		copied = append(copied, f.Rel)
		return nil
	})
	if err != nil || !slices.Equal(copied, []string{"tools/demo/x.sh"}) {
		t.Errorf("copied %q, %v", copied, err)
	}
	if len(left) != 2 || left[0].Reason != LeftLink || left[1].Reason != LeftLink {
		t.Errorf("left out %+v", left)
	}
}

func TestAddCommand(t *testing.T) {
	for text, want := range map[string]string{
		"config: {transport: http, url: 'https://a.test/mcp?a=b'}":                  "rye mcp add fx --url 'https://a.test/mcp?a=b'",
		"config: {transport: stdio, command: npx, args: [-y, \"it's\", 3, '$(x)']}": `rye mcp add fx -- npx -y 'it'\''s' 3 '$(x)'`,
		"config: {}": "rye mcp add fx …",
		"[":          "rye mcp add fx …",
	} {
		if got := addCommand("fx", []byte(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

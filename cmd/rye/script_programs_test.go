package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestProgramsFromNPM runs scripts with the programs of the providers claude_cli and
// codex_cli as people install them, against the scripted model server.
func TestProgramsFromNPM(t *testing.T) {
	packages := filepath.Join(os.Getenv("RYE_NPM_PROGRAMS"), "node_modules")
	if _, err := os.Stat(packages); err != nil || !filepath.IsAbs(packages) {
		t.Skip("RYE_NPM_PROGRAMS names no folder with threads/provider/testdata/programs installed; .ci/run makes one")
	}
	bin := t.TempDir()
	for name, pattern := range map[string]string{
		"claude": "@anthropic-ai/claude-code-*/claude", // npm installs no scripts here, so its own link leads to none
		"codex":  "@openai/codex-*/vendor/*/bin/codex",
	} {
		found, err := filepath.Glob(filepath.Join(packages, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s has no %s: %v", packages, pattern, err)
		}
		if err := os.Symlink(found[0], filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "scripts", "programs"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PROGRAMS", bin)
			env.Setenv("ITEMS", stdlibProviders(t))
			return scriptHome(env)
		},
		Cmds: maps.Clone(scriptCommands()),
	})
}

// stdlibProviders returns the folder of the items of providers.
func stdlibProviders(t *testing.T) string {
	dir, err := filepath.Abs(filepath.Join("..", "..", "stdlib", ".ai", "tools", "rye", "agent", "providers"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

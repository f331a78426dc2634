package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/yamlx"
)

// policyKeys are the keys whose values a project may want to override, so they
// belong to items. Lists below such a key are included. Mappings are not: their
// own keys decide.
func policyKeys() map[string]bool {
	return set("url", "base_url", "endpoint", "model", "models", "price", "pricing", "command", "interpreter",
		"binary", "fallback", "pattern", "patterns", "retry_pattern", "prompt", "system_prompt")
}

// minPolicy is the minimum length of a value. Shorter words ("git", "bash") have
// other uses in code.
const minPolicy = 5

// TestNoPolicyInCode (T2) fails when a value that an item of the system bundle
// decides is also a string literal in Go.
func TestNoPolicyInCode(t *testing.T) {
	policy := map[string]string{}
	err := filepath.WalkDir("../../stdlib/.ai", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		doc, findings := yamlx.Parse(b)
		if doc == nil {
			t.Errorf("%s: %v", path, findings)
			return nil
		}
		gatherPolicy(doc.Root, false, strings.TrimPrefix(filepath.ToSlash(path), "../../"), policy)
		return nil
	})
	if os.IsNotExist(err) {
		t.Skip("no system bundle")
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(policy) == 0 {
		t.Error("no policy value found in the system bundle: check policyKeys")
	}
	for _, p := range policyProblems(sources(t), policy) {
		t.Error(p)
	}
}

// gatherPolicy collects the strings below policy keys.
func gatherPolicy(v any, under bool, item string, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			gatherPolicy(child, policyKeys()[k], item, into)
		}
	case []any:
		for _, child := range v {
			gatherPolicy(child, under, item, into)
		}
	case string:
		if under && len(v) >= minPolicy && !strings.Contains(v, "${") {
			into[v] = item
		}
	}
}

// policyProblems finds the literals that repeat a policy value. Import paths, struct tags and
// generated files are skipped: a test makes those from the items again.
func policyProblems(all []source, policy map[string]string) []string {
	var out []string
	for _, s := range all {
		if ast.IsGenerated(s.file) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					return true
				}
				if text, err := strconv.Unquote(n.Value); err == nil && policy[text] != "" {
					out = append(out, fmt.Sprintf("%s: %q belongs to %s, not to Go", s.fset.Position(n.Pos()), text, policy[text]))
				}
			}
			return true
		})
	}
	return out
}

// TestPolicyFaults checks that repeated values are found.
func TestPolicyFaults(t *testing.T) {
	doc, findings := yamlx.Parse([]byte("name: not-policy\nconfig:\n  command: rubyish\n  args: [some-argument]\n  retry:\n    patterns: [overloaded, x]\n  url: ${BASE}/v1\nmodel: large-model\ninterpreter: {type: some-type, fallback: old-ruby}\nparameters: {command: {type: string}}\n"))
	if doc == nil {
		t.Fatal(findings)
	}
	policy := map[string]string{}
	gatherPolicy(doc.Root, false, "tool", policy)
	var got []string
	for v := range policy {
		got = append(got, v)
	}
	slices.Sort(got)
	if want := []string{"large-model", "old-ruby", "overloaded", "rubyish"}; !slices.Equal(got, want) {
		t.Errorf("policies %q, want %q", got, want)
	}
	bad := parse(t, "a", "a/a.go", "package a\nimport \"rubyish\"\nvar x = \"rubyish\"\nvar y = `overloaded`\nvar z = \"rubyish2\" // rubyish\n")
	if got := policyProblems([]source{bad}, policy); len(got) != 2 {
		t.Errorf("literals: %q, want 2", got)
	}
}

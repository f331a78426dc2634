package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGraphRules: each rule on the page about rules of graphs names a test, each test and
// script that the page names exists, and each script of graphs is on the page.
func TestGraphRules(t *testing.T) {
	scripts, named := rulesPage(t, "graph-rules.md", 60)
	for name := range scripts {
		if strings.HasPrefix(name, "graph_") && !named[name] {
			t.Errorf("the page does not name the script %s", name)
		}
	}
}

// TestRegistryAttacks: each attack on the page about registries names a test, and each test
// and script that the page names exists.
func TestRegistryAttacks(t *testing.T) {
	rulesPage(t, "registry-attacks.md", 35)
}

// rulesPage compares a page whose tables name tests and scripts in their last column with
// those that exist. It returns all scripts, and the names on the page.
func rulesPage(t *testing.T, name string, least int) (scripts, named map[string]bool) {
	t.Helper()
	page, err := os.ReadFile("../../docs/dev/design/" + name)
	if err != nil {
		t.Fatal(err)
	}
	scripts, named = map[string]bool{}, map[string]bool{}
	found, err := filepath.Glob("../../testdata/scripts/*.txtar")
	if err != nil || len(found) < 100 {
		t.Fatal(found, err)
	}
	for _, f := range found {
		scripts[strings.TrimSuffix(filepath.Base(f), ".txtar")] = true
	}
	tests := testNames(t)
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+|[a-z]+_[a-z0-9_]+)`").FindAllStringSubmatch(string(page), -1) {
		named[m[1]] = true
		if (strings.HasPrefix(m[1], "Test") || strings.HasPrefix(m[1], "Fuzz")) && !tests[m[1]] {
			t.Errorf("the page names %s, which does not exist", m[1])
		}
	}
	rules := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.Contains(line, "| Shown by |") {
			continue
		}
		rules++
		shown := cells[len(cells)-1]
		if !strings.Contains(shown, "`") {
			t.Errorf("no test shows the rule %q", cells[0])
		}
		for _, m := range regexp.MustCompile("`([a-z]+_[a-z0-9_]+)`").FindAllStringSubmatch(shown, -1) {
			if !scripts[m[1]] {
				t.Errorf("the rule %q names the script %s, which does not exist", cells[0], m[1])
			}
		}
	}
	if rules < least {
		t.Errorf("the page has %d rules", rules)
	}
	return scripts, named
}

// testNames returns the names of all tests and fuzz targets of this module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	decl := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range decl.FindAllStringSubmatch(string(b), -1) {
			out[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

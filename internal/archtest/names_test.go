package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// TestPagesNameCode: each path that a page for developers names exists, and the file that it
// names with a function declares it.
func TestPagesNameCode(t *testing.T) {
	top := []string{}
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			top = append(top, regexp.QuoteMeta(e.Name()))
		}
	}
	path := regexp.MustCompile("[`( ]((?:" + strings.Join(top, "|") + `)/[\w./-]+)`)
	function := regexp.MustCompile("`([A-Za-z.]+)` \\(([a-z_/]+\\.go)\\)")
	paths := 0
	functions := 0
	for _, page := range developerPages(t) {
		text := readFile(t, "../../"+page)
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			paths++
			if problem := pathProblem(m[1]); problem != "" {
				t.Errorf("%s: %s", page, problem)
			}
		}
		for _, m := range function.FindAllStringSubmatch(text, -1) {
			functions++
			_, err := os.Stat("../../" + m[2])
			if err == nil && !declarations(t, "../../"+m[2])[m[1]] {
				t.Errorf("%s: %s does not declare %s", page, m[2], m[1])
			}
		}
	}
	if paths < 100 || functions < 10 {
		t.Errorf("the pages name only %d paths and %d functions with a file", paths, functions)
	}
	if pathProblem("cmd/rye/run.go") == "" || pathProblem("cmd/rye/main.go") != "" {
		t.Error("a path that does not exist is not reported, or one that exists is")
	}
}

// developerPages returns the pages that describe the source code.
func developerPages(t *testing.T) []string {
	t.Helper()
	out := slices.DeleteFunc(pages(t), func(page string) bool {
		return page != "CONTRIBUTING.md" && !strings.HasPrefix(page, "docs/dev/")
	})
	if len(out) < 5 {
		t.Fatalf("there are only the pages %q", out)
	}
	return out
}

// pathProblem returns an error text if a path of the source code does not exist. A word in
// capitals stands for any name; .Name behind a package is a name in it.
func pathProblem(path string) string {
	if regexp.MustCompile(`[A-Z]{4}`).MatchString(filepath.Base(path)) && !strings.HasSuffix(path, "README.md") {
		return ""
	}
	path = strings.TrimRight(path, "./")
	path = regexp.MustCompile(`\.[A-Z].*`).ReplaceAllString(path, "")
	if _, err := os.Stat("../../" + path); err != nil {
		return path + " does not exist"
	}
	return ""
}

// TestCommandsNameTests: each test that CI or a page selects by name exists in the named packages.
// go test passes if it finds none.
func TestCommandsNameTests(t *testing.T) {
	files := append(developerPages(t), ".ci/run", ".ci/long", ".ci/windows")
	commands := 0
	for _, file := range files {
		for _, line := range regexp.MustCompile("[\n`]").Split(readFile(t, "../../"+file), -1) {
			patterns, dirs := selected(line)
			if len(patterns) == 0 || len(dirs) == 0 {
				continue
			}
			commands++
			if problem := selectionProblem(t, patterns, dirs); problem != "" {
				t.Errorf("%s: %s: %s", file, strings.TrimSpace(line), problem)
			}
		}
	}
	if commands < 30 {
		t.Errorf("only %d commands select tests", commands)
	}
	for line, fails := range map[string]bool{
		"go test -run '^Test(PagesNameCode|Pages)$' ./internal/archtest":   false,
		"go test -run '^Test(PagesNameCode|Missing)$' ./internal/archtest": true,
		"go test -run '^TestPages$' ./internal/archtest ./diag":            true,
		"go test ./diag -run '^$' -fuzz '^FuzzMissing$'":                   true,
		"go test ./nowhere -run TestX":                                     true,
	} {
		patterns, dirs := selected(line)
		if got := selectionProblem(t, patterns, dirs); (got != "") != fails {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// selected returns the patterns and the directories of a command that runs tests. A
// pattern that matches no test, or that the shell computes, is left out.
func selected(line string) (patterns, dirs []string) {
	words := regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`).FindAllString(line, -1)
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "./") && !strings.HasSuffix(word, "..."):
			dirs = append(dirs, strings.TrimRight(word, ";"))
		case i > 0 && (words[i-1] == "-run" || words[i-1] == "-fuzz"):
			// Behind the first slash are subtests, for which there is no declaration.
			pattern, _, _ := strings.Cut(strings.ReplaceAll(strings.Trim(word, `'"`), `\$`, "$"), "/")
			if pattern != "^$" && !strings.ContainsAny(strings.TrimSuffix(pattern, "$"), "$") {
				patterns = append(patterns, pattern)
			}
		}
	}
	return patterns, dirs
}

// selectionProblem returns an error text if a package has no selected test, or if an alternative of
// a pattern selects none.
func selectionProblem(t *testing.T, patterns, dirs []string) string {
	t.Helper()
	all := []string{}
	for _, dir := range dirs {
		tests := testsOf(dir)
		all = append(all, tests...)
		if !slices.ContainsFunc(patterns, func(p string) bool { return anyMatches(p, tests) }) {
			return dir + " has no such test"
		}
	}
	for _, pattern := range patterns {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range alternatives(parsed) {
			if !anyMatches(one, all) {
				return "no test matches " + one
			}
		}
	}
	return ""
}

func anyMatches(pattern string, names []string) bool {
	return slices.ContainsFunc(names, regexp.MustCompile(pattern).MatchString)
}

// alternatives returns a pattern as patterns without | and ?.
func alternatives(r *syntax.Regexp) []string {
	switch r.Op {
	case syntax.OpAlternate:
		out := []string{}
		for _, sub := range r.Sub {
			out = append(out, alternatives(sub)...)
		}
		return out
	case syntax.OpCapture:
		return alternatives(r.Sub[0])
	case syntax.OpQuest:
		return append([]string{""}, alternatives(r.Sub[0])...)
	case syntax.OpConcat:
		out := []string{""}
		for _, sub := range r.Sub {
			longer := []string{}
			for _, end := range alternatives(sub) {
				for _, start := range out {
					longer = append(longer, start+end)
				}
			}
			out = longer
		}
		return out
	}
	return []string{r.String()}
}

// testsOf returns the tests, fuzz targets and benchmarks of a directory, for every system.
func testsOf(dir string) []string {
	names := []string{}
	files, _ := fs.Glob(os.DirFS("../.."), filepath.ToSlash(filepath.Join(dir, "*_test.go")))
	for _, file := range files {
		b, err := os.ReadFile("../../" + file)
		if err != nil {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`).FindAllSubmatch(b, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

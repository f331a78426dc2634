package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maxLines is the length from which a file has more than one idea.
const maxLines = 600

// source is one parsed file that is not a test.
type source struct {
	path string // relative to the module
	pkg  string
	text string
	file *ast.File
	fset *token.FileSet
}

func parse(t *testing.T, pkg, path, text string) source {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return source{path, pkg, text, f, fset}
}

// sources returns the parsed files of every system. They are parsed once for all tests.
func sources(t *testing.T) []source {
	t.Helper()
	parsed.Do(func() { parsed.files = parseAll(t) })
	if parsed.files == nil {
		t.Fatal("the files could not be parsed")
	}
	return parsed.files
}

var parsed struct {
	sync.Once
	files []source
}

func parseAll(t *testing.T) []source {
	t.Helper()
	var out []source
	for _, p := range packages(t, "linux") {
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGo) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			b, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, parse(t, p.path(), p.path()+"/"+name, string(b)))
		}
	}
	return out
}

func TestSources(t *testing.T) {
	all := sources(t)
	if len(all) < 20 {
		t.Fatalf("only %d files found", len(all))
	}
	problems := slices.Concat(docProblems(all), contextProblems(all), sizeProblems(all), initProblems(all), cutProblems(all))
	for _, p := range problems {
		t.Error(p)
	}
}

// docProblems reports packages without exactly one package doc that states a
// limit of the package.
func docProblems(all []source) []string {
	docs := map[string][]string{}
	for _, s := range all {
		docs[s.pkg] = append(docs[s.pkg], docOf(s)...)
	}
	var out []string
	for name, texts := range docs {
		switch {
		case len(texts) == 0:
			out = append(out, name+" has no package doc")
		case len(texts) > 1:
			out = append(out, fmt.Sprintf("%s has %d package docs", name, len(texts)))
		case !statesLimit(texts[0]):
			out = append(out, name+": the package doc does not state what the package does not do")
		}
	}
	slices.Sort(out)
	return out
}

// docOf returns the package doc of a file, if it has one.
func docOf(s source) []string {
	if s.file.Doc == nil {
		return nil
	}
	return []string{s.file.Doc.Text()}
}

func statesLimit(doc string) bool {
	for _, word := range regexp.MustCompile(`[a-z]+`).FindAllString(strings.ToLower(doc), -1) {
		switch word {
		case "not", "never", "no", "nothing", "nobody", "none", "without", "only":
			return true
		}
	}
	return false
}

// contextProblems finds context.Background and context.TODO outside main.go.
func contextProblems(all []source) []string {
	var out []string
	for _, s := range all {
		main := s.file.Name.Name == "main" && strings.HasSuffix(s.path, "/main.go")
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "context" && !main &&
				(sel.Sel.Name == "Background" || sel.Sel.Name == "TODO") {
				out = append(out, fmt.Sprintf("%s: context.%s outside main: take ctx as the first parameter", s.fset.Position(n.Pos()), sel.Sel.Name))
			}
			return true
		})
	}
	return out
}

func sizeProblems(all []source) []string {
	var out []string
	for _, s := range all {
		if n := strings.Count(s.text, "\n"); n > maxLines {
			out = append(out, fmt.Sprintf("%s has %d lines, more than %d: split it", s.path, n, maxLines))
		}
	}
	return out
}

// initProblems finds code that runs at start-up: init functions, and regular
// expressions compiled for a package variable. The helper of the sandbox has one, because
// it must run before the packages that it does not need are initialised.
func initProblems(all []source) []string {
	var out []string
	for _, s := range all {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" && s.file.Name.Name != "confine" {
					out = append(out, fmt.Sprintf("%s: func init runs at start-up", s.fset.Position(d.Pos())))
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR && compiles(d) {
					out = append(out, fmt.Sprintf("%s: a regular expression is compiled at start-up", s.fset.Position(d.Pos())))
				}
			}
		}
	}
	return out
}

// cutText is a text that is cut at a byte, and then repaired or quoted: the cut can be within a character.
var cutText = regexp.MustCompile(`(ToValidUTF8\((string\()?|strconv\.Quote\()[a-zA-Z.]+\[:[^\]]+\]`)

func cutProblems(all []source) []string {
	var out []string
	for _, s := range all {
		if found := cutText.FindString(s.text); found != "" {
			out = append(out, fmt.Sprintf("%s: %s…: use cuttext.Start or cuttext.Short, which cut between characters", s.path, found))
		}
	}
	return out
}

// compiles reports whether a package variable calls regexp outside a function
// literal. Inside one, as with sync.OnceValue, nothing is compiled at start-up.
func compiles(d *ast.GenDecl) (found bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			found = found || ok && x.Name == "regexp" && strings.Contains(n.Sel.Name, "Compile")
		}
		return true
	})
	return found
}

// TestSourceFaults checks that each sort of violation is found.
func TestSourceFaults(t *testing.T) {
	good := "// Package a counts. It does not sort.\npackage a\n"
	for _, tc := range []struct {
		name string
		text []string
		find func([]source) []string
		want int
	}{
		{"doc", []string{good}, docProblems, 0},
		{"no doc", []string{"package a\n"}, docProblems, 1},
		{"two docs", []string{good, good}, docProblems, 1},
		{"doc without a limit", []string{"// Package a is notable.\npackage a\n"}, docProblems, 1},
		{"context", []string{good + "import \"context\"\nvar x = context.Background\n"}, contextProblems, 1},
		{"context to do", []string{good + "import \"context\"\nfunc f() { _ = context.TODO() }\n"}, contextProblems, 1},
		{"short", []string{good + strings.Repeat("\n", maxLines-2)}, sizeProblems, 0},
		{"long", []string{good + strings.Repeat("\n", maxLines)}, sizeProblems, 1},
		{"init", []string{good + "func init() {}\n"}, initProblems, 1},
		{"method init", []string{good + "type t int\nfunc (t) init() {}\n"}, initProblems, 0},
		{"cut text", []string{good + "var x = strings.ToValidUTF8(s[:60], \"\")\n"}, cutProblems, 1},
		{"cut bytes", []string{good + "var x = strings.ToValidUTF8(string(b[:most]), \"\")\n"}, cutProblems, 1},
		{"quoted text", []string{good + "var x = strconv.Quote(line[:min(len(line), 9)])\n"}, cutProblems, 1},
		{"the end of a text", []string{good + "var x = strings.ToValidUTF8(s[9:], \"\")\n"}, cutProblems, 0},
		{"regexp", []string{good + "var r = regexp.MustCompile(`a`)\n"}, initProblems, 1},
		{"late regexp", []string{good + "var r = sync.OnceValue(func() any { return regexp.MustCompile(`a`) })\n"}, initProblems, 0},
	} {
		var all []source
		for _, text := range tc.text {
			all = append(all, parse(t, "a", "a/a.go", text))
		}
		if got := tc.find(all); len(got) != tc.want {
			t.Errorf("%s: %q, want %d", tc.name, got, tc.want)
		}
	}
	m := parse(t, "cmd/rye", "cmd/rye/main.go", "package main\nimport \"context\"\nfunc main() { _ = context.Background() }\n")
	if got := contextProblems([]source{m}); len(got) != 0 {
		t.Errorf("main may begin a context: %q", got)
	}
}

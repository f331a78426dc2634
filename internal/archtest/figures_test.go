package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFigures prints measurements of the checkout named by RYE_FIGURES, so that
// two commits can be compared. It is skipped without that variable.
func TestFigures(t *testing.T) {
	root := os.Getenv("RYE_FIGURES")
	if root == "" {
		t.Skip("set RYE_FIGURES to a checkout")
	}
	all := newFigures()
	tests := newFigures()
	command := newFigures()
	for _, name := range goFiles(t, root) {
		text := readFile(t, filepath.Join(root, filepath.FromSlash(name)))
		switch {
		case strings.HasSuffix(name, "_test.go"):
			tests.add(t, name, text)
			continue
		case path.Dir(name) == "cmd/rye":
			command.add(t, name, text)
		}
		all.add(t, name, text)
	}
	fmt.Printf("cmd/rye                          %d files, %d lines\n", command.files, command.lines)
	fmt.Printf("all packages                     %d packages, %d files, %d lines (%d with code), tests %d files, %d lines\n",
		len(all.packages), all.files, all.lines, all.codeLines, tests.files, tests.lines)
	fmt.Printf("largest package                  %s\n", all.largestPackage())
	fmt.Printf("largest file                     %d lines\n", all.longestFile)
	fmt.Printf("largest receivers                %s\n", all.largestReceivers(5))
	fmt.Printf("functions                        %d, lines: median %d, p90 %d, max %d\n",
		len(all.functions), all.functionLines(50), all.functionLines(90), all.functionLines(100))
	fmt.Printf("tokens per code line             %.2f\n", float64(all.tokens)/float64(all.codeLines))
	fmt.Printf("lines of more than 30 tokens     %.1f %%\n", 100*float64(all.denseLines)/float64(all.codeLines))
	fmt.Printf("parallel assignments             %.1f %%\n", 100*float64(all.parallel)/float64(all.assignments))
	fmt.Printf("comments in bodies, per function %.2f\n", float64(all.bodyComments)/float64(len(all.functions)))
	fmt.Printf("exported names                   %d\n", all.exported)
	printTotals(packageFigures(t, root))
	byScope := map[string]int{}
	for _, h := range findWords(wordRules(t, readFile(t, wordsFile)), wordSources(t, root)) {
		byScope[h.scope]++
	}
	for _, scope := range slices.Sorted(maps.Keys(byScope)) {
		fmt.Printf("phrases of words.txt, %-10s %d\n", scope, byScope[scope])
	}
}

// printTotals prints what limits.txt records for each package, for all of them.
func printTotals(byPackage map[string]*figures) {
	for _, m := range measures() {
		sum := 0.0
		beyond := map[string]int{}
		for path, c := range byPackage {
			value := m.of(path, c)
			sum += value
			if m.worse(value, m.limit(path)) {
				beyond[path] = int(100 * math.Abs(value-m.limit(path)))
			}
		}
		names := largest(beyond)
		fmt.Printf("%-32s ", m.name)
		if m.step(0) == 0 || m.inAll > 0 {
			fmt.Printf("%g in all packages, ", sum)
		}
		fmt.Printf("%d packages are beyond the limit:", len(names))
		for _, name := range names[:min(5, len(names))] {
			fmt.Printf(" %s %s", name, m.text(m.of(name, byPackage[name])))
		}
		fmt.Println()
	}
	helpers := 0
	for path, c := range byPackage {
		if helperInProduct(path, c) {
			helpers += c.lines
		}
	}
	fmt.Printf("lines of test helpers            %d in directories of the product\n", helpers)
}

// goFiles returns the Go files of a checkout without testdata and generated files.
func goFiles(t *testing.T, root string) []string {
	t.Helper()
	generated := regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	var out []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != root {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(d.Name()) != ".go" || generated.MatchString(readFile(t, file)) {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// figures are the counts of a set of Go files.
type figures struct {
	files, lines, codeLines, longestFile int
	tokens, denseLines                   int
	assignments, parallel                int
	bodyComments, exported               int
	functions                            []int // lines of each function with a body
	mapLines, rawReads                   int
	packages                             map[string]int
	receivers                            map[string]int
	contextKeys                          map[string]bool // types of the keys of context.WithValue
	imports                              map[string]bool // packages of rye, without diag and leaves
}

func newFigures() *figures {
	return &figures{
		packages:    map[string]int{},
		receivers:   map[string]int{},
		contextKeys: map[string]bool{},
		imports:     map[string]bool{},
	}
}

func (c *figures) add(t *testing.T, name, text string) {
	t.Helper()
	lines := strings.Count(text, "\n")
	c.files++
	c.lines += lines
	c.longestFile = max(c.longestFile, lines)
	c.packages[path.Dir(name)]++
	c.mapLines += len(mapLine.FindAllString(text, -1))
	c.addTokens(text)

	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			c.addFunction(fset, f, name, d)
		case *ast.GenDecl:
			c.exported += exportedIn(d)
		}
	}
	c.addImports(f)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			c.assignments++
			if len(n.Lhs) > 1 && len(n.Rhs) > 1 {
				c.parallel++
			}
		case *ast.SelectorExpr:
			if opensByPath(n) {
				c.rawReads++
			}
		case *ast.CallExpr:
			if key := contextKey(n); key != "" {
				c.contextKeys[key] = true
			}
		}
		return true
	})
}

// mapLine is a line of code with the type map[string]any.
var mapLine = regexp.MustCompile(`(?m)^(?:[^/\n]|/[^/\n])*map\[string\]any.*$`)

func (c *figures) addImports(f *ast.File) {
	for _, spec := range f.Imports {
		quoted, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if other, inside := strings.CutPrefix(quoted, module+"/"); inside && other != "diag" && !leaves()[other] {
			c.imports[other] = true
		}
	}
}

// contextKey returns the key of a call of context.WithValue, "" for other calls.
func contextKey(call *ast.CallExpr) string {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 3 || fun.Sel.Name != "WithValue" {
		return ""
	}
	if pkg, ok := fun.X.(*ast.Ident); !ok || pkg.Name != "context" {
		return ""
	}
	if literal, ok := call.Args[1].(*ast.CompositeLit); ok {
		return types.ExprString(literal.Type)
	}
	return types.ExprString(call.Args[1])
}

// addTokens counts the tokens of each line. Semicolons that the scanner inserts
// at the end of a line are not counted.
func (c *figures) addTokens(text string) {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0)
	perLine := map[int]int{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok != token.SEMICOLON || literal != "\n" {
			perLine[file.Line(pos)]++
		}
	}
	c.codeLines += len(perLine)
	for _, n := range perLine {
		c.tokens += n
		if n > 30 {
			c.denseLines++
		}
	}
}

func (c *figures) addFunction(fset *token.FileSet, f *ast.File, name string, d *ast.FuncDecl) {
	if d.Name.IsExported() {
		c.exported++
	}
	if d.Recv != nil {
		c.receivers[path.Dir(name)+"."+receiverName(d)]++
	}
	if d.Body == nil {
		return
	}
	c.functions = append(c.functions, fset.Position(d.End()).Line-fset.Position(d.Pos()).Line+1)
	for _, g := range f.Comments {
		if g.Pos() > d.Body.Pos() && g.End() < d.Body.End() {
			c.bodyComments++
		}
	}
}

func receiverName(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return "?"
		}
	}
}

// exportedIn counts the exported constants, variables and types of a declaration.
func exportedIn(d *ast.GenDecl) int {
	n := 0
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				n++
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() {
					n++
				}
			}
		}
	}
	return n
}

func (c *figures) functionLines(percent int) int {
	sorted := slices.Sorted(slices.Values(c.functions))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

func (c *figures) largestPackage() string {
	name := largest(c.packages)[0]
	return fmt.Sprintf("%s, %d files", name, c.packages[name])
}

func (c *figures) largestReceivers(n int) string {
	var out []string
	for _, name := range largest(c.receivers)[:n] {
		out = append(out, fmt.Sprintf("%s %d", name, c.receivers[name]))
	}
	return strings.Join(out, ", ")
}

// largest returns the keys of a map by falling value, then by name.
func largest(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
}

package archtest

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	orderFile   = "testdata/order.txt"
	orderSource = "internal/project"
)

// order is the plan for dividing internal/project.
type order struct {
	head  string            // the comment and the table, as they are in the file
	rank  map[string]int    // of each package, from bottom to top
	file  map[string]string // base name of a file, without .go, to its package
	pairs map[pair]int      // the recorded counts
}

// pair is a package that uses names of a package above it.
type pair struct{ from, to string }

// use is one name that a pair is about.
type use struct {
	pair
	name  string // as it is declared, with its receiver
	file  string // that declares it
	users string // the files that use it
}

// TestOrder counts the names that files of internal/project use against the order of
// their future packages. A new pair or a higher count is a failure, and so is a count
// that is lower than the recorded one.
func TestOrder(t *testing.T) {
	text, err := os.ReadFile(orderFile)
	if err != nil {
		t.Fatal(err)
	}
	o, err := parseOrder(string(text))
	if err != nil {
		t.Fatal(err)
	}
	fset, files := parseDir(t, "../../"+orderSource)
	uses, problems := o.against(fset, files, exported(t))
	for _, p := range problems {
		t.Error(p)
	}
	counted := count(uses)
	if os.Getenv("RYE_ORDER") != "" {
		for _, u := range uses {
			t.Logf("%s -> %s: %s (%s) used by %s", u.from, u.to, u.name, u.file, u.users)
		}
		t.Logf("%d names in %d pairs", len(uses), len(counted))
	}
	if os.Getenv("RYE_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(orderFile, []byte(o.head+listPairs(counted)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, p := range differences(o.pairs, counted) {
		t.Error(p)
	}
}

func parseOrder(text string) (*order, error) {
	o := &order{rank: map[string]int{}, file: map[string]string{}, pairs: map[pair]int{}}
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		words := strings.Fields(line)
		if len(words) == 4 && words[1] == "->" {
			count, err := strconv.Atoi(words[3])
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", orderFile, n+1, err)
			}
			o.pairs[pair{words[0], words[2]}] = count
			continue
		}
		o.head += line + "\n"
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		pkg, isPackage := strings.CutSuffix(words[0], ":")
		if !isPackage {
			return nil, fmt.Errorf("%s:%d: a line is PACKAGE: FILES or FROM -> TO COUNT", orderFile, n+1)
		}
		o.rank[pkg] = len(o.rank)
		for _, name := range words[1:] {
			if other := o.file[name]; other != "" {
				return nil, fmt.Errorf("%s:%d: %s is in %s, too", orderFile, n+1, name, other)
			}
			o.file[name] = pkg
		}
	}
	o.head = strings.TrimRight(o.head, "\n") + "\n\n"
	return o, nil
}

// against type-checks the files of one package and returns the names that they use
// against the order, and the files that are not in the table.
func (o *order) against(fset *token.FileSet, files []*ast.File, imports types.Importer) (uses []use, problems []string) {
	fileOf := func(pos token.Pos) string {
		return strings.TrimSuffix(path.Base(fset.Position(pos).Filename), ".go")
	}
	present := map[string]bool{}
	for _, f := range files {
		name := fileOf(f.Pos())
		present[name] = true
		if o.file[name] == "" {
			problems = append(problems, fmt.Sprintf("%s/%s.go has no package in %s: choose one by its job", orderSource, name, orderFile))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.file)) {
		if !present[name] {
			problems = append(problems, fmt.Sprintf("%s lists %s/%s.go, which does not exist", orderFile, orderSource, name))
		}
	}
	if problems != nil {
		return nil, problems
	}

	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports, Error: func(err error) { problems = append(problems, err.Error()) }}
	checked, _ := config.Check(module+"/"+orderSource, fset, files, info)
	users := map[use]map[string]bool{}
	for id, obj := range info.Uses {
		if obj.Pkg() != checked || !declared(obj) {
			continue
		}
		from := o.file[fileOf(id.Pos())]
		to := o.file[fileOf(obj.Pos())]
		if o.rank[from] >= o.rank[to] {
			continue
		}
		u := use{pair: pair{from, to}, name: nameOf(obj), file: fileOf(obj.Pos())}
		if users[u] == nil {
			users[u] = map[string]bool{}
		}
		users[u][fileOf(id.Pos())] = true
	}
	for u, files := range users {
		u.users = strings.Join(slices.Sorted(maps.Keys(files)), " ")
		uses = append(uses, u)
	}
	slices.SortFunc(uses, func(a, b use) int {
		return strings.Compare(a.from+" "+a.to+" "+a.name, b.from+" "+b.to+" "+b.name)
	})
	return uses, problems
}

// declared reports whether a package declares an object: a field moves with its type,
// and a local name with its function.
func declared(obj types.Object) bool {
	if f, ok := obj.(*types.Func); ok {
		recv := f.Signature().Recv()
		// A method of an interface moves with it.
		return recv == nil || !types.IsInterface(recv.Type())
	}
	return obj.Parent() == obj.Pkg().Scope()
}

func nameOf(obj types.Object) string {
	f, ok := obj.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return obj.Name()
	}
	recv := types.TypeString(f.Signature().Recv().Type(), func(*types.Package) string { return "" })
	return strings.TrimPrefix(recv, "*") + "." + obj.Name()
}

func count(uses []use) map[pair]int {
	counted := map[pair]int{}
	for _, u := range uses {
		counted[u.pair]++
	}
	return counted
}

// differences compares the recorded counts with the found ones.
func differences(recorded, found map[pair]int) (out []string) {
	const update = "RYE_UPDATE_GOLDEN=1 go test ./internal/archtest -run TestOrder"
	for p, n := range found {
		switch was := recorded[p]; {
		case n > was:
			out = append(out, fmt.Sprintf("%s uses %d names of %s, which is above it; %s permits %d", p.from, n, p.to, orderFile, was))
		case n < was:
			out = append(out, fmt.Sprintf("%s uses %d names of %s instead of %d: record it with %s", p.from, n, p.to, was, update))
		}
	}
	for p, was := range recorded {
		if found[p] == 0 {
			out = append(out, fmt.Sprintf("%s uses no name of %s instead of %d: record it with %s", p.from, p.to, was, update))
		}
	}
	slices.Sort(out)
	return out
}

func listPairs(counted map[pair]int) string {
	var lines []string
	for p, n := range counted {
		lines = append(lines, fmt.Sprintf("%s -> %s %d\n", p.from, p.to, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// parseDir parses the Go files of a directory that are not tests.
func parseDir(t *testing.T, dir string) (*token.FileSet, []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		t.Fatalf("%s has no Go file", dir)
	}
	return fset, files
}

// exported returns an importer of what internal/project imports. It reads the export
// data that the build cache has, because checking the sources takes 30 seconds.
func exported(t *testing.T) types.Importer {
	t.Helper()
	data := map[string]string{}
	// With the flags of the test itself: others would compile every package again.
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+orderSource)
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	list, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(list)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		data[name] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) {
		return os.Open(data[name])
	})
}

// TestOrderFaults checks that a name against the order, a file without a package and
// a wrong count are found.
func TestOrderFaults(t *testing.T) {
	const table = "p/low: a\np/high: b\n\n"
	const upper = "package project\ntype High struct{ Field int }\nfunc (*High) Do() {}\nfunc Up() *High { return down() }\n"
	for _, tc := range []struct {
		name, table, low string
		pairs            int
		problems         int
	}{
		{"in order", table, "func down() { }", 0, 1}, // down returns nothing, so that checking fails
		{"against", table, "func down() *High { return nil }", 1, 0},
		{"method", table, "func down() *High { h := Up(); h.Do(); h.Field = 1; return h }", 3, 0},
		{"no package", "p/low: a\n\n", "func down() *High { return nil }", 0, 1},
		{"no file", table + "p/top: c\n", "func down() *High { return nil }", 0, 1},
	} {
		o, err := parseOrder(tc.table)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for name, text := range map[string]string{"a.go": "package project\n" + tc.low + "\n", "b.go": upper} {
			f, err := parser.ParseFile(fset, name, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		uses, problems := o.against(fset, files, nil)
		if len(uses) != tc.pairs || len(problems) != tc.problems {
			t.Errorf("%s: %d uses %v and problems %q, want %d and %d", tc.name, len(uses), uses, problems, tc.pairs, tc.problems)
		}
	}
	p := pair{"p/low", "p/high"}
	for _, tc := range []struct{ recorded, found, want int }{{2, 2, 0}, {1, 2, 1}, {2, 1, 1}, {1, 0, 1}, {0, 1, 1}} {
		recorded, found := map[pair]int{}, map[pair]int{}
		if tc.recorded > 0 {
			recorded[p] = tc.recorded
		}
		if tc.found > 0 {
			found[p] = tc.found
		}
		if got := differences(recorded, found); len(got) != tc.want {
			t.Errorf("recorded %d, found %d: %q", tc.recorded, tc.found, got)
		}
	}
	for _, text := range []string{"p/low a\n", "p/low: a\np/high: a\n", "p/low -> p/high x\n"} {
		if _, err := parseOrder(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

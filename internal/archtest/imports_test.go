package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// pkg is the part of the output of go list for one package that the tests use.
type pkg struct {
	ImportPath   string
	Dir          string
	Imports      []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
	CgoFiles     []string
	IgnoredGo    []string `json:"IgnoredGoFiles"`
}

// path returns the import path without the module.
func (p pkg) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// systems are the platforms whose files are checked.
func systems() []string { return []string{"linux", "darwin", "windows"} }

func goList(t *testing.T, goos string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return out
}

func packages(t *testing.T, goos string) []pkg {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(goList(t, goos,
		"-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles,CgoFiles,IgnoredGoFiles", "./...")))
	var all []pkg
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImports(t *testing.T) {
	for _, goos := range systems() {
		all := packages(t, goos)
		for _, p := range all {
			for _, problem := range importProblems(p) {
				t.Errorf("%s: %s; an import that the order of layers permits is added to its row in table_test.go", goos, problem)
			}
		}
		if goos != "linux" {
			continue // every package has a file for Linux
		}
		for _, problem := range absent(all, tablePaths()) {
			t.Error(problem)
		}
	}
}

// allowed returns the packages that a package may import in addition to diag
// and the leaves. A nil set is everything.
func allowed(path string) (imports map[string]bool, listed bool) {
	if leaves()[path] {
		return set(), true
	}
	for _, l := range layers() {
		for _, e := range l.entries {
			if e.path == path {
				return e.imports, true
			}
		}
	}
	return nil, false
}

// importProblems compares the imports of a package with the tables.
func importProblems(p pkg) []string {
	path := p.path()
	imports, listed := allowed(path)
	if !listed {
		return []string{fmt.Sprintf("package %s is not in a table of archtest: add it to layers or leaves", path)}
	}
	var out []string
	for _, imp := range p.Imports {
		if other, inside := strings.CutPrefix(imp, module+"/"); inside {
			if !mayImport(path, imports, other) {
				out = append(out, fmt.Sprintf("%s may not import %s", path, other))
			}
			continue
		}
		out = append(out, thirdPartyProblems(path, imp, false)...)
	}
	for _, imp := range append(p.TestImports, p.XTestImports...) {
		if !strings.HasPrefix(imp, module+"/") {
			out = append(out, thirdPartyProblems(path, imp, true)...)
		}
	}
	return out
}

func mayImport(path string, imports map[string]bool, other string) bool {
	switch {
	case neverImported()[other]:
		return false
	case other == "diag" || leaves()[other]:
		return path != "diag" && path != "stdlib"
	}
	return imports == nil || imports[other]
}

func thirdPartyProblems(path, imp string, inTest bool) []string {
	first, _, _ := strings.Cut(imp, "/")
	if imp == "C" {
		return []string{fmt.Sprintf("%s uses cgo", path)}
	}
	if !strings.Contains(first, ".") {
		return nil // the standard library
	}
	for mod, importers := range thirdParty() {
		if within(imp, mod) {
			if importers == nil || importers[path] {
				return nil
			}
			return []string{fmt.Sprintf("%s may not import %s: the table names other packages", path, imp)}
		}
	}
	for mod := range testOnly() {
		if within(imp, mod) {
			if inTest {
				return nil
			}
			return []string{fmt.Sprintf("%s may import %s in tests only", path, imp)}
		}
	}
	return []string{fmt.Sprintf("%s imports %s, which is not in a table of archtest", path, imp)}
}

// within reports whether an import path is a module or a package of it.
func within(imp, mod string) bool { return imp == mod || strings.HasPrefix(imp, mod+"/") }

// tablePaths returns every package that a table of archtest names.
func tablePaths() []string {
	out := slices.Concat(slices.Collect(maps.Keys(leaves())), slices.Collect(maps.Keys(neverImported())))
	for _, l := range layers() {
		for _, e := range l.entries {
			out = append(out, e.path)
			out = append(out, slices.Collect(maps.Keys(e.imports))...)
		}
	}
	for _, importers := range thirdParty() {
		out = append(out, slices.Collect(maps.Keys(importers))...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// absent returns a problem for each path that is not the path of a package.
func absent(all []pkg, paths []string) []string {
	var out []string
	for _, path := range paths {
		if !slices.ContainsFunc(all, func(p pkg) bool { return p.path() == path }) {
			out = append(out, fmt.Sprintf("a table of archtest names %s, which does not exist: remove it", path))
		}
	}
	return out
}

// TestImportFaults checks that each sort of violation is found.
func TestImportFaults(t *testing.T) {
	p := func(path string, imports ...string) pkg {
		return pkg{ImportPath: module + "/" + path, Imports: imports}
	}
	for _, tc := range []struct {
		name string
		pkg  pkg
		want string // a part of the only problem, "" for none
	}{
		{"downwards", p("trust", module+"/sign", module+"/diag", module+"/internal/glob", "os"), ""},
		{"the program", p("cmd/rye", module+"/primary", module+"/stdlib"), ""},
		{"upwards", p("sign", module+"/trust"), "sign may not import trust"},
		{"lock does not resolve", p("lock", module+"/resolve"), "lock may not import resolve"},
		{"bundle does not fetch", p("bundle", module+"/packages/source"), "bundle may not import packages/source"},
		{"a leaf does not know items", p("internal/glob", module+"/item"), "internal/glob may not import item"},
		{"diag imports nothing", p("diag", module+"/internal/tree"), "diag may not import internal/tree"},
		{"stdlib imports nothing", p("stdlib", module+"/diag"), "stdlib may not import diag"},
		{"the program is not imported", p("primary", module+"/cmd/rye"), "primary may not import cmd/rye"},
		{"a package for tests", p("cmd/rye", module+"/internal/testing/testkit"), "cmd/rye may not import internal/testing/testkit"},
		{"unknown package", p("util"), "package util is not in a table"},
		{"unknown leaf", p("internal/misc"), "package internal/misc is not in a table"},
		{"module in the wrong package", p("trust", "gopkg.in/yaml.v3"), "trust may not import gopkg.in/yaml.v3"},
		{"part of a module in the wrong package", p("trust", "golang.org/x/crypto/ssh"), "trust may not import golang.org/x/crypto/ssh"},
		{"module with a common prefix", p("sign", "golang.org/x/cryptography"), "not in a table"},
		{"unknown module", p("sign", "example.test/left-pad"), "example.test/left-pad, which is not in a table"},
		{"test module outside a test", p("sign", "github.com/rogpeppe/go-internal/testscript"), "in tests only"},
		{"cgo", p("sign", "C"), "sign uses cgo"},
	} {
		got := importProblems(tc.pkg)
		switch {
		case tc.want == "" && len(got) > 0:
			t.Errorf("%s: %q", tc.name, got)
		case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
			t.Errorf("%s: %q, want one with %q", tc.name, got, tc.want)
		}
	}
	inTest := pkg{ImportPath: module + "/sign", TestImports: []string{"gopkg.in/yaml.v3", "github.com/rogpeppe/go-internal/txtar"}}
	if got := importProblems(inTest); len(got) != 1 {
		t.Errorf("a test that imports a module of another package: %q, want one problem", got)
	}
	if got := absent([]pkg{p("sign")}, []string{"sign", "signal"}); len(got) != 1 || !strings.Contains(got[0], "signal") {
		t.Errorf("a table that names an absent package: %q", got)
	}
}

// TestTables checks that the tables are consistent and that each entry names
// only packages below it.
func TestTables(t *testing.T) {
	var paths []string
	for _, l := range layers() {
		for _, e := range l.entries {
			paths = append(paths, e.path)
		}
	}
	for i, path := range paths {
		if leaves()[path] {
			t.Errorf("%s is in layers and in leaves", path)
		}
		if slices.Index(paths, path) != i {
			t.Errorf("layers has %s twice", path)
		}
		if measuring(path) {
			continue
		}
		imports, _ := allowed(path)
		for other := range imports {
			if slices.Index(paths, other) <= i {
				t.Errorf("%s may import %s, which is not below it in layers", path, other)
			}
		}
	}
}

// measuring reports whether a package is in the last layer. Its packages import
// what they test.
func measuring(path string) bool {
	all := layers()
	return slices.ContainsFunc(all[len(all)-1].entries, func(e entry) bool { return e.path == path })
}

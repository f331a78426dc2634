package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// pkg is what go list tells of one package.
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

func (p pkg) room() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

// systems are the platforms whose files are looked at.
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
	dec := json.NewDecoder(strings.NewReader(string(goList(t, goos,
		"-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles,CgoFiles,IgnoredGoFiles", "./..."))))
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
		for _, problem := range importProblems(packages(t, goos)) {
			t.Errorf("%s: %s", goos, problem)
		}
	}
}

// importProblems holds the packages against the tables.
func importProblems(pkgs []pkg) []string {
	var out []string
	for _, p := range pkgs {
		out = append(out, roomProblems(p)...)
	}
	return out
}

func roomProblems(p pkg) []string {
	room := p.room()
	allowed, known := rooms()[room]
	if !known && !leaves()[room] {
		return []string{fmt.Sprintf("room %s is in no table of archtest: give it a place", room)}
	}
	var out []string
	for _, imp := range p.Imports {
		if other, inside := strings.CutPrefix(imp, module+"/"); inside {
			if !mayImport(room, allowed, other) {
				out = append(out, fmt.Sprintf("%s may not import %s", room, other))
			}
			continue
		}
		out = append(out, thirdPartyProblems(room, imp, false)...)
	}
	for _, imp := range append(p.TestImports, p.XTestImports...) {
		if !strings.HasPrefix(imp, module+"/") {
			out = append(out, thirdPartyProblems(room, imp, true)...)
		}
	}
	return out
}

func mayImport(room string, allowed map[string]bool, other string) bool {
	switch {
	case neverImported()[other]:
		return false
	case other == "diag" || leaves()[other]:
		return room != "diag" && room != "stdlib"
	}
	return room == "cmd/rye" || allowed[other]
}

func thirdPartyProblems(room, imp string, inTest bool) []string {
	first, _, _ := strings.Cut(imp, "/")
	if imp == "C" {
		return []string{fmt.Sprintf("%s uses cgo", room)}
	}
	if !strings.Contains(first, ".") {
		return nil // the standard library
	}
	for mod := range testOnly() {
		if within(imp, mod) {
			if inTest {
				return nil
			}
			return []string{fmt.Sprintf("%s may import %s in tests only", room, imp)}
		}
	}
	for mod, homes := range thirdParty() {
		if within(imp, mod) {
			if homes[room] {
				return nil
			}
			return []string{fmt.Sprintf("%s may not import %s: it lives elsewhere", room, imp)}
		}
	}
	return []string{fmt.Sprintf("%s imports %s, which is in no table of archtest", room, imp)}
}

// within reports whether an import path is a module or a package of it.
func within(imp, mod string) bool { return imp == mod || strings.HasPrefix(imp, mod+"/") }

// TestImportFaults plants a fault of each sort, to know that the check sees it.
func TestImportFaults(t *testing.T) {
	p := func(room string, imports ...string) pkg {
		return pkg{ImportPath: module + "/" + room, Imports: imports}
	}
	for _, tc := range []struct {
		name string
		pkg  pkg
		want string // a part of the one problem, "" for none
	}{
		{"downwards", p("trust", module+"/sign", module+"/diag", module+"/internal/glob", "os"), ""},
		{"the top sees all", p("cmd/rye", module+"/primary", module+"/stdlib", "github.com/urfave/cli/v2"), ""},
		{"upwards", p("sign", module+"/trust"), "sign may not import trust"},
		{"lock never resolves", p("lock", module+"/resolve"), "lock may not import resolve"},
		{"bundle never fetches", p("bundle", module+"/source"), "bundle may not import source"},
		{"a leaf knows no items", p("internal/glob", module+"/item"), "internal/glob may not import item"},
		{"diag knows nothing", p("diag", module+"/internal/tree"), "diag may not import internal/tree"},
		{"stdlib knows nothing", p("stdlib", module+"/diag"), "stdlib may not import diag"},
		{"nobody imports the command", p("primary", module+"/cmd/rye"), "primary may not import cmd/rye"},
		{"the helper of tests in a room", p("cmd/rye", module+"/internal/testkit"), "cmd/rye may not import internal/testkit"},
		{"unknown room", p("util"), "room util is in no table"},
		{"unknown leaf", p("internal/misc"), "room internal/misc is in no table"},
		{"module in the wrong room", p("trust", "gopkg.in/yaml.v3"), "trust may not import gopkg.in/yaml.v3"},
		{"part of a module in the wrong room", p("trust", "golang.org/x/crypto/ssh"), "trust may not import golang.org/x/crypto/ssh"},
		{"a name that only begins alike", p("sign", "golang.org/x/cryptography"), "in no table"},
		{"unknown module", p("sign", "example.test/left-pad"), "example.test/left-pad, which is in no table"},
		{"a test module in a room", p("sign", "github.com/rogpeppe/go-internal/testscript"), "in tests only"},
		{"cgo", p("sign", "C"), "sign uses cgo"},
	} {
		got := importProblems([]pkg{tc.pkg})
		switch {
		case tc.want == "" && len(got) > 0:
			t.Errorf("%s: %q", tc.name, got)
		case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
			t.Errorf("%s: %q, want one with %q", tc.name, got, tc.want)
		}
	}
	inTest := pkg{ImportPath: module + "/sign", TestImports: []string{"gopkg.in/yaml.v3", "github.com/rogpeppe/go-internal/txtar"}}
	if got := importProblems([]pkg{inTest}); len(got) != 1 {
		t.Errorf("a test imports a module of another room: %q, want one problem", got)
	}
}

// TestTables holds the tables against each other.
func TestTables(t *testing.T) {
	for leaf := range leaves() {
		if _, both := rooms()[leaf]; both {
			t.Errorf("%s is a leaf and a room", leaf)
		}
	}
	for room, allowed := range rooms() {
		for other := range allowed {
			if _, known := rooms()[other]; !known {
				t.Errorf("%s may import %s, which is no room", room, other)
			}
			if rooms()[other][room] {
				t.Errorf("%s and %s may import each other", room, other)
			}
		}
	}
	for mod, homes := range thirdParty() {
		for room := range homes {
			if _, known := rooms()[room]; !known && !leaves()[room] {
				t.Errorf("%s lives in %s, which is no room", mod, room)
			}
		}
	}
}

package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// readers maps each package or file that opens files by path, without internal/openat, to the reason. All others use
// openat: a file that a repository brings can be a link to a device without an end, or a pipe that blocks.
func readers() map[string]string {
	return map[string]string{
		"internal/openat":                             "the package itself",
		"internal/proc":                               "files below /proc and the null device",
		"internal/filelock/holder_linux.go":           "files below /proc",
		"threads/store/remote_linux.go":               "files below /proc",
		"packages/source/git/guard_linux.go":          "files below /proc",
		"exec/sandbox":                                "files below /proc and /sys, and files that sandboxed programs made, after their end",
		"exec/interpreter.go":                         "the beginning of an interpreter, which is then started",
		"exec/confine_paths.go":                       "the beginning of a program, which is then started",
		"sign/keyfile_windows.go":                     "a key of the user, whose access rights it reads from the open file",
		"internal/cas":                                "a cache of the user account",
		"internal/applet/wire":                        "settings that rye passes to its own process",
		"internal/keychain/keychain.go":               "keys of the user",
		"threads/tree/relay.go":                       "a socket or file in the private directory of a thread",
		"registry/server":                             "the directory of a registry, which its process alone writes",
		"registry/witness":                            "the directory of a witness, which its process alone writes",
		"internal/testing/logtest":                    "tests only",
		"internal/cmd/env/params.go":                  "an input that the user names, which may be a pipe and is bounded by its reader",
		"internal/cmd/mcp/from.go":                    "a file that the user names, which may be a pipe and is bounded by its reader",
		"internal/cmd/tour/tour.go":                   "the project of the tour",
		"internal/cmd/tour/graph.go":                  "the project of the tour",
		"internal/cmd/tour/sandbox.go":                "the project of the tour",
		"internal/testing/bench":                      "measures the program in directories of its own",
		"internal/testing/winecheck":                  "the output of a test run, for CI only",
		"internal/testing/wiretest":                   "tests only",
		"internal/testing/mcptest":                    "tests only",
		"internal/testing/sourcetest":                 "tests only",
		"internal/testing/modelserver":                "the scenario of the program model-server",
		"internal/testing/testkit/console_windows.go": "tests only",
	}
}

func TestReadersUseOpenat(t *testing.T) {
	found := reading(sources(t))
	used := map[string]bool{}
	for _, at := range slices.Sorted(maps.Keys(found)) {
		pkg := at[:strings.LastIndex(at, "/")]
		switch all := readers(); {
		case all[at] != "":
			used[at] = true
		case all[pkg] != "":
			used[pkg] = true
		default:
			t.Errorf("%s: read through internal/openat, which opens no device, or add %s with the reason to readers", found[at], at)
		}
	}
	for name := range readers() {
		if !used[name] {
			t.Errorf("readers has %s, which opens no file", name)
		}
	}
	for text, want := range map[string]int{"os.ReadFile(p)": 1, "os.Open(p)": 1, "f := os.Open": 1, "openat.ReadRegular(p, 1)": 0, "os.Stat(p)": 0} {
		bad := parse(t, "x", "x/x.go", "package x\nfunc a() { "+text+" }\n")
		if got := reading([]source{bad}); len(got) != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// reading maps the files that open files by path to the first position.
func reading(all []source) map[string]string {
	out := map[string]string{}
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || out[s.path] != "" {
				return true
			}
			if opensByPath(sel) {
				out[s.path] = fmt.Sprint(s.fset.Position(n.Pos()))
			}
			return true
		})
	}
	return out
}

// opensByPath reports whether an expression is a function of package os that opens a file to read it.
func opensByPath(sel *ast.SelectorExpr) bool {
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "os" && (sel.Sel.Name == "ReadFile" || sel.Sel.Name == "Open")
}

package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// writers maps each package or file that changes files by path to the reason. All
// others use internal/atomicfile: a Base passes no link below a trusted directory and
// leaves no temporary file that a person must remove.
func writers() map[string]string {
	return map[string]string{
		"exec/sandbox":                      "directories of one run, and protected paths that a program created, after its end",
		"internal/openat":                   "Folder, which atomicfile uses, on systems without openat",
		"internal/atomicfile/base.go":       "creates the trusted directory itself",
		"internal/cas":                      "writes into new directories of its own, below one that atomicfile opened",
		"internal/applet/files":             "opens the project for the file tools with os.Root and checks each element",
		"internal/gitcmd/copy.go":           "a new repository in a new directory",
		"internal/httpserve/httpserve.go":   "the socket of a server, which atomicfile cannot make",
		"internal/commitindex":              "a new directory below the temporary directory of the system, for the index of one run",
		"bundle/newuser":                    "a new directory below the temporary directory of the system, for one new user",
		"internal/workcopy":                 "opens copies and the project with os.Root, makes copies in new directories, and moves a copy away as a whole",
		"threads/testrun/replay.go":         "a new directory below the temporary directory of the system, for the log of a test",
		"internal/cmd/env/tool_server.go":   "a new directory below the temporary directory of the system, for one socket",
		"internal/githook/merge.go":         "a new directory below the temporary directory of the system, for git merge-file",
		"internal/cli/tty_unix.go":          "the terminal",
		"internal/cli/tty_windows.go":       "the terminal",
		"internal/importing/ryeos.go":       "a new directory next to the copy, which is renamed when it is complete",
		"threads/threadhost/loop.go":        "removes the copy of a conversation that a step has read",
		"threads/threadhost/live.go":        "the same for a step that stays",
		"internal/project/cache.go":         "a private directory below the temporary directory of the system",
		"registry/client/evidence.go":       "moves a directory of evidence within a private directory of the user",
		"internal/wheels/store.go":          "the time of the last use of a file of the cache",
		"packages/source/cache.go":          "the time of the last use of a directory of the cache",
		"packages/source/git/childstore.go": "packs in a repository of the cache, named as git names them",
		"sign/agent_windows.go":             "the pipe of the ssh agent",
		"internal/cmd/tour/registry.go":     "the registry of the tour, in a new directory",
		"internal/cmd/tour/tour.go":         "the example project of the tour, in a new directory",
		"internal/cmd/tour/chapters.go":     "the same directory of the tour",
		"internal/testing/bench":            "measures the program in directories of its own",
		"internal/testing/testkit":          "tests only",
		"internal/testing/wiretest":         "tests only",
		"internal/testing/mcptest":          "tests only",
		"internal/testing/sourcetest":       "tests only",
		"internal/testing/modelserver":      "the log of the program model-server",
		"internal/testing/slowtests":        "a test program in a temporary directory",
	}
}

// changes reports whether a function of package os changes files, or opens a
// directory whose methods do.
func changes(name string) bool {
	switch name {
	case "WriteFile", "Create", "CreateTemp", "MkdirTemp", "Mkdir", "MkdirAll", "Rename", "Remove", "RemoveAll", "Symlink",
		"Link", "Chmod", "Chown", "Chtimes", "Truncate", "CopyFS", "OpenRoot":
		return true
	}
	return false
}

func TestWritersUseAtomicfile(t *testing.T) {
	found := writing(sources(t))
	used := map[string]bool{}
	for _, at := range slices.Sorted(maps.Keys(found)) {
		pkg := at[:strings.LastIndex(at, "/")]
		switch all := writers(); {
		case all[at] != "":
			used[at] = true
		case all[pkg] != "":
			used[pkg] = true
		default:
			t.Errorf("%s: write through internal/atomicfile, which passes no link, or add %s with the reason to writers", found[at], at)
		}
	}
	for name := range writers() {
		if !used[name] {
			t.Errorf("writers has %s, which changes no file", name)
		}
	}
	bad := parse(t, "x", "x/x.go", "package x\nfunc a() { os.OpenFile(p, os.O_RDONLY|syscall.O_NOFOLLOW, 0); os.ReadFile(p) }\n")
	if got := writing([]source{bad}); len(got) > 0 {
		t.Errorf("readers are taken for writers: %v", got)
	}
	for _, text := range []string{"os.WriteFile(p, b, 0)", "os.OpenFile(p, os.O_RDWR, 0)", "os.OpenFile(p, flag, 0)", "f := os.Rename", "os.OpenRoot(p)"} {
		bad := parse(t, "x", "x/x.go", "package x\nfunc a() { "+text+" }\n")
		if got := writing([]source{bad}); len(got) != 1 {
			t.Errorf("%s is not found", text)
		}
	}
}

// writing maps the files that change files to the first position.
func writing(all []source) map[string]string {
	out := map[string]string{}
	for _, s := range all {
		reads := map[ast.Node]bool{}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 3 && onlyReads(call.Args[1]) {
				reads[call.Fun] = true
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || out[s.path] != "" {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if ok && pkg.Name == "os" && (changes(sel.Sel.Name) || sel.Sel.Name == "OpenFile" && !reads[sel]) {
				out[s.path] = fmt.Sprint(s.fset.Position(n.Pos()))
			}
			return true
		})
	}
	return out
}

// onlyReads reports whether the flags of os.OpenFile name O_RDONLY and no flag that
// changes a file.
func onlyReads(flags ast.Expr) bool {
	reads := false
	ok := true
	ast.Inspect(flags, func(n ast.Node) bool {
		if sel, is := n.(*ast.SelectorExpr); is {
			switch sel.Sel.Name {
			case "O_RDONLY":
				reads = true
			case "O_WRONLY", "O_RDWR", "O_CREATE", "O_TRUNC", "O_APPEND":
				ok = false
			}
		}
		return true
	})
	return reads && ok
}

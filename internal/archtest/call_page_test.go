package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// TestCallPage: each function and type that the page about a call names is declared in the
// file that it names.
func TestCallPage(t *testing.T) {
	page := readFile(t, "../../docs/dev/how-a-call-becomes-an-action.md")
	row := regexp.MustCompile("\\| `([A-Za-z.]+)` \\| `([a-z_/]+\\.go)` \\|")
	declared, rows := map[string]map[string]bool{}, 0
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		name, file := m[1], m[2]
		rows++
		if declared[file] == nil {
			declared[file] = declarations(t, "../../"+file)
		}
		if !declared[file][name] {
			t.Errorf("%s does not declare %s", file, name)
		}
	}
	files := strings.Count(page, ".go` |")
	if rows < 35 || rows != files {
		t.Errorf("%d of %d rows with a file name a function or type", rows, files)
	}
	if declarations(t, "../../exec/run.go")["Executor.Missing"] {
		t.Error("a function that does not exist is declared")
	}
}

// declarations returns the functions, methods (as Type.Name) and types of a file.
func declarations(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			out[name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					out[s.Name.Name] = true
				}
			}
		}
	}
	return out
}

// receiver returns the name of the type of a method.
func receiver(e ast.Expr) string {
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

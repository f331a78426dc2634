package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestJSONFieldsHaveTags finds a field that becomes a member of JSON by accident: exported,
// without a tag, in a struct whose other fields have tags. A field that is exported when its
// struct moves to another package is such a field.
func TestJSONFieldsHaveTags(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, name := range goFiles(t, root) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := readFile(t, filepath.Join(root, name))
		if name == "exec/call.go" {
			continue // a test prints Call; its tags leave out the functions, which have no JSON
		}
		for _, problem := range untaggedFields(t, name, text) {
			t.Error(problem)
		}
	}
}

// untaggedFields returns the exported fields without a tag of structs with tags for JSON.
func untaggedFields(t *testing.T, name, text string) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		structure, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		tagged := false
		var untagged []*ast.Ident
		for _, field := range structure.Fields.List {
			if field.Tag != nil {
				tagged = tagged || strings.Contains(field.Tag.Value, `json:"`)
				continue
			}
			for _, id := range field.Names {
				if id.IsExported() {
					untagged = append(untagged, id)
				}
			}
		}
		if !tagged {
			return true
		}
		for _, id := range untagged {
			at := fset.Position(id.Pos())
			out = append(out, fmt.Sprintf("%s:%d: the field %s has no tag for JSON, as the others of its struct have", name, at.Line, id.Name))
		}
		return true
	})
	return out
}

func TestJSONFieldsFaults(t *testing.T) {
	const text = "package p\n\ntype a struct {\n\tID string `json:\"id\"`\n\tFailed error\n\tkept int\n}\n\ntype b struct{ Name string }\n"
	got := untaggedFields(t, "p.go", text)
	if len(got) != 1 || !strings.HasPrefix(got[0], "p.go:5: the field Failed") {
		t.Errorf("%q", got)
	}
}

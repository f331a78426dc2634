package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/hinttable"
)

// TestReasons checks that every reason of an error or finding has a row in a
// table of hints, and that every row has a reason in the code.
func TestReasons(t *testing.T) {
	all := sources(t)
	codes := codeNames(all)
	rows := map[reasonKey]string{}
	for _, name := range []string{"internal/cli/hints.txt", "primary/agent/suggestions.txt"} {
		table, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		addRows(t, rows, codes, name, string(table))
	}
	uses := reasons(all)
	if len(codes) < 50 || len(rows) < 50 || len(uses.at) < 50 {
		t.Fatalf("only %d codes, %d rows and %d reasons found", len(codes), len(rows), len(uses.at))
	}
	for _, p := range reasonProblems(rows, uses) {
		t.Error(p)
	}
}

// reasonKey is a reason with the name of its code in Go, such as PolicyDenied.
// The code is "" if it is not known, or if a row applies to every code.
type reasonKey struct{ code, reason string }

// reasonUses are the reasons that the program sets.
type reasonUses struct {
	at       map[reasonKey]token.Position
	literals map[string]bool // every string literal outside the files that read the tables
}

// toolPrefix precedes a reason that the body of a standard tool sets: it runs in
// a process of its own, and exec marks the reasons that come from there.
const toolPrefix = "tool:"

// readsHints reports whether a file reads a table of hints.
func readsHints(s source) bool {
	return s.path == "internal/cli/hints.go" || s.path == "primary/agent/suggestions.go"
}

// codeNames returns the names in Go of the codes.
func codeNames(all []source) map[string]string {
	out := map[string]string{}
	for _, s := range all {
		if s.path != "diag/table.go" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if value, isText := literal(spec.Values[0]); isText {
				out[value] = spec.Names[0].Name
			}
			return true
		})
	}
	return out
}

// addRows adds the rows of a table with their positions. Defaults have no reason to compare.
func addRows(t *testing.T, rows map[reasonKey]string, codes map[string]string, name, table string) {
	t.Helper()
	const everyCode, class = "*", "class"
	seen := map[reasonKey]bool{}
	for row := range hinttable.Rows(table) {
		at := fmt.Sprintf("%s:%d", name, row.Line)
		key := reasonKey{codes[row.Code], row.Reason}
		switch {
		case row.Code == class:
			continue
		case key.code == "" && row.Code != everyCode:
			t.Errorf("%s: unknown code %q", at, row.Code)
		case seen[key]:
			t.Errorf("%s: the table has the row %s %s twice", at, row.Code, row.Reason)
		}
		seen[key] = true
		if row.Reason != "" {
			rows[key] = at
		}
	}
}

// reasons returns the reasons that the code sets.
func reasons(all []source) reasonUses {
	uses := reasonUses{map[reasonKey]token.Position{}, map[string]bool{}}
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if ok && sel.Sel.Name == "WithReason" && len(n.Args) > 0 {
					uses.add(s, codeOf(sel.X), n.Args[0])
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "Reason" && i < len(n.Rhs) {
						uses.add(s, "", n.Rhs[i])
					}
				}
			case *ast.BasicLit:
				if text, ok := literal(n); ok && !readsHints(s) {
					uses.literals[text] = true
				}
			}
			return true
		})
	}
	return uses
}

func (u reasonUses) add(s source, code string, arg ast.Expr) {
	if reason, ok := literal(arg); ok && reason != "" {
		u.at[reasonKey{code, reason}] = s.fset.Position(arg.Pos())
	}
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// codeOf returns the code of an error or finding made by a chain of calls that
// begins with diag.New, diag.Errorf or diag.Warnf, else "".
func codeOf(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := sel.X.(*ast.Ident); ok && x.Name == "diag" && len(call.Args) > 0 {
		return codeName(call.Args[0])
	}
	return codeOf(sel.X)
}

// codeName returns X for diag.X, else "".
func codeName(e ast.Expr) string {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "diag" {
			return sel.Sel.Name
		}
	}
	return ""
}

func reasonProblems(rows map[reasonKey]string, uses reasonUses) []string {
	var out []string
	names := map[string]bool{}
	for row := range rows {
		names[row.reason] = true
	}
	for key, at := range uses.at {
		if names[toolPrefix+key.reason] {
			continue
		}
		_, exact := rows[key]
		_, any := rows[reasonKey{"", key.reason}]
		if !exact && !any && (key.code != "" || !names[key.reason]) {
			out = append(out, fmt.Sprintf("%s: no table of hints has a row {diag.%s, %q}", at, key.code, key.reason))
		}
	}
	used := uses.literals
	for row, at := range rows {
		if !used[row.reason] && !used[strings.TrimPrefix(row.reason, toolPrefix)] {
			out = append(out, fmt.Sprintf("%s: no code sets the reason %q", at, row.reason))
		}
	}
	slices.Sort(out)
	return out
}

// TestReasonFaults checks that missing and unused rows are found.
func TestReasonFaults(t *testing.T) {
	codes := map[string]string{"USAGE": "Usage", "DRIFT": "Drift"}
	rows := map[reasonKey]string{}
	addRows(t, rows, codes, "hints.txt", "# Hints.\nUSAGE used: x\nUSAGE unused:\n* everywhere: x\nUSAGE: x\n")
	code := parse(t, "x", "x/x.go", "package x\nvar a = diag.New(diag.Usage, \"\").WithDetail(\"k\", 1).WithReason(\"used\")\n"+
		"var b = diag.Errorf(diag.Drift, 0, 0, \"\").WithReason(\"used\")\nvar c = diag.New(diag.Stale, \"\").WithReason(\"everywhere\")\nfunc f() { e.Reason = \"absent\"; e.WithReason(\"used\") }\n")
	got := reasonProblems(rows, reasons([]source{code}))
	want := []string{`{diag.Drift, "used"}`, `{diag., "absent"}`, `hints.txt:3: no code sets the reason "unused"`}
	if len(got) != len(want) {
		t.Fatalf("problems %q", got)
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, w) }) {
			t.Errorf("no problem with %s in %q", w, got)
		}
	}
}

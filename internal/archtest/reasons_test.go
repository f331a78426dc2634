package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestReasons checks that every reason of an error or finding has a row in a
// table of hints, and that every row has a reason in the code.
func TestReasons(t *testing.T) {
	rows, uses := reasons(sources(t))
	if len(rows) < 50 || len(uses.at) < 50 {
		t.Fatalf("only %d rows and %d reasons found", len(rows), len(uses.at))
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
	literals map[string]bool // every string literal outside the tables
}

// toolPrefix precedes a reason that the body of a standard tool sets: it runs in
// a process of its own, and exec marks the reasons that come from there.
const toolPrefix = "tool:"

// hintTable reports whether a file has rows of hints.
func hintTable(s source) bool {
	return strings.HasPrefix(s.path, "internal/cli/hints") || s.path == "primary/agent/suggestions.go"
}

// reasons returns the rows of the tables and the reasons that the code sets.
func reasons(all []source) (rows map[reasonKey]token.Position, uses reasonUses) {
	rows = map[reasonKey]token.Position{}
	uses = reasonUses{map[reasonKey]token.Position{}, map[string]bool{}}
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				// {diag.Code, "reason"}: "hint"
				if lit, ok := n.Key.(*ast.CompositeLit); ok && hintTable(s) {
					addRow(rows, s, lit)
				}
			case *ast.IndexExpr:
				// table[situation{code, "reason"}]
				if lit, ok := n.Index.(*ast.CompositeLit); ok && hintTable(s) {
					addRow(rows, s, lit)
				}
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
				if text, ok := literal(n); ok && !hintTable(s) {
					uses.literals[text] = true
				}
			}
			return true
		})
	}
	return rows, uses
}

func addRow(rows map[reasonKey]token.Position, s source, lit *ast.CompositeLit) {
	if len(lit.Elts) != 2 {
		return
	}
	reason, ok := literal(lit.Elts[1])
	if !ok || reason == "" {
		return // the default of a code
	}
	rows[reasonKey{codeName(lit.Elts[0]), reason}] = s.fset.Position(lit.Pos())
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

func reasonProblems(rows map[reasonKey]token.Position, uses reasonUses) []string {
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
	table := parse(t, "internal/cli", "internal/cli/hints_x.go", "package cli\nvar a = map[situation]string{{diag.Usage, \"used\"}: \"\", {diag.Usage, \"unused\"}: \"\", {\"\", \"everywhere\"}: \"\", {diag.Usage, \"\"}: \"\"}\n")
	code := parse(t, "x", "x/x.go", "package x\nvar a = diag.New(diag.Usage, \"\").WithDetail(\"k\", 1).WithReason(\"used\")\n"+
		"var b = diag.Errorf(diag.Drift, 0, 0, \"\").WithReason(\"used\")\nvar c = diag.New(diag.Stale, \"\").WithReason(\"everywhere\")\nfunc f() { e.Reason = \"absent\"; e.WithReason(\"used\") }\n")
	got := reasonProblems(reasons([]source{table, code}))
	want := []string{`{diag.Drift, "used"}`, `{diag., "absent"}`, `no code sets the reason "unused"`}
	if len(got) != len(want) {
		t.Fatalf("problems %q", got)
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, w) }) {
			t.Errorf("no problem with %s in %q", w, got)
		}
	}
}

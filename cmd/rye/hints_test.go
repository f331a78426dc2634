package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
)

// hintText is a text of internal/cli/hints_*.go with the code of its row, "" if the
// row is made in a loop.
type hintText struct {
	at, code, text string
}

// hintTexts returns every text of the hint tables.
func hintTexts(t *testing.T) []hintText {
	t.Helper()
	files, err := filepath.Glob("../../internal/cli/hints_*.go")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	codes := map[string]string{} // by the name of the constant
	consts, err := parser.ParseFile(token.NewFileSet(), "../../diag/table.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(consts, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				codes[v.Names[0].Name], _ = strconv.Unquote(lit.Value)
			}
		}
		return true
	})
	var out []hintText
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[token.Pos]bool{}
		add := func(lit *ast.BasicLit, code string) {
			text, err := strconv.Unquote(lit.Value)
			if err == nil && lit.Kind == token.STRING && !seen[lit.Pos()] {
				out = append(out, hintText{set.Position(lit.Pos()).String(), code, text})
			}
			seen[lit.Pos()] = true
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if row, ok := n.(*ast.KeyValueExpr); ok {
				if lit, ok := row.Value.(*ast.BasicLit); ok {
					code := ""
					ast.Inspect(row.Key, func(n ast.Node) bool {
						if sel, ok := n.(*ast.SelectorExpr); ok {
							code = codes[sel.Sel.Name]
						}
						return true
					})
					add(lit, code)
				}
			}
			if lit, ok := n.(*ast.BasicLit); ok {
				add(lit, "")
			}
			return true
		})
	}
	return out
}

// hintCommand finds the words after "rye" of each command line in a hint.
var hintCommand = regexp.MustCompile("(?:^|[ `(])rye ((?:[^ `,;:()]+ ?)+)")

// prose are words that end a command line in the sentence around it, and those that
// follow the name of the program.
func prose() []string {
	return strings.Fields(`a again already and as at before can did does first for from has have if in is it lists made makes no of on or prints reads
		removes selects shows signs starts that than the then this to until was when which whose with without works writes wrote you`)
}

// commandLines returns the command lines that a hint names, as words.
func commandLines(text string) [][]string {
	var out [][]string
	for _, m := range hintCommand.FindAllStringSubmatch(text, -1) {
		words := strings.Fields(m[1])
		if i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(prose(), w) }); i >= 0 {
			words = words[:i]
		}
		for i := range words {
			words[i] = strings.Trim(words[i], "'.")
		}
		if len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

// TestHintsNameCommands: each command line of a hint has a verb and flags that exist.
func TestHintsNameCommands(t *testing.T) {
	n := 0
	for _, h := range hintTexts(t) {
		for _, words := range commandLines(h.text) {
			n++
			_, err := cli.SortArgs(testRoot(), words)
			for _, code := range []diag.Code{diag.UnknownCommand, diag.UnknownFlag} {
				if err != nil && strings.Contains(codesIn(err), string(code)) {
					t.Errorf("%s: %q names rye %s: %v", h.at, h.text, strings.Join(words, " "), err)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d command lines found", n)
	}
}

func codesIn(err error) string {
	out := string(diag.CodeOf(err))
	for _, f := range diag.FindingsOf(err) {
		out += " " + string(f.Code)
	}
	return out
}

// repairs are the commands that a hint names without a flag although they list its
// code: they repair what other commands report, or state a reason of their own for it
// that has another hint. Read what raises a new one before you add it: a user must not run
// one command in a circle.
func repairs() []string {
	return []string{
		"THREAD_NOT_FOUND graph log", // of a run, which is not a thread
		"AMBIGUOUS_ITEM mcp remove", "AMBIGUOUS_ITEM bundle publish", "APPROVAL_REQUIRED sign", "AUTH_REQUIRED key agent-add", "AUTH_REQUIRED setup", "CONSENT_REQUIRED lock",
		"DRIFT lock", "DRIFT sign", "FILE_SYSTEM_ERROR cache gc", "FILE_SYSTEM_ERROR hook install", "FILE_SYSTEM_ERROR key new",
		"HASH_MISMATCH sync", "ITEM_NOT_FOUND bundle publisher", "ITEM_NOT_FOUND list", "KEY_UNKNOWN registry add", "KEY_UNKNOWN registry remove", "KEY_UNKNOWN trust add",
		"LOCK_MISMATCH lock", "LOCK_MISMATCH sync", "LOCK_MISSING lock", "LOCK_STALE lock", "POLICY_DENIED lock",
		"SCOPE bundle publisher", "SIGNER_CHANGED add", "SIGNER_CHANGED remove", "SOURCE_MOVED add",
		"THREAD_STATE graph resume",
		"THREAD_STATE threads answer", "THREAD_STATE threads approve", "THREAD_STATE threads deny", // each is named by the others only
	}
}

// TestHintsLeadElsewhere: a hint names a command without a flag that can fail with the
// code of the hint only if repairs has it.
func TestHintsLeadElsewhere(t *testing.T) {
	found := map[string]bool{}
	for _, h := range hintTexts(t) {
		for _, words := range commandLines(h.text) {
			l, err := cli.SortArgs(testRoot(), words)
			if err != nil || h.code == "" || slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") }) {
				continue
			}
			cmd := l.Path[len(l.Path)-1]
			if !slices.Contains(cmd.Codes, diag.Code(h.code)) {
				continue
			}
			pair := h.code
			for _, c := range l.Path[1:] {
				pair += " " + c.Name
			}
			if found[pair] = true; !slices.Contains(repairs(), pair) {
				t.Errorf("%s: %s is raised by rye %s, and its hint is %q", h.at, h.code, strings.Join(words, " "), h.text)
			}
		}
	}
	for _, pair := range repairs() {
		if !found[pair] {
			t.Errorf("no hint names %q any more", pair)
		}
	}
}

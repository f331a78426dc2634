package archtest

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The scopes of the word rules. Text that a user can see has no allowance;
// comments and tests have one per directory, which may only shrink.
const (
	scopeText    = "text"    // docs, items, and string literals of the program
	scopeComment = "comment" // comments of the program
	scopeTest    = "test"    // comments and literals of tests, and test scripts
	scopeName    = "name"    // identifiers of the program
)

const (
	wordsFile   = "testdata/words.txt"
	allowedFile = "testdata/words-allowed.txt"
)

// wordRule is one line of words.txt.
type wordRule struct {
	oneOf          []string // texts in lower case of which each match contains at least one
	phrase, except *regexp.Regexp
	write          string
}

// wordHit is one phrase found in a text.
type wordHit struct {
	scope, path string
	line        int
	phrase      string
	write       string
}

func wordRules(t *testing.T, text string) []wordRule {
	t.Helper()
	var out []wordRule
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		phrase, write, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("%s: %q has no \" => \"", wordsFile, line)
		}
		write, except, _ := strings.Cut(write, " ; except ")
		r := wordRule{phrase: regexp.MustCompile("(?i)" + phrase), write: write}
		tree, err := syntax.Parse("(?i)"+phrase, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		r.oneOf = oneOf(tree)
		if except != "" {
			r.except = regexp.MustCompile("(?i)" + except)
		}
		out = append(out, r)
	}
	return out
}

// oneOf returns texts in lower case of which every match contains at least one, nil if
// none are known. A search for them is a hundred times as fast as one for the phrase.
func oneOf(tree *syntax.Regexp) []string {
	switch tree.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(tree.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return oneOf(tree.Sub[0])
	case syntax.OpConcat:
		var best []string
		shortest := func(list []string) int { return len(slices.MinFunc(list, byLength)) }
		for _, part := range tree.Sub {
			if list := oneOf(part); len(list) > 0 && (best == nil || shortest(list) > shortest(best)) {
				best = list
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, choice := range tree.Sub {
			list := oneOf(choice)
			if len(list) == 0 {
				return nil
			}
			all = append(all, list...)
		}
		return all
	}
	return nil
}

func byLength(a, b string) int { return len(a) - len(b) }

// find returns the phrases of a text, which lower is in lower case. A hit whose surroundings match the
// exception is correct English and left out.
func (r wordRule) find(text, lower string) []string {
	var out []string
	if len(r.oneOf) > 0 && !slices.ContainsFunc(r.oneOf, func(part string) bool { return strings.Contains(lower, part) }) {
		return nil
	}
	for _, at := range r.phrase.FindAllStringIndex(text, -1) {
		around := text[max(0, at[0]-20):min(len(text), at[1]+20)]
		if r.except == nil || !r.except.MatchString(around) {
			out = append(out, text[at[0]:at[1]])
		}
	}
	return out
}

// wordSource is a piece of text with its scope and first line.
type wordSource struct {
	scope, path string
	line        int
	text        string
}

func findWords(rules []wordRule, sources []wordSource) []wordHit {
	var out []wordHit
	for _, s := range sources {
		// A phrase may be broken over two lines of a comment or paragraph.
		folded := strings.Join(strings.Fields(strings.ReplaceAll(s.text, "\n", " ")), " ")
		lower := strings.ToLower(folded)
		for _, r := range rules {
			for _, phrase := range r.find(folded, lower) {
				out = append(out, wordHit{s.scope, s.path, s.line, phrase, r.write})
			}
		}
	}
	return out
}

// TestWords finds the phrases of words.txt in every tracked text. With RYE_WORDS
// it fails and lists the phrases below that path instead.
func TestWords(t *testing.T) {
	rules := wordRules(t, readFile(t, wordsFile))
	hits := findWords(rules, wordSources(t, "../.."))
	if prefix := os.Getenv("RYE_WORDS"); prefix != "" {
		for _, h := range hits {
			if strings.HasPrefix(h.path, strings.TrimPrefix(prefix, "./")) {
				fmt.Printf("%s:%d: %s: %q: write %s\n", h.path, h.line, h.scope, h.phrase, h.write)
			}
		}
		// go test hides the output of a test that passes.
		t.Fatal("RYE_WORDS is set")
	}
	got := map[string]int{}
	for _, h := range hits {
		got[h.scope+" "+path.Dir(h.path)]++
	}
	if os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		recordWords(t, got)
	}
	for _, problem := range wordProblems(got, allowance(t, readFile(t, allowedFile)), hits) {
		t.Error(problem)
	}
}

// recordWords writes the counts that nextWords returns.
func recordWords(t *testing.T, got map[string]int) {
	t.Helper()
	text, err := os.ReadFile(allowedFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	next := nextWords(allowance(t, string(text)), got)
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(next)) {
		// An empty line keeps changes of two neighbours from conflicting in a merge.
		fmt.Fprintf(&b, "%s %d\n\n", key, next[key])
	}
	if err := os.WriteFile(allowedFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// nextWords returns the counts to record: those of today for each scope that has not
// more phrases than before, so that files can move with their phrases. If none are
// recorded, as after a new row of words.txt, it returns all of today.
func nextWords(recorded, got map[string]int) map[string]int {
	if len(recorded) == 0 {
		return got
	}
	next := map[string]int{}
	for _, scope := range []string{scopeText, scopeComment, scopeTest, scopeName} {
		counts := got
		if scopeSum(got, scope) > scopeSum(recorded, scope) {
			counts = recorded
		}
		for key, n := range counts {
			if strings.HasPrefix(key, scope+" ") {
				next[key] = n
			}
		}
	}
	return next
}

func scopeSum(counts map[string]int, scope string) int {
	sum := 0
	for key, n := range counts {
		if strings.HasPrefix(key, scope+" ") {
			sum += n
		}
	}
	return sum
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func allowance(t *testing.T, text string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		n, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			t.Fatalf("%s: %q", allowedFile, line)
		}
		out[strings.Join(fields[:len(fields)-1], " ")] = n
	}
	return out
}

// wordProblems compares the counts with the allowance: more is a new phrase,
// less is progress to be recorded.
func wordProblems(got, allowed map[string]int, hits []wordHit) []string {
	var out []string
	keys := slices.Sorted(maps.Keys(got))
	for key := range allowed {
		if got[key] == 0 {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		switch n := cmp.Compare(got[key], allowed[key]); {
		case n < 0:
			out = append(out, fmt.Sprintf("%s: %d phrases, %s allows %d: record the smaller number with RYE_UPDATE_GOLDEN=1 go test ./internal/archtest -run TestWords", key, got[key], allowedFile, allowed[key]))
		case n > 0:
			out = append(out, fmt.Sprintf("%s: %d phrases of %s, %d allowed:%s", key, got[key], wordsFile, allowed[key], listHits(key, hits)))
		}
	}
	return out
}

func listHits(key string, hits []wordHit) string {
	var b strings.Builder
	for _, h := range hits {
		if h.scope+" "+path.Dir(h.path) == key {
			fmt.Fprintf(&b, "\n\t%s:%d: %q: write %s", h.path, h.line, h.phrase, h.write)
		}
	}
	return b.String()
}

// wordSources returns the texts of the files that git tracks below a directory,
// and of new ones that it does not ignore.
func wordSources(t *testing.T, root string) []wordSource {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	var out []wordSource
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			continue // deleted in the work tree
		}
		out = append(out, wordsOf(t, name, string(b))...)
	}
	return out
}

// wordsOf splits a file: Go into comments, literals and names, other files into
// lines.
func wordsOf(t *testing.T, name, text string) []wordSource {
	inTest := strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") || strings.Contains(name, "internal/testing/testkit/")
	switch ext := path.Ext(name); {
	case strings.HasPrefix(name, "internal/archtest/"), strings.Contains(name, "testdata/npm/"), strings.Contains(name, "testdata/upgrade/"):
		return nil // the rules themselves; files of other projects and of earlier versions
	case ext == ".go":
		return goWords(t, name, text, inTest)
	case ext == ".txtar" || inTest && (ext == ".txt" || ext == ".md"):
		return lineWords(scopeTest, name, text)
	case slices.Contains([]string{".md", ".txt", ".yaml", ".yml", ".sh", ".toml"}, ext) && !strings.Contains(name, "docs/reference/format/examples/"):
		return lineWords(scopeText, name, text)
	}
	return nil
}

func lineWords(scope, name, text string) []wordSource {
	var out []wordSource
	n := 0
	for line := range strings.Lines(text) {
		n++
		out = append(out, wordSource{scope, name, n, line})
	}
	return out
}

// bannedNames are parts of identifiers that do not name a concept of rye.
var bannedNames = regexp.MustCompile(`(?i)(house|room|told|stands|vouch)`)

// vagueNames are whole identifiers that do not state of what, or which one.
var vagueNames = regexp.MustCompile(`^(took|goesOn|again|own|asks|rests)$`)

func goWords(t *testing.T, name, text string, inTest bool) []wordSource {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comment, literal := scopeComment, scopeText
	if inTest {
		comment, literal = scopeTest, scopeTest
	}
	var out []wordSource
	for _, g := range f.Comments {
		out = append(out, wordSource{comment, name, fset.Position(g.Pos()).Line, g.Text()})
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				out = append(out, wordSource{literal, name, fset.Position(n.Pos()).Line, s})
			}
		case *ast.Ident:
			if m := bannedNames.FindString(n.Name); m != "" && !inTest {
				// a text that the rules for phrases match as a word
				out = append(out, wordSource{scopeName, name, fset.Position(n.Pos()).Line, strings.ToLower(m)})
			}
			if declares(n) && vagueNames.MatchString(n.Name) && !inTest {
				out = append(out, wordSource{scopeName, name, fset.Position(n.Pos()).Line, "name " + n.Name})
			}
		case *ast.FuncDecl:
			if n.Recv != nil && vagueNames.MatchString(n.Name.Name) && !inTest {
				out = append(out, wordSource{scopeName, name, fset.Position(n.Name.Pos()).Line, "name " + n.Name.Name})
			}
		}
		return true
	})
	return out
}

// declares reports whether an identifier is where the parser resolves the others of its scope to. It knows no methods.
func declares(n *ast.Ident) bool { return n.Obj != nil && n.Obj.Pos() == n.Pos() }

// TestWordFaults checks that phrases are found in each scope.
func TestWordFaults(t *testing.T) {
	rules := wordRules(t, readFile(t, wordsFile))
	src := "package x\n\n// what stands\n// beside it\nvar house = \"nobody\" // there is no room for it\n" +
		"func f(own int) (took bool) { own = 1; again := own; return again > own }\nfunc (t T) goesOn() { t.asks() }\n"
	var got []string
	for _, h := range findWords(rules, append(goWords(t, "x.go", src, false), lineWords(scopeText, "a.md", "It is no file.\nThere is no file.\nThis key counts.\nIt counts bytes.\n")...)) {
		got = append(got, fmt.Sprintf("%s:%d %s %s", h.path, h.line, h.scope, h.phrase))
	}
	want := []string{"x.go:3 comment stands", "x.go:3 comment beside", "x.go:5 name house", "x.go:5 text nobody", "x.go:6 name name own", "x.go:6 name name took", "x.go:6 name name again", "x.go:7 name name goesOn", "a.md:1 text It is no file", "a.md:3 text key counts"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	recorded := map[string]int{"text a": 2, "name a": 1}
	moved := map[string]int{"text b": 2, "name a": 2}
	if next := nextWords(recorded, moved); !maps.Equal(next, map[string]int{"text b": 2, "name a": 1}) {
		t.Errorf("recorded %v", next)
	}
	if next := nextWords(nil, moved); !maps.Equal(next, moved) {
		t.Errorf("recorded %v of a new list", next)
	}
	if p := wordProblems(map[string]int{"text a": 2}, map[string]int{"text a": 1, "text b": 1}, nil); len(p) != 2 {
		t.Errorf("problems %q", p)
	}
}

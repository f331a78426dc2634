package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

func vocabulary() names {
	return names{fields: []string{"body", "name", "tags", "title"}, kinds: []item.Kind{"tool", "directive"}, spaces: []string{"project", "system", "system:rye-core", "user"}}
}

func columnOf(err error) int {
	var e *diag.Error
	if !errors.As(err, &e) {
		return 0
	}
	n, _ := e.Details["column"].(int)
	return n
}

// A malformed query is an error about one character.
func TestMalformed(t *testing.T) {
	t.Parallel()
	for text, column := range map[string]int{
		"(a": 1, "a (b (c)": 3, "a)": 2, ")": 1, "()": 2, "a ()": 4, "( )": 3,
		`"a`: 1, `a "b`: 3, `""`: 1, `a "."`: 3, `"a b"~`: 6, `"a b"~x`: 6, `"a b"~101`: 6, `"a"~999`: 4,
		"AND": 1, "AND a": 1, "a AND": 6, "a AND ": 7, "a OR": 5, "OR a": 1, "a AND OR b": 7, "NOT": 4, "a NOT": 6, "a (OR b)": 4,
		"titel:x": 1, "a titel:x": 3, "http://x": 1, "title:": 7, "title: x": 7, "title:)": 7, "a title:(b)": 9,
		"type:tol": 6, `type:"tool"`: 6, "space:sytem": 7, "ns:a//b": 4, "ns:*": 4, "ns:é": 4, "signed-by:xyz1": 11, "signed-by:abc": 11, "type:": 6, "tool:": 6,
		"a~3": 2, "é~9": 2, "a~1~1": 2, "a~b": 2, "ab*~1": 1, "~": 1, "...": 1, "a & b": 3, "-a": 1, "a -b": 3, "*.*": 1, "title:.": 7,
		"é (": 4, "é \"x": 3, "😀 x": 1, "title:-": 7, "\x00": 1,
		strings.Repeat("a* ", 21):                               61,
		strings.Repeat("(", 60) + "a" + strings.Repeat(")", 60): 51,
		strings.Repeat("NOT ", 60) + "a":                        201,
		strings.Repeat("x", maxQuery+1):                         maxQuery + 1,
	} {
		_, err := parse(text, vocabulary())
		if diag.CodeOf(err) != diag.Usage || columnOf(err) != column {
			t.Errorf("%.40q: %v at %d, want %d", text, err, columnOf(err), column)
		}
	}
}

// Common mistakes have a message or a reason for a hint.
func TestMalformedReasons(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ message, reason, nearest string }{
		"titel:x":       {"unknown field", "nearest", "title"},
		"type:tol":      {"unknown kind", "nearest", "tool"},
		"space:projekt": {"unknown space", "nearest", "project"},
		"-rebase":       {"NOT rebase excludes items", "query_syntax", ""},
		"xyzzy:1":       {"known are type, space, ns, signed-by, body", "query_syntax", ""},
		"a AND":         {"a word is expected", "query_syntax", ""},
		"title: x":      {"without a blank", "query_syntax", ""},
		"signed-by:x":   {"beginning of a key's fingerprint", "query_signer", ""},
	} {
		_, err := parse(text, vocabulary())
		var e *diag.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, want.message) || e.Reason != want.reason {
			t.Errorf("%q: %v, reason %q", text, err, e.Reason)
		} else if nearest, _ := e.Details["nearest"].(string); nearest != want.nearest {
			t.Errorf("%q: nearest %q, want %q", text, nearest, want.nearest)
		}
	}
}

// write renders a query so that tests can compare what was understood.
func write(n node) string {
	list := func(op string, kids []node) string {
		out := make([]string, len(kids))
		for i, k := range kids {
			out[i] = write(k)
		}
		return "(" + strings.Join(out, op) + ")"
	}
	switch n := n.(type) {
	case every:
		return "*"
	case group:
		var parts []string
		for _, k := range n.must {
			parts = append(parts, "+"+write(k))
		}
		for _, k := range n.may {
			parts = append(parts, write(k))
		}
		return "(" + strings.Join(parts, " ") + ")"
	case only:
		return "only " + write(n.kid)
	case or:
		return list(" | ", n.kids)
	case not:
		return "!" + write(n.kid)
	case filter:
		return n.by + "=" + n.value
	case *word:
		forms := make([]string, len(n.forms))
		for i, l := range n.forms {
			forms[i] = write(l)
		}
		return strings.Join(forms, "=")
	case *leaf:
		return fmt.Sprintf("%d/%s@%d~%d", n.form, strings.Join(n.words, "+"), n.field, n.n)
	}
	return "?"
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "*",
		" \t ":                  "*",
		"*":                     "*",
		"***":                   "*",
		"a":                     "0/a@-1~0",
		"a b":                   "(0/a@-1~0 0/b@-1~0)",
		"a AND b":               "(+0/a@-1~0 +0/b@-1~0)",
		"a AND b c":             "(+0/a@-1~0 +0/b@-1~0 0/c@-1~0)",
		"a AND b OR c":          "((+0/a@-1~0 +0/b@-1~0) | 0/c@-1~0)",
		"a +b c":                "(+0/b@-1~0 0/a@-1~0 0/c@-1~0)",
		"+a +(b c)":             "(+0/a@-1~0 +(0/b@-1~0 0/c@-1~0))",
		"+a":                    "0/a@-1~0",
		"a OR b c":              "(0/a@-1~0 | (0/b@-1~0 0/c@-1~0))",
		"(a b) (c (d OR e))":    "(0/a@-1~0 0/b@-1~0 0/c@-1~0 (0/d@-1~0 | 0/e@-1~0))",
		"a NOT b":               "(+!0/b@-1~0 0/a@-1~0)",
		"NOT(a)b":               "(+!0/a@-1~0 0/b@-1~0)",
		"ANDROID ORacle NOTes":  "(0/android@-1~0 0/oracle@-1~0 0/notes@-1~0)",
		"a and b or not":        "(0/a@-1~0 0/and@-1~0 0/b@-1~0 0/or@-1~0 0/not@-1~0)",
		"in short: b":           "(0/in@-1~0 0/short@-1~0 0/b@-1~0)",
		"what's don’t":          "(0/what@-1~0 0/don@-1~0)",
		"a type:tool":           "(+type=tool 0/a@-1~0)",
		"a name:*":              "(+5/@1~0 0/a@-1~0)",
		`"AND"`:                 "0/and@-1~0",
		`"a B"`:                 "1/a+b@-1~0",
		`"a b"~3`:               "2/a+b@-1~3",
		`"a"~3`:                 "0/a@-1~0",
		"title:A":               "0/a@3~0",
		`name:"a b"~1`:          "2/a+b@1~1",
		"Ab*C":                  "3/ab*c@-1~0",
		"name:a*":               "3/a*@1~0",
		"name:*":                "5/@1~0",
		"Word~2":                "4/word@-1~2",
		"word~":                 "4/word@-1~1",
		"word~0":                "0/word@-1~0",
		"a_b":                   "1/a+b@-1~0=0/a_b@-1~0=0/ab@-1~0",
		"a_b~1":                 "((+4/a@-1~1 +4/b@-1~1) | 4/a_b@-1~1)",
		"c++":                   "0/c@-1~0",
		"what?":                 "0/what@-1~0",
		"title:a:b":             "1/a+b@3~0=0/a:b@3~0=0/ab@3~0",
		":a":                    "0/a@-1~0",
		"type:tool":             "type=tool",
		"tool:a/b":              "(+type=tool +1/a+b@-1~0=0/a/b@-1~0=0/ab@-1~0)",
		"ns:rye.core.*":         "ns=rye/core",
		"ns:rye/core/":          "ns=rye/core",
		"signed-by:ABCD1":       "signed-by=abcd1",
		"space:system:rye-core": "space=system:rye-core",
	} {
		n, err := parse(text, vocabulary())
		if err != nil || write(n) != want {
			t.Errorf("%q: %s, %v, want %s", text, write(n), err, want)
		}
	}
}

// plainWords calls fn for the plain words of a query that are not negated.
func plainWords(n node, fn func(*word)) {
	switch n := n.(type) {
	case *word:
		fn(n)
	case group:
		for _, k := range slices.Concat(n.must, n.may) {
			plainWords(k, fn)
		}
	case or:
		for _, k := range n.kids {
			plainWords(k, fn)
		}
	}
}

// Nothing that a user types crashes, and every error has its place in the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a", "a AND (b OR \"c d\"~2) NOT title:x* y~1", "((", "\"", "type:tool ns:a/b signed-by:abcd", "a~", "é*", "\xff:\xff", "NOT NOT(", "title:\"", "*~1", "~", ":", "a:b:c~2*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parse(text, vocabulary())
		if err != nil {
			if at := columnOf(err); diag.CodeOf(err) != diag.Usage || at < 1 || at > len([]rune(text))+1 {
				t.Fatalf("%v at %d of %d", err, at, len([]rune(text)))
			}
			return
		}
		plainWords(n, func(w *word) {
			if w.at < 0 || w.end > len([]rune(text)) || w.at >= w.end {
				t.Fatalf("word %q stands at %d..%d", w.text, w.at, w.end)
			}
		})
		_ = write(n)
	})
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"same", "same", 0}, {"naïve", "naive", 1}, {"wrod", "word", 1}, {"abcd", "badc", 2}, {"straße", "strasse", 2}} {
		for limit := range 4 {
			want := min(c.want, limit+1)
			if got := edits(c.a, c.b, limit); got != want {
				t.Errorf("edits(%q, %q, %d) = %d, want %d", c.a, c.b, limit, got, want)
			}
			if got := edits(c.b, c.a, limit); got != want {
				t.Errorf("edits(%q, %q, %d) is not symmetric: %d", c.b, c.a, limit, got)
			}
		}
	}
	if edits(strings.Repeat("a", maxToken), strings.Repeat("b", maxToken), maxToken) != maxToken {
		t.Error("the longest tokens")
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "Hello, World": "hello world", "a_b-c.d/e": "a b c d e", "x1 2y": "x1 2y", "Ärger ÉCLAIR": "ärger éclair", "日本語 x": "日本語 x",
		"\xff\xfeok\x00no": "ok no", "don't": "don t", "İ": "i",
	} {
		if got := strings.Join(wordsOf(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := wordsOf(strings.Repeat("é", 100)); len(got) != 1 || got[0] != strings.Repeat("é", maxToken/2) {
		t.Errorf("a long word: %d bytes", len(got[0]))
	}
	if got := clip("a" + strings.Repeat("é", 100)); len(got) != maxToken-1 || !utf8.ValidString(got) {
		t.Errorf("a word cut within a character: %q", got)
	}
}

package gitcmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func rawTree(lines ...string) []byte {
	var out strings.Builder
	for _, l := range lines {
		out.WriteString(l + "\x00" + strings.Repeat("o", 20))
	}
	return []byte(out.String())
}

func TestEachRaw(t *testing.T) {
	for _, tc := range []struct {
		lines []string
		want  string
	}{
		{nil, ""},
		{[]string{"100644 a", "100644 a.b", "40000 a0", "40000 b"}, ""},
		{[]string{"100644 a", "100644 a-", "40000 ab", "100644 ab-"}, "is not sorted"},
		{[]string{"40000 .ai", "100644 x", "40000 .ai"}, "is not sorted"},
		{[]string{"40000 .ai", "40000 .ai"}, "twice"},
		{[]string{"100644 a", "100644 a"}, "twice"},
		{[]string{"100644 a", "100644 a.b", "40000 a"}, "twice"},
		{[]string{"100644 a", "100644 a.", "100644 a.b", "100644 a.c", "40000 a"}, "twice"},
		{[]string{"100644 b", "100644 a"}, "is not sorted"},
		{[]string{"100644 a/b"}, "malformed"},
		{[]string{"100644 "}, "malformed"},
		{[]string{"9 a"}, "malformed"},
	} {
		n := 0
		err := EachRaw(rawTree(tc.lines...), 20, func(RawEntry) error { n++; return nil })
		switch {
		case tc.want == "" && (err != nil || n != len(tc.lines)):
			t.Errorf("%q: %v, %d entries", tc.lines, err, n)
		case tc.want != "" && (diag.CodeOf(err) != diag.PathEscape || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%q: %v, want %q", tc.lines, err, tc.want)
		}
	}
}

func TestAlias(t *testing.T) {
	for _, name := range []string{".AI", ".Ai", ".a\u200ci", ".ai.", ".ai ", ".ai::$INDEX_ALLOCATION", "AI~1", "ai~22", "\ufeff.ai"} {
		if !Alias(name, ".ai") {
			t.Errorf("%q is not an alias", name)
		}
	}
	for _, name := range []string{".ai", "ai", ".aix", "x.ai", ".a", "b~1", "ai~x", ".AI2", ""} {
		if Alias(name, ".ai") {
			t.Errorf("%q is an alias", name)
		}
	}
	if !Alias("rye.loc\u212a", "rye.lock") || !Alias("RYE~1", "rye.yaml") || Alias("rye.sum", "rye.lock") {
		t.Error("names of files")
	}
}

// FuzzEachRaw reads trees of any bytes: what is accepted is what git writes, so each name
// occurs once and the bytes can be written again.
func FuzzEachRaw(f *testing.F) {
	f.Add(rawTree("100644 a", "40000 b"), 20)
	f.Add(rawTree("100644 a", "100644 a.b", "40000 a"), 20)
	f.Add(rawTree("40000 .ai", "100644 x", "40000 .ai"), 20)
	f.Add([]byte("100644 a\x00short"), 32)
	f.Fuzz(func(t *testing.T, data []byte, hash int) {
		if hash != 32 {
			hash = 20
		}
		var again strings.Builder
		seen := map[string]bool{}
		last := ""
		err := EachRaw(data, hash, func(e RawEntry) error {
			key := e.Name
			if e.Mode == ModeTree {
				key += "/"
			}
			if seen[e.Name] || key <= last {
				t.Errorf("%q after %q", key, last)
			}
			seen[e.Name], last = true, key
			fmt.Fprintf(&again, "%o %s\x00%s", e.Mode, e.Name, e.OID)
			return nil
		})
		if err == nil && len(again.String()) > len(data) {
			t.Errorf("%q became %q", data, again.String())
		}
	})
}

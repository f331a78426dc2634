package fs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/applet/files"
)

func idsOf(s string) []string { return lineIDs(files.SplitLines(s)) }

func TestLineIDsKeepThroughEditsElsewhere(t *testing.T) {
	t.Parallel()
	before := "func a() {\n\treturn\n}\n\nfunc b() {\n\treturn\n}\n\nfunc c() {\n\treturn\n}\n"
	ids := idsOf(before)
	for name, c := range map[string]struct {
		after string
		keep  map[int]int // line of before -> line of after
	}{
		"lines put in front":      {"// new\n" + before, map[int]int{0: 1, 4: 5, 5: 6, 6: 7, 9: 10}},
		"a function put in front": {"func z() {\n\treturn\n}\n\n" + before, map[int]int{0: 4, 4: 8, 5: 9, 6: 10, 10: 14}},
		"the first body changed":  {strings.Replace(before, "\treturn\n", "\tpanic(1)\n", 1), map[int]int{0: 0, 4: 4, 5: 5, 6: 6, 8: 8, 9: 9, 10: 10}},
		"lines put behind":        {before + "\nfunc d() {\n}\n", map[int]int{0: 0, 1: 1, 2: 2, 4: 4, 5: 5, 6: 6, 8: 8}},
		"CRLF":                    {strings.ReplaceAll(before, "\n", "\r\n"), map[int]int{0: 0, 1: 1, 2: 2, 3: 3, 10: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			now := idsOf(c.after)
			for was, is := range c.keep {
				if ids[was] != now[is] {
					t.Errorf("line %d, now %d: id %s became %s", was, is, ids[was], now[is])
				}
			}
		})
	}
}

func TestLineIDsNeverPointToANeighbour(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"one more brace above":      {"a\n}\n}\nb\n", "a\n}\n}\n}\nb\n"},
		"one brace fewer":           {"a\n}\n}\n}\nb\n", "a\n}\n}\nb\n"},
		"a copy of a unique line":   {"a\nb\n", "a\na\nb\n"},
		"a unique line copied away": {"x\na\nb\n", "x\na\nb\na\n"},
	} {
		t.Run(name, func(t *testing.T) {
			now := map[string]int{}
			for i, id := range idsOf(c.after) {
				now[id] = i
			}
			old := files.SplitLines(c.before)
			for i, id := range idsOf(c.before) {
				repeated := strings.Count(c.after, old[i].Text+"\n") > 1
				if at, found := now[id]; found && repeated {
					t.Errorf("id of line %d (%q) now names line %d", i+1, old[i].Text, at+1)
				}
			}
		})
	}
}

// TestLineIDsProperty edits random texts far from a line and wants either the
// same line or none under its id: same text, same unique neighbours.
func TestLineIDsProperty(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 7))
	kept, lost := 0, 0
	for range 2000 {
		lines := randomLines(rnd, 5+rnd.IntN(40))
		ids := lineIDs(lines)
		if dup := duplicate(ids); dup != "" {
			t.Fatalf("two lines share id %s in %q", dup, lines)
		}
		// the edit replaces a stretch; a line is followed by what stays around it
		from := rnd.IntN(len(lines))
		to := min(len(lines), from+rnd.IntN(4))
		after := append(append(append([]files.Line(nil), lines[:from]...), randomLines(rnd, rnd.IntN(4))...), lines[to:]...)
		shift := len(after) - len(lines)
		now := map[string]int{}
		for i, id := range lineIDs(after) {
			now[id] = i
		}
		for i, id := range ids {
			if i >= from && i < to {
				continue
			}
			want := i
			if i >= to {
				want += shift
			}
			at, found := now[id]
			switch {
			case !found:
				lost++
			case at == want:
				kept++
			case after[at].Text != lines[i].Text:
				t.Fatalf("id of %q now names %q", lines[i].Text, after[at].Text)
			case i < from-10 || i >= to+10:
				t.Fatalf("id of far line %d names line %d, want %d:\n%q\n%q", i, at, want, lines, after)
			}
		}
	}
	if kept < 4*lost {
		t.Errorf("%d ids kept, only %d lost by edits: too fragile", kept, lost)
	}
}

func randomLines(rnd *rand.Rand, n int) []files.Line {
	out := make([]files.Line, n)
	for i := range out {
		out[i] = files.Line{Text: []string{"}", "", "\treturn nil"}[rnd.IntN(3)], End: "\n"}
		if rnd.IntN(2) == 0 {
			out[i].Text = fmt.Sprint("unique ", rnd.Uint64())
		}
	}
	return out
}

func duplicate(ids []string) string {
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			return id
		}
		seen[id] = true
	}
	return ""
}

func FuzzLineIDs(f *testing.F) {
	f.Add("a\n}\n}\n\n\nb")
	f.Add("\r\n\r\n\r")
	f.Add(strings.Repeat("\n", 50))
	f.Fuzz(func(t *testing.T, s string) {
		lines := files.SplitLines(s)
		if got := string(files.Text{Lines: lines}.Bytes()); got != s {
			t.Fatalf("%q became %q", s, got)
		}
		if dup := duplicate(lineIDs(lines)); dup != "" {
			t.Fatalf("two lines share id %s", dup)
		}
	})
}

package cli

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/inline"
)

func TestTableAlignsWhatIsSeen(t *testing.T) {
	u, out, _ := testUI()
	u.color, u.width = true, 80
	tab := &Table{Columns: []Column{{Name: "ID"}, {Name: "WHAT"}}}
	tab.Add(u.Style(Green, "äö"), "first")
	tab.Add("longer", "second\nline")
	tab.Add("日本語", "wide")
	tab.Add("e\u0301a\u0300", "marks")
	tab.Add("👩‍👩‍👧🎉", "emoji")
	tab.Add("evil\x1b[31m", "x")
	u.Table(tab)
	u.Stdout.Flush()
	var starts []int
	for line := range strings.Lines(out.String()) {
		plain := unstyle(strings.TrimSuffix(line, "\n"))
		if strings.Contains(plain, "second") {
			plain = strings.Replace(plain, " line", "", 1)
		}
		starts = append(starts, inline.Width(plain[:strings.LastIndex(plain, "  ")]))
		if strings.Contains(line, "\x1b[31m") {
			t.Errorf("a cell painted the terminal: %q", line)
		}
	}
	for _, s := range starts {
		if len(starts) != 7 || s != starts[0] {
			t.Fatalf("columns begin at %v:\n%s", starts, out)
		}
	}
}

// TestTableFits shows the steps that make a table narrower: the cells of the highest rank are cut
// first, then columns are left out, and then each cell has a line.
func TestTableFits(t *testing.T) {
	tab := &Table{Columns: []Column{
		{Name: "ITEM", Min: 10, Cut: Middle}, {Name: "STATE", Min: 5}, {Name: "SIGNER", Rank: 2, Min: 4},
		{Name: "TEXT", Rank: 1, Min: 8}, {Name: "ID", Wide: true},
	}}
	tab.Add("tool:demo/release/notes", "trusted", "ada", "collects the notes of a release", "01jd")
	for _, c := range []struct {
		s    Screen
		want string
	}{
		{Screen{Width: 80}, `ITEM                     STATE    SIGNER  TEXT
tool:demo/release/notes  trusted  ada     collects the notes of a release
`},
		{Screen{Width: 60}, `ITEM                     STATE    SIGNER  TEXT
tool:demo/release/notes  trusted  ada     collects the note…
`},
		{Screen{Width: 40}, `ITEM                   STATE    TEXT
tool:demo/…ease/notes  trusted  collect…
`},
		{Screen{Width: 34}, `ITEM             STATE    TEXT
tool:de…e/notes  trusted  collect…
`},
		{Screen{Width: 20}, `ITEM         STATE
tool:…notes  trusted
`},
		{Screen{Width: 60, Wide: true}, `ITEM                     STATE    SIGNER  TEXT                             ID
tool:demo/release/notes  trusted  ada     collects the notes of a release  01jd
`},
		{Screen{Width: 30, Plain: true}, `Item: tool:demo/release/notes
State: trusted
Signer: ada
Text: collects the notes of a
  release
`},
		{Screen{Wide: true, Plain: true}, `Item: tool:demo/release/notes
State: trusted
Signer: ada
Text: collects the notes of a release
Id: 01jd
`},
	} {
		if got := strings.Join(tab.Lines(c.s), "\n") + "\n"; got != c.want {
			t.Errorf("at %+v:\n%s\nwant\n%s", c.s, got, c.want)
		}
	}
	tab.Columns[0].Min = 16
	want := "ITEM:\n  tool:demo/release/\n  notes\nSTATE: trusted\nSIGNER: ada\nTEXT: collects the\n  notes of a release\n"
	if got := strings.Join(tab.Lines(Screen{Width: 20}), "\n") + "\n"; got != want {
		t.Errorf("too narrow for what must be there:\n%s\nwant\n%s", got, want)
	}
}

// TestFactsWrap: a help text and a fact lose no word on a narrow terminal.
func TestFactsWrap(t *testing.T) {
	for _, c := range []struct {
		width int
		text  string
		want  string
	}{
		{20, "one two three four", "ab  one two three\n      four\n"},
		{20, "  one: two three four", "ab    one: two three\n        four\n"},
		{20, "aaaaaaaaaaaaaaaaaaaa b", "ab  aaaaaaaaaaaaaaaa\n      aaaa b\n"},
		{20, "äöü äöü äöü äöü ä", "ab  äöü äöü äöü äöü\n      ä\n"},
		{20, "日本語の文は空白なしで", "ab  日本語の文は空白\n      なしで\n"},
		{20, "fits", "ab  fits\n"},
		{0, "one two three four five", "ab  one two three four five\n"},
	} {
		tab := &Table{Form: Facts, Columns: []Column{{Name: "NAME"}, {Name: "VALUE", Cut: Wrap}}}
		tab.Add("ab", c.text)
		if got := strings.Join(tab.Lines(Screen{Width: c.width}), "\n") + "\n"; got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
	tab := &Table{Form: Facts, Columns: []Column{{Name: "NAME"}, {Name: "VALUE", Cut: Wrap}}}
	tab.Add("providers.anthropic", "one two three four")
	tab.Add("", "five")
	if got, want := strings.Join(tab.Lines(Screen{Width: 24}), "\n"), "providers.anthropic: one\n  two three four\n  five"; got != want {
		t.Errorf("names without room for values: %q, want %q", got, want)
	}
}

// TestTableProperties: on no screen a line is wider than it, a header is cut, or columns change
// their order; and without a limit no cell is cut.
func TestTableProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 36))
	words := []string{"tool:demo/x", "日本語", "שלום עולם", "e\u0301\u0302", "👩‍👩‍👧", "…", "a b  c", "", "\x1b[31mred", "\u202eevil", "12", "a\tb\nc", "0123456789abcdef0123456789abcdef"}
	cellOf := func() string {
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString(strings.Repeat(words[r.IntN(len(words))], 1+r.IntN(1+r.IntN(12))))
		}
		return b.String()
	}
	for range 3000 {
		tab := &Table{Form: Form(r.IntN(3))}
		n := 1 + r.IntN(8)
		if tab.Form == Facts {
			n = 2
		}
		for i := range n {
			c := Column{Name: fmt.Sprintf("COLUMN%d", i), Rank: r.IntN(4), Min: r.IntN(20), Cut: Cut(r.IntN(3)), Wide: tab.Form != Facts && i > 0 && r.IntN(5) == 0}
			if tab.Form == Facts && i == 1 {
				c.Cut = Wrap
			}
			tab.Columns = append(tab.Columns, c)
		}
		var all []string
		for range r.IntN(4) {
			row := make([]any, n)
			for i := range row {
				text := cellOf()
				row[i] = text
				all = append(all, text)
			}
			tab.Add(row...)
		}
		width := 20 + r.IntN(180)
		for _, s := range []Screen{{Width: width}, {Width: width, Plain: true}, {Width: width, Plain: true, Wide: true}, {Width: width, Color: true}} {
			lines := tab.Lines(s)
			for _, l := range lines {
				if got := inline.Width(l); got > width {
					t.Fatalf("%d columns at %+v: %q of %+v", got, s, l, tab)
				}
			}
			if tab.Form == List && !s.Plain && len(lines) > 0 && !strings.Contains(lines[0], ":") {
				checkHeader(t, tab, unstyle(lines[0]))
			}
		}
		whole := strings.Join(tab.Lines(Screen{Width: width, Wide: true}), "\n")
		for _, text := range all {
			if text = strings.TrimRight(newCell(text).text, " "); !strings.Contains(whole, text) {
				t.Fatalf("%q is lost in\n%s", text, whole)
			}
		}
	}
}

// checkHeader verifies that a header has the names of columns, whole and in their order.
func checkHeader(t *testing.T, tab *Table, header string) {
	t.Helper()
	at := -1
	for _, name := range strings.Fields(header) {
		found := -1
		for i, c := range tab.Columns {
			if c.Name == name {
				found = i
			}
		}
		if found <= at {
			t.Fatalf("header %q of %+v", header, tab.Columns)
		}
		at = found
	}
	for i, c := range tab.Columns {
		if c.Rank == 0 && !c.Wide && !strings.Contains(header, c.Name) {
			t.Fatalf("column %d is left out of %q", i, header)
		}
	}
}

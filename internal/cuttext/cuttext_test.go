package cuttext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFirstAndLast(t *testing.T) {
	m := Measure(Bytes)
	for _, c := range []struct {
		text        string
		budget      int
		first, last string
		lines       int
	}{
		{"a\nb\nc\n", 4, "a\nb\n", "b\nc\n", 2},
		{"a\nb\nc", 3, "a\n", "b\nc", 1},
		{"äöü", 5, "äö", "öü", 0},
		{"long line\nx\n", 4, "long", "x\n", 0},
		{"x\nlong line\n", 4, "x\n", "", 1},
		{"", 4, "", "", 0},
		{"abc", 0, "", "", 0},
	} {
		first, lines := m.First(c.text, c.budget)
		last := m.Last(c.text, c.budget)
		if first != c.first || last != c.last || lines != c.lines {
			t.Errorf("%q in %d: %q %q %d", c.text, c.budget, first, last, lines)
		}
	}
}

func TestStart(t *testing.T) {
	for _, c := range []struct {
		text  string
		n     int
		start string
	}{
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"abc", 0, ""},
		{"abc", -1, ""},
		{"äöü", 5, "äö"},
		{"äöü", 6, "äöü"},
		{"a\U0001F600b", 4, "a"},
		{"a\U0001F600b", 5, "a\U0001F600"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80"},
	} {
		if got := Start(c.text, c.n); got != c.start {
			t.Errorf("%q in %d bytes: %q, want %q", c.text, c.n, got, c.start)
		}
		short := c.start
		if short != c.text {
			short += "…"
		}
		if got := Short(c.text, c.n); got != short {
			t.Errorf("%q short: %q, want %q", c.text, got, short)
		}
	}
}

func TestQuoted(t *testing.T) {
	if n := Measure(Quoted).Of("a\"\n\x01ä\u2028"); n != 1+2+2+6+1+6 {
		t.Error(n)
	}
}

func TestWrapAndIndent(t *testing.T) {
	if s, wrapped := Wrap("äää\nää\n", 2); s != "ää\nä\nää\n" || !wrapped {
		t.Errorf("%q", s)
	}
	if s, ok := Indent(`{"b":[1],"a":"x"}`, 100); !ok || s != "{\n  \"a\": \"x\",\n  \"b\": [\n    1\n  ]\n}" {
		t.Errorf("%q %v", s, ok)
	}
	for _, s := range []string{"", "text", "{broken", "[1] trailing"} {
		if _, ok := Indent(s, 100); ok {
			t.Errorf("%q is taken for JSON", s)
		}
	}
}

// A part never exceeds its budget, is a part of the text, and is valid UTF-8.
func FuzzMeasure(f *testing.F) {
	f.Add("a\nbä\n\nc", 5)
	f.Fuzz(func(t *testing.T, s string, budget int) {
		if !utf8.ValidString(s) || budget < 0 {
			return
		}
		for _, m := range []Measure{Bytes, Quoted} {
			first, _ := m.First(s, budget)
			last := m.Last(s, budget)
			if !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) || m.Of(first) > budget || m.Of(last) > budget || !utf8.ValidString(first) || !utf8.ValidString(last) {
				t.Errorf("%q in %d: %q %q", s, budget, first, last)
			}
		}
	})
}

// TestWrapLongLine wraps one line of 20 MB. Work that grows with the square of the length would take minutes.
func TestWrapLongLine(t *testing.T) {
	line := strings.Repeat("é", 10_000_000)
	s, wrapped := Wrap(line+"\n", 1500)
	if !wrapped || strings.Count(s, "\n") != 6667 || strings.ReplaceAll(s, "\n", "") != line {
		t.Errorf("%t, %d lines", wrapped, strings.Count(s, "\n"))
	}
	for text, want := range map[string]string{"ab": "ab", "ab\n": "ab\n", "abc": "ab\nc", "\n\n": "\n\n", "abcd\n": "ab\ncd\n", "": "", "éé\xffa": "éé\n\xffa"} {
		if s, _ := Wrap(text, 2); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
}

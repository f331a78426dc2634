package cli

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"
)

func testUI() (*UI, *bytes.Buffer, *bytes.Buffer) {
	var out, errOut bytes.Buffer
	return &UI{Stdout: bufio.NewWriter(&out), Stderr: &errOut}, &out, &errOut
}

func TestTableAlignsWhatIsSeen(t *testing.T) {
	u, out, _ := testUI()
	u.color = true
	tab := &Table{Header: []string{"ID", "WHAT"}}
	tab.Add(u.Style(Green, "äö"), "first")
	tab.Add("longer", "second\nline")
	tab.Add("evil\x1b[31m", "x")
	u.Table(tab)
	u.Stdout.Flush()
	var starts []int
	for line := range strings.Lines(out.String()) {
		plain := []rune(unstyle(strings.TrimSuffix(line, "\n")))
		i := strings.LastIndex(string(plain), "  ")
		starts = append(starts, len([]rune(string(plain)[:i])))
		if strings.Contains(line, "\x1b[31m") {
			t.Errorf("a cell painted the terminal: %q", line)
		}
	}
	for _, s := range starts {
		if len(starts) != 4 || s != starts[0] {
			t.Fatalf("columns begin at %v:\n%s", starts, out)
		}
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	u, out, _ := testUI()
	u.width = 12
	tab := &Table{}
	tab.Add("ab", "0123456789")
	u.Table(tab)
	u.Stdout.Flush()
	if got, want := out.String(), "ab  0123456…\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A help text loses no word on a narrow terminal.
func TestTableWraps(t *testing.T) {
	for _, c := range []struct {
		width int
		text  string
		want  string
	}{
		{20, "one two three four", "ab  one two three\n      four\n"},
		{20, "  one: two three four", "ab    one: two three\n        four\n"},
		{20, "aaaaaaaaaaaaaaaaaaaa b", "ab  aaaaaaaaaaaaaaaa\n      aaaa b\n"},
		{20, "äöü äöü äöü äöü ä", "ab  äöü äöü äöü äöü\n      ä\n"},
		{20, "fits", "ab  fits\n"},
		{0, "one two three four five", "ab  one two three four five\n"},
		{9, "one two three", "ab  one …\n"},
	} {
		u, out, _ := testUI()
		u.width = c.width
		tab := &Table{Wrap: true}
		tab.Add("ab", c.text)
		u.Table(tab)
		u.Stdout.Flush()
		if got := out.String(); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestNothingUntrustedReachesTheTerminal(t *testing.T) {
	u, out, errOut := testUI()
	evil := "a\x1b]0;title\x07\r\u202e\u200bz"
	u.Out("%s %v %q", evil, errors.New(evil), []string{evil})
	u.Note("%s", evil)
	u.Warn("%v", map[string]string{evil: evil})
	u.Text("one\n" + evil + "\n")
	u.Stdout.Flush()
	for _, got := range []string{out.String(), errOut.String()} {
		if strings.ContainsAny(got, "\x1b\x07\r\u202e\u200b") {
			t.Errorf("printed as it was: %q", got)
		}
		if !strings.Contains(got, "title") {
			t.Errorf("lost: %q", got)
		}
	}
}

func TestJSONIsTheOnlyOutput(t *testing.T) {
	u, out, _ := testUI()
	u.AsJSON, u.Command = true, "x"
	u.Out("text")
	u.Text("text")
	if err := u.JSON(map[string]string{"a": "<b>"}); err != nil {
		t.Fatal(err)
	}
	u.Stdout.Flush()
	want := "{\n  \"success\": true,\n  \"data\": {\n    \"a\": \"<b>\"\n  },\n  \"metadata\": {\n    \"command\": \"x\"\n  }\n}\n"
	if out.String() != want {
		t.Errorf("got %s", out)
	}
}

// TestHelpFits verifies that help has no line wider than the terminal but a word, and every word of the
// text in its order. A paragraph that fits, and one with indented lines, stays as it is.
func TestHelpFits(t *testing.T) {
	wide := "one two three four five\nsix seven"
	list := "  a list item wider than that\n  b"
	for _, c := range []struct {
		width      int
		text, want string
	}{
		{0, wide, wide},
		{23, wide, wide},
		{16, wide, "one two three\nfour five six\nseven"},
		{16, "short\nlines\n\n" + wide, "short\nlines\n\none two three\nfour five six\nseven"},
		{16, list, list},
		{16, "see https://github.com/USER.keys for it", "see\nhttps://github.com/USER.keys\nfor it"},
	} {
		u, _, _ := testUI()
		u.width = c.width
		if got := u.fitted(c.text); got != c.want {
			t.Errorf("width %d: %q\n%q, want\n%q", c.width, c.text, got, c.want)
		}
	}
}

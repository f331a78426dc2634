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

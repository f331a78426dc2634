package promptinput_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/promptinput"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name     string
		words    []string
		stdin    string
		terminal bool
		want     string
		code     diag.Code
	}{
		{"words", []string{"what", "is here?"}, "", false, "what is here?", ""},
		{"words at a terminal", []string{"what"}, "typed", true, "what", ""},
		{"standard input", nil, "\nwhat is here?\n\n", false, "what is here?", ""},
		{"both", []string{"explain"}, "a\nb\n", false, "explain\n\n```\na\nb\n```", ""},
		{"a fence in the text", []string{"explain"}, "```go\nx\n```\n", false, "explain\n\n````\n```go\nx\n```\n````", ""},
		{"the largest", []string{"x"}, strings.Repeat("a", promptinput.MaxInput), false, "x\n\n```\n" + strings.Repeat("a", promptinput.MaxInput) + "\n```", ""},
		{"too large", []string{"x"}, strings.Repeat("a", promptinput.MaxInput+1), false, "", diag.TooLarge},
		{"not text", []string{"x"}, "\xff\xfe", false, "", diag.ValidationFailed},
		{"a zero byte", nil, "a\x00b", false, "", diag.ValidationFailed},
		{"nothing", nil, " \n", false, "", diag.Usage},
		{"blank words", []string{" "}, "", false, "", diag.Usage},
		{"nothing at a terminal", nil, "typed", true, "", diag.Usage},
	} {
		got, err := promptinput.Read(t.Context(), promptinput.Params{Words: tc.words, Stdin: strings.NewReader(tc.stdin), Terminal: tc.terminal})
		if got != tc.want || diag.CodeOf(err) != tc.code {
			t.Errorf("%s: got %.60q, %v", tc.name, got, err)
		}
	}
}

// The null device is not read: a thread that starts rye gives it none or that.
func TestDevice(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if promptinput.Carries(f) || promptinput.Carries(nil) {
		t.Error("the null device carries a text")
	}
}

// A pipe that stays open and empty is reported once, and an interrupt ends the wait.
func TestWaits(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	reported := 0
	_, err := promptinput.Read(ctx, promptinput.Params{Words: []string{"x"}, Stdin: r, Patience: time.Millisecond, Waiting: func() { reported++; cancel() }})
	if err == nil || reported != 1 {
		t.Errorf("%v after %d reports", err, reported)
	}
}

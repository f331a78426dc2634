// Package promptinput makes the prompt of a thread from the words of a command line and the
// text of its standard input.
//
// It starts no thread and decides nothing about the text: that is a text of the person.
package promptinput

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// MaxInput is the longest text that is read from standard input, in bytes.
const MaxInput = 1 << 20

// Params are where the text of a prompt comes from.
type Params struct {
	Words    []string // of the command line
	Stdin    io.Reader
	Terminal bool // Stdin is a terminal, which is not read
	// Waiting is called once if a pipe has no text and no end after the time Patience; nil
	// ignores it. A program that starts rye may leave a pipe open that it never writes.
	Waiting  func()
	Patience time.Duration
}

// Read returns the prompt: the words, joined by blanks, then the text of standard input in a
// fence. Without words the text of standard input is the prompt. It is an error if there is
// no text at all.
func Read(ctx context.Context, p Params) (string, error) {
	words := strings.TrimSpace(strings.Join(p.Words, " "))
	input := ""
	if !p.Terminal && Carries(p.Stdin) {
		var err error
		if input, err = p.input(ctx); err != nil {
			return "", err
		}
	}
	switch text := strings.TrimSpace(input); {
	case words == "" && text == "":
		return "", diag.New(diag.Usage, "reading the prompt: it is empty").WithReason("no_prompt")
	case words == "":
		return text, nil
	case text == "":
		return words, nil
	}
	return words + "\n\n" + Fence(input), nil
}

// Carries reports whether a stream can have a text: a pipe, a file or a socket. A device such
// as the null device has none.
func Carries(stdin io.Reader) bool {
	if stdin == nil {
		return false
	}
	f, ok := stdin.(*os.File)
	if !ok {
		return true
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&(fs.ModeDevice|fs.ModeCharDevice|fs.ModeDir) == 0
}

// input reads standard input to its end.
func (p Params) input(ctx context.Context) (string, error) {
	type read struct {
		b   []byte
		err error
	}
	done := make(chan read, 1)
	go func() {
		b, err := io.ReadAll(io.LimitReader(p.Stdin, MaxInput+1))
		done <- read{b, err}
	}()
	late := time.NewTimer(cmp.Or(p.Patience, 2*time.Second))
	defer late.Stop()
	for {
		select {
		case r := <-done:
			return checked(r.b, r.err)
		case <-late.C:
			if p.Waiting != nil {
				p.Waiting()
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func checked(b []byte, err error) (string, error) {
	switch {
	case err != nil:
		return "", diag.New(diag.FileSystemError, "reading standard input: %w", err)
	case len(b) > MaxInput:
		return "", diag.New(diag.TooLarge, "reading standard input: it has more than %d bytes", MaxInput).WithReason("prompt_input")
	case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
		return "", diag.New(diag.ValidationFailed, "reading standard input: it is not text in UTF-8").WithReason("prompt_input")
	}
	return string(b), nil
}

// Fence returns a text in a fence of Markdown that no line of the text ends.
func Fence(text string) string {
	longest := 0
	run := 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + "\n" + strings.TrimRight(text, "\r\n") + "\n" + fence
}

package lineserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

// program is a program whose answer to each line is a function of it; an error ends it.
func program(answer func(line string, write func(string)) error) Run {
	return func(ctx context.Context, stdin io.Reader, stdout func([]byte)) error {
		ended := make(chan error, 1)
		go func() {
			for lines := bufio.NewScanner(stdin); lines.Scan(); {
				if err := answer(lines.Text(), func(s string) { stdout([]byte(s)) }); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
		select {
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// One program answers many calls, in pieces and in one.
func TestAnswers(t *testing.T) {
	started := 0
	s := Start(t.Context(), program(func(line string, write func(string)) error {
		started++
		write(line[:1])
		write(line[1:] + "\n")
		return nil
	}), 100)
	for _, line := range []string{"one", "two", strings.Repeat("x", 99)} {
		got, err := s.Ask(t.Context(), []byte(line), time.Minute)
		if err != nil || string(got) != line {
			t.Errorf("%q, %v", got, err)
		}
	}
	if running, err := s.Usable(); !running || err != nil || started != 3 {
		t.Error(running, err, started)
	}
	s.Close(time.Minute)
	if running, err := s.Usable(); running || err != nil {
		t.Error(running, err)
	}
}

// A program that breaks the rule is an error that states how, never a wait without end, and it
// is not asked again.
func TestFaults(t *testing.T) {
	crash := diag.New(diag.ExecutionFailed, "exit status 3")
	for _, c := range []struct {
		name   string
		answer func(string, func(string)) error
		want   string
		code   diag.Code
	}{
		{"two lines", func(_ string, w func(string)) error { w("a\nb\n"); return nil }, `it printed more than one line: after its answer "b"`, diag.ExecutionFailed},
		{"a line and a part", func(_ string, w func(string)) error { w("a\nb"); return nil }, `it printed more than one line: after its answer "b"`, diag.ExecutionFailed},
		{"nothing", func(string, func(string)) error { return nil }, "stopped, because it did not answer within 50ms", diag.Timeout},
		{"a part", func(_ string, w func(string)) error { w("a"); return nil }, "stopped, because it did not answer within 50ms", diag.Timeout},
		{"the end", func(string, func(string)) error { return io.EOF }, "it ended without an answer", diag.ExecutionFailed},
		{"a crash", func(string, func(string)) error { return crash }, "exit status 3", diag.ExecutionFailed},
		{"without end", func(_ string, w func(string)) error { w(strings.Repeat("x", 200)); return nil }, "its answer is longer than 100 bytes", diag.ExecutionFailed},
	} {
		s := Start(t.Context(), program(c.answer), 100)
		got, err := s.Ask(t.Context(), []byte("{}"), 50*time.Millisecond)
		if got != nil || err == nil || err.Error() != c.want || diag.CodeOf(err) != c.code {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if running, _ := s.Usable(); running {
			t.Errorf("%s: the program would be asked again", c.name)
		}
		s.Close(time.Minute)
	}
}

// Output between calls is not the answer to the next one.
func TestEarlyOutput(t *testing.T) {
	wrote, release := make(chan struct{}), make(chan struct{})
	s := Start(t.Context(), program(func(line string, write func(string)) error {
		write(line + "\n")
		<-release
		write("late\n")
		close(wrote)
		return nil
	}), 100)
	if got, err := s.Ask(t.Context(), []byte("one"), time.Minute); err != nil || string(got) != "one" {
		t.Fatal(string(got), err)
	}
	close(release)
	<-wrote
	if _, err := s.Ask(t.Context(), []byte("two"), time.Minute); err == nil || err.Error() != `it printed without a call: "late"` {
		t.Error(err)
	}
	s.Close(time.Minute)
}

// The end of a call ends the program, and one that ended by itself is not a failure.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := Start(ctx, program(func(string, func(string)) error { cancel(); return nil }), 100)
	if _, err := s.Ask(ctx, []byte("{}"), time.Minute); diag.CodeOf(err) != diag.Cancelled {
		t.Error(err)
	}
	s.Close(time.Minute)
	s = Start(t.Context(), program(func(line string, write func(string)) error { write(line + "\n"); return io.EOF }), 100)
	if got, err := s.Ask(t.Context(), []byte("one"), time.Minute); err != nil || string(got) != "one" {
		t.Error(string(got), err)
	}
	<-s.ended
	if running, err := s.Usable(); running || err != nil {
		t.Error(running, err)
	}
}

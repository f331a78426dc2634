package httpx

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ryeos/rye/diag"
)

func all(r io.Reader, f Framing) (got []string, cut bool, err error) {
	cut, err = Events(r, f, func(e Event) error {
		got = append(got, e.Name+"|"+e.ID+"|"+string(e.Data))
		return nil
	})
	return got, cut, err
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		f        Framing
		want     []string
		cut      bool
	}{
		{"empty", "", SSE, nil, false},
		{"one", "data: a\n\n", SSE, []string{"||a"}, false},
		{"no space", "data:a\n\n", SSE, []string{"||a"}, false},
		{"two spaces", "data:  a\n\n", SSE, []string{"|| a"}, false},
		{"two lines", "data: a\ndata: b\n\n", SSE, []string{"||a\nb"}, false},
		{"empty data", "data:\n\ndata\n\n", SSE, []string{"||", "||"}, false},
		{"named", "event: x\nid: 1\ndata: a\n\ndata: b\n\n", SSE, []string{"x|1|a", "|1|b"}, false},
		{"name without data", "event: x\n\ndata: a\n\n", SSE, []string{"||a"}, false},
		{"comment", ": hi\n\n:\ndata: a\n\n", SSE, []string{"||a"}, false},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", SSE, []string{"||a", "||b"}, false},
		{"CR", "data: a\r\rdata: b\r\r", SSE, []string{"||a", "||b"}, false},
		{"BOM", "\uFEFFdata: a\n\n", SSE, []string{"||a"}, false},
		{"BOM later", "data: a\n\n\uFEFFdata: b\n\n", SSE, []string{"||a"}, false},
		{"cut off", "data: a\n\ndata: b\n", SSE, []string{"||a"}, true},
		{"cut within a line", "data: a\n\ndata: b", SSE, []string{"||a"}, true},
		{"NUL in id", "id: a\x00\ndata: a\n\n", SSE, []string{"||a"}, false},
		{"retry", "retry: 5\ndata: a\n\n", SSE, []string{"||a"}, false},
		{"invalid UTF-8", "data: \xff\n\n", SSE, []string{"||\xff"}, false},
		{"lines", "{\"a\":1}\n\n [2] \r\n3", JSONLines, []string{"||{\"a\":1}", "||[2]", "||3"}, false},
		{"bare CR", "\"a\rb\"\n", JSONLines, []string{"||\"a\rb\""}, false},
		{"no lines", "\n \n", JSONLines, nil, false},
		{"a line that the end cuts off", "{\"a\":1}\n{\"b\":", JSONLines, []string{"||{\"a\":1}"}, true},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)), iotest.DataErrReader(strings.NewReader(c.in))} {
			got, cut, err := all(r, c.f)
			if err != nil || cut != c.cut || !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, cut %v, %v; want %q", c.name, got, cut, err, c.want)
			}
		}
	}
}

// forever repeats one byte.
type forever byte

func (f forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(f)
	}
	return len(p), nil
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	for _, f := range []Framing{SSE, JSONLines} {
		if _, _, err := all(forever('x'), f); diag.CodeOf(err) != diag.ResourceExceeded {
			t.Errorf("%s: an endless line: %v", f, err)
		}
	}
	line := "data: " + strings.Repeat("x", MaxLine-10) + "\n"
	if _, _, err := all(strings.NewReader(strings.Repeat(line, 5)+"\n"), SSE); diag.CodeOf(err) != diag.ResourceExceeded {
		t.Errorf("a large event: %v", err)
	}
	broken := errors.New("broken")
	for _, f := range []Framing{SSE, JSONLines} {
		got, _, err := all(io.MultiReader(strings.NewReader("data: a\n\n{\"half"), iotest.ErrReader(broken)), f)
		if !errors.Is(err, broken) || len(got) != 1 {
			t.Errorf("%s: %q, %v", f, got, err)
		}
	}
	stop := errors.New("stop")
	for _, f := range []Framing{SSE, JSONLines} {
		if _, err := Events(strings.NewReader("data: a\n\n"), f, func(Event) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// FuzzEvents: however the bytes arrive, the events are the same, and none holds
// the end of a line that its format would have cut at.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{"", "data: a\n\n", "data: a\r\n\r\n", "data: a\r\r", "\uFEFFid: 1\nevent: x\ndata\n\n", "{}\n[]\r\n", ":\n\n\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, fr := range []Framing{SSE, JSONLines} {
			one, cut1, err1 := all(bytes.NewReader(b), fr)
			two, cut2, err2 := all(iotest.OneByteReader(bytes.NewReader(b)), fr)
			if !slices.Equal(one, two) || cut1 != cut2 || (err1 == nil) != (err2 == nil) {
				t.Fatalf("%q %v %v, then %q %v %v", one, cut1, err1, two, cut2, err2)
			}
			for _, s := range one {
				if fr == SSE && strings.Contains(s, "\r") || fr == JSONLines && strings.Contains(s, "\n") {
					t.Fatalf("%q", s)
				}
			}
		}
	})
}

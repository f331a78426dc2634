package chainlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func format() *Format {
	return &Format{Genesis: "test\n", MaxLine: 200, Head: "test.head", Repair: "nothing removes it", Link: func(line []byte) (Link, error) {
		var l Link
		return l, json.Unmarshal(line, &l)
	}}
}

// log returns n lines and their head.
func log(n int) ([]byte, Head) {
	f := format()
	h := f.Start()
	var out []byte
	for range n {
		line := fmt.Appendf(nil, `{"Seq":%d,"Prev":%q}`+"\n", h.Seq+1, h.Last)
		out, h = append(out, line...), h.After(line)
	}
	return out, h
}

func open(t *testing.T, text []byte) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestSettle(t *testing.T) {
	text, top := log(5)
	_, two := log(2)
	first, one := log(1)
	for name, c := range map[string]struct {
		text []byte
		head Head
		seq  int64
		torn int64
		err  error
	}{
		"at the head":        {text, top, 5, 0, nil},
		"behind the head":    {text, two, 5, 0, nil},
		"without a head":     {text, format().Start(), 5, 0, nil},
		"torn":               {append(bytes.Clone(text), "{\"Se"...), two, 5, 4, nil},
		"torn zeros":         {append(bytes.Clone(text), make([]byte, 700)...), top, 5, 700, nil},
		"cut":                {text[:len(text)-1], top, 0, 0, ErrCut},
		"cut to a line":      {first, two, 0, 0, ErrCut},
		"altered":            {bytes.Replace(text, []byte(`"Seq":2`), []byte(`"Seq":7`), 1), two, 0, 0, ErrAltered},
		"altered after head": {bytes.Replace(text, []byte(`"Seq":2`), []byte(`"Seq":7`), 1), one, 0, 0, ErrAltered},
		"a line of garbage":  {append(bytes.Clone(text), "x\n"...), top, 0, 0, ErrAltered},
		"empty":              {nil, format().Start(), 0, 0, nil},
	} {
		end, torn, err := format().Settle(open(t, c.text), c.head)
		if !errors.Is(err, c.err) || err == nil && (end.Seq != c.seq || torn != c.torn || end.Size+torn != int64(len(c.text))) {
			t.Errorf("%s: %+v, %d, %v", name, end, torn, err)
		}
	}
}

func TestWrite(t *testing.T) {
	f := open(t, []byte("one\n"))
	if err := errors.Join(Write(f, []byte("two\n"), 4, true), Write(f, []byte("three\n"), 8, false)); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(f.Name()); string(got) != "one\ntwo\nthree\n" {
		t.Errorf("%q", got)
	}
	closed := open(t, nil)
	_ = closed.Close()
	if Write(closed, []byte("x"), 0, true) == nil {
		t.Error("a write to a closed file has no error")
	}
}

func TestHead(t *testing.T) {
	_, h := log(3)
	if got, known := format().ParseHead(h.Render()); !known || got != h {
		t.Errorf("%+v", got)
	}
	for _, s := range []string{"", "{}", " " + string(h.Render()), strings.Replace(string(h.Render()), "3", "0", 1), string(h.Render()) + "\n"} {
		if got, known := format().ParseHead([]byte(s)); known || got != format().Start() {
			t.Errorf("%q: %+v", s, got)
		}
	}
}

// Check and Follow agree: a log without findings is one that Follow reads to its
// last whole line.
func FuzzCheck(f *testing.F) {
	text, _ := log(4)
	f.Add(text)
	f.Add(text[:len(text)-3])
	f.Add(bytes.Replace(text, []byte(`"Seq":2`), []byte(`"Seq":7`), 1))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		form := format()
		c := form.NewCheck(form.Start(), false)
		_ = form.EachLine(bytes.NewReader(text), func(line []byte, whole bool) error {
			if whole {
				c.Add(line)
			} else {
				c.Cut()
			}
			return nil
		})
		fs := c.End()
		h, err := form.Follow(bytes.NewReader(text), form.Start())
		if (err == nil) == diag.Failed(fs) || err == nil && h.Seq != int64(c.Line()) {
			t.Fatalf("%v and %v", err, fs)
		}
	})
}

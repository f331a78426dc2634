package shell

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/proc"
)

// watched is a writer that reports its first write and returns err.
type watched struct {
	b     bytes.Buffer
	err   error
	wrote chan struct{}
}

func (w *watched) Write(b []byte) (int, error) {
	w.b.Write(b)
	close(w.wrote)
	return len(b), w.err
}

func TestProgress(t *testing.T) {
	t.Parallel()
	w := &watched{wrote: make(chan struct{})}
	p := newProgress(w, func() { t.Error("cancelled although the writer works") })
	p.line([]byte("10%\r20%\r" + strings.Repeat("ä", maxProgress) + "\r"))
	<-w.wrote
	p.stop()
	if got, want := w.b.String(), proc.LiveMark+strings.Repeat("ä", maxProgress/2)+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var none *progress
	none.line([]byte("x"))
	none.stop()
}

// A failing writer means that the caller is gone: the command is cancelled.
func TestProgressWithoutReader(t *testing.T) {
	t.Parallel()
	cancelled := make(chan struct{})
	w := &watched{wrote: make(chan struct{}), err: errors.New("broken pipe")}
	p := newProgress(w, func() { close(cancelled) })
	p.line([]byte("x"))
	<-cancelled
	p.stop()
	if !strings.Contains(w.b.String(), "x") {
		t.Errorf("wrote %q", w.b.String())
	}
}

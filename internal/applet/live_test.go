package applet

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/proc"
)

// told is a reader that says when something was written, or one that has gone.
type told struct {
	b    bytes.Buffer
	err  error
	news chan struct{}
}

func (w *told) Write(b []byte) (int, error) {
	w.b.Write(b)
	close(w.news)
	return len(b), w.err
}

func TestLive(t *testing.T) {
	w := &told{news: make(chan struct{})}
	l := newLive(w, func() { t.Error("somebody listens") })
	l.line([]byte("10%\r20%\r" + strings.Repeat("ä", maxLive) + "\r"))
	<-w.news
	l.stop()
	if got, want := w.b.String(), proc.LiveMark+strings.Repeat("ä", maxLive/2)+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var none *live
	none.line([]byte("x"))
	none.stop()
}

// Nobody waits for a command whose caller has gone.
func TestLiveWithoutReader(t *testing.T) {
	gone := make(chan struct{})
	l := newLive(&told{news: make(chan struct{}), err: errors.New("broken pipe")}, func() { close(gone) })
	l.line([]byte("x"))
	<-gone
	l.stop()
}

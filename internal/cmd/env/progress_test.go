package env

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/packages"
)

// The progress is one line that is updated and removed; without a terminal nothing is
// written. Ids come from remotes, so control characters are made visible.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := &progress{ui: &cli.UI{Stderr: &b}, On: true, begun: map[string]bool{}, ended: map[string]bool{}}
	p.event(packages.Event{Stage: packages.Waiting}) // no other process runs: nothing is drawn
	if b.Len() > 0 {
		t.Errorf("the bar writes %q", b.String())
	}
	p.event(packages.Event{Stage: packages.Resolving, ID: "github.com/a/c"})
	p.event(packages.Event{Stage: packages.Fetching, ID: "github.com/a/\x1b[31mb", Version: "v1.0.0"})
	p.event(packages.Event{Stage: packages.Fetching, ID: "github.com/a/c", Version: "v1.0.0"})
	p.event(packages.Event{Stage: packages.Fetched, ID: "github.com/a/c", Version: "v1.0.0"})
	p.clear()
	p.clear()
	got := b.String()
	if strings.Contains(got, "0/0") || strings.Contains(got, "waiting") || strings.Contains(got, "\x1b[31m") || strings.Contains(got, "\n") {
		t.Errorf("the bar writes %q", got)
	}
	if !strings.Contains(got, "] 1/2 fetched github.com/a/c") || !strings.HasSuffix(got, "github.com/a/c\r\x1b[K") {
		t.Errorf("the bar writes %q", got)
	}
	b.Reset()
	p.On = false
	p.event(packages.Event{Stage: packages.Fetching, ID: "x"})
	p.clear()
	if b.Len() > 0 {
		t.Errorf("off a terminal: %q", b.String())
	}
}

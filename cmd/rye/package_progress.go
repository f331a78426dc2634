package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/packages"
)

// progress is one line on the terminal that shows how many bundles are fetched
// and installed. Without a terminal it prints nothing.
type progress struct {
	ui    *cli.UI
	on    bool
	mu    sync.Mutex
	begun map[string]bool
	ended map[string]bool
	drawn bool
}

func newProgress(c *cli.Call) *progress {
	on := !c.UI.AsJSON && !c.UI.Quiet && c.Isatty != nil && c.Isatty(c.Stderr) && c.Getenv("TERM") != "dumb"
	return &progress{ui: c.UI, on: on, begun: map[string]bool{}, ended: map[string]bool{}}
}

// event updates the line.
func (p *progress) event(e packages.Event) {
	if !p.on {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := e.ID + "@" + e.Version
	switch e.Stage {
	case packages.Waiting:
	case packages.Fetched, packages.Installed:
		p.begun[key], p.ended[key] = true, true
	default:
		p.begun[key] = true
	}
	const width = 20
	filled := 0
	if len(p.begun) > 0 {
		filled = width * len(p.ended) / len(p.begun)
	}
	line := fmt.Sprintf("[%s%s] %d/%d %s %s", strings.Repeat("=", filled), strings.Repeat(" ", width-filled), len(p.ended), len(p.begun), e.Stage, hidden.Visible(e.ID))
	if w := cli.TerminalWidth(p.ui.Stderr); w > 1 && len(line) >= w {
		line = line[:w-1]
	}
	fmt.Fprintf(p.ui.Stderr, "\r\x1b[K%s", line)
	p.drawn = true
}

// clear removes the line.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.ui.Stderr, "\r\x1b[K")
		p.drawn = false
	}
}

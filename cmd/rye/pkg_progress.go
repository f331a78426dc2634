package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/resolve/space"
)

// progress is one line at the terminal that says how far the bundles are. Off a
// terminal it is silent.
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

// openEngine opens the bundles of the space that --space names and shows how far
// they are. The engine's close must follow.
func openEngine(ctx context.Context, c *cli.Call) (*project.Packages, error) {
	bar := newProgress(c)
	return envOf(c).Packages(ctx, project.PackagesParams{Space: space.Name(c.Str("space")), Progress: bar.event, Done: bar.clear})
}

// event draws the line anew.
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

// clear takes the line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.ui.Stderr, "\r\x1b[K")
		p.drawn = false
	}
}

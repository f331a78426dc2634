package env

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/packages"
)

// progress is one line on the terminal that shows how many bundles are fetched
// and installed. Without a terminal it prints nothing.
type progress struct {
	ui    *cli.UI
	On    bool
	mu    sync.Mutex
	begun map[string]bool
	ended map[string]bool
	drawn bool
	wait  *time.Timer // draws the line about another process
}

func NewProgress(c *cli.Call) *progress {
	on := !c.UI.AsJSON &&
		!c.UI.Quiet &&
		c.Isatty != nil &&
		c.Isatty(c.Stderr) &&
		!c.PlainTerminal()
	return &progress{
		ui:    c.UI,
		On:    on,
		begun: map[string]bool{},
		ended: map[string]bool{},
	}
}

// waitShown is the time after which a person reads that rye waits for another process. A
// command begins with the wait, which ends at once if no other process runs.
const waitShown = 300 * time.Millisecond

// event updates the line.
func (p *progress) event(e packages.Event) {
	if !p.On {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endWait()
	key := e.ID + "@" + e.Version
	switch e.Stage {
	case packages.Waiting:
		var wait *time.Timer
		wait = time.AfterFunc(waitShown, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.wait == wait {
				p.draw("waiting for another rye")
			}
		})
		p.wait = wait
		return
	case packages.Resolving: // its version is not known, so it is not one of those that are counted
		p.draw(fmt.Sprintf("%s %s", e.Stage, hidden.Visible(e.ID)))
		return
	case packages.Fetched, packages.Installed:
		p.begun[key], p.ended[key] = true, true
	default:
		p.begun[key] = true
	}
	const width = 20
	filled := width * len(p.ended) / len(p.begun)
	p.draw(fmt.Sprintf(
		"[%s%s] %d/%d %s %s",
		strings.Repeat("=", filled),
		strings.Repeat(" ", width-filled),
		len(p.ended),
		len(p.begun),
		e.Stage,
		hidden.Visible(e.ID),
	))
}

// draw replaces the line.
func (p *progress) draw(line string) {
	if w := cli.TerminalWidth(p.ui.Stderr); w > 1 {
		line = inline.Cut(line, w-1)
	}
	fmt.Fprintf(p.ui.Stderr, "\r\x1b[K%s", line)
	p.drawn = true
}

func (p *progress) endWait() {
	if p.wait != nil {
		p.wait.Stop()
		p.wait = nil
	}
}

// clear removes the line.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endWait()
	if p.drawn {
		fmt.Fprint(p.ui.Stderr, "\r\x1b[K")
		p.drawn = false
	}
}

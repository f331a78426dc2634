package watch

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/every"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/liveview"
	"github.com/ryeos/rye/internal/termkeys"
	"github.com/ryeos/rye/internal/vtmode"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/transcript"
)

// followPause is the time between two reads of a log that grows.
const followPause = 200 * time.Millisecond

// The times after which a line states what runs, where no block does.
const (
	silenceCI    = 30 * time.Second
	SilencePlain = 60 * time.Second
)

// live shows threads and runs on a stream of a command while they work.
type live struct {
	c      *cli.Call
	screen *inline.Writer
	view   *liveview.View
	tree   *activity.Tree
	dir    string // of the project

	children map[string]*transcript.Reader
	stop     func() // ends the reading of the logs of children, nil without it

	mu     sync.Mutex
	echo   func() // shows typed keys again, nil while they are shown
	closed bool
	stderr io.Writer // of the command until close, nil if the view does not have it
}

// TerminalOf returns the facts that decide how output appears on a stream.
func TerminalOf(c *cli.Call, stream any) *inline.Terminal {
	tty := c.Isatty != nil && c.Isatty(stream)
	return &inline.Terminal{
		Isatty: tty,
		CI:     env.Of(c).InCI(),
		Quiet:  c.UI.Quiet,
		Plain:  c.Plain || tty && c.PlainTerminal(),
	}
}

// newLive takes stderr until close is called: what else is printed there passes the writer.
func newLive(c *cli.Call, dir string, tree *activity.Tree, o liveview.Params) *live {
	v := &live{
		c:        c,
		tree:     tree,
		dir:      dir,
		children: map[string]*transcript.Reader{},
		stderr:   c.UI.Stderr,
	}
	v.screen = inline.New(inline.Params{Out: vtmode.Writer(v.stderr), Mode: TerminalOf(c, c.Stderr).Mode(), Size: func() (int, int) {
		return cli.TerminalSize(c.Stderr)
	}})
	v.show(o, c.UI.ErrColor())
	c.UI.Stderr = v.screen
	c.UI.Screen = v
	return v
}

// show begins to draw the tree.
func (v *live) show(o liveview.Params, color bool) {
	o.Screen = v.screen
	o.Color = color
	o.Tree = v.tree
	switch v.screen.Mode() {
	case inline.Appended:
		if env.Of(v.c).InCI() {
			o.Silence = silenceCI
		}
	case inline.Plain:
		o.Silence = SilencePlain
	}
	v.hideTyped()
	o.Whole = func(log string, call int) string {
		return fmt.Sprintf("rye threads show %s --call %d", cli.RunWord(v.c, log), call)
	}
	o.Named = func(id string) string {
		return cli.RunLabel(v.c, id)
	}
	v.view = liveview.New(o)
	v.view.Start()
}

// hideTyped keeps typed keys out of the block until showTyped is called.
func (v *live) hideTyped() {
	v.mu.Lock()
	defer v.mu.Unlock()
	f, isFile := v.c.Stdin.(*os.File)
	if isFile &&
		!v.closed &&
		v.echo == nil &&
		v.screen.Mode() == inline.Live &&
		v.c.Isatty(f) {
		v.echo = termkeys.HideTyped(f)
	}
}

func (v *live) showTyped() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.echo != nil {
		v.echo()
		v.echo = nil
	}
}

// Suspend frees the screen for a question, and shows its answer while it is typed.
func (v *live) Suspend() (resume func()) {
	draw := v.screen.Suspend()
	v.showTyped()
	return func() {
		v.hideTyped()
		draw()
	}
}

// line takes a line of a log.
func (v *live) line(log string, l *transcript.Line) {
	whole, err := transcript.Whole(v.dir, log, l)
	if err != nil {
		whole = l // what is missing is an error where the line is used
	}
	v.view.Line(log, whole)
}

// follow shows what the threads do that this one has started.
func (v *live) follow() {
	if v.screen.Mode() != inline.Live {
		return
	}
	v.stop = every.Start(followPause, func(time.Time) { v.below() })
}

// below reads what was added to the logs of the children.
func (v *live) below() {
	for _, id := range v.view.Runs() {
		r := v.children[id]
		if r == nil {
			r = transcript.NewReader(v.dir, id)
			v.children[id] = r
		}
		_ = r.Next(func(l *transcript.Line) error { v.view.Line(id, l); return nil }) // shown as far as it can be read
	}
}

// close ends the view and returns stderr, if the view has it.
func (v *live) close() {
	if v.stop != nil {
		v.stop()
		v.stop = nil
	}
	v.view.Close()
	v.mu.Lock()
	v.closed = true // a question may end later
	v.mu.Unlock()
	v.showTyped()
	if v.stderr != nil {
		v.c.UI.Stderr = v.stderr
		v.c.UI.Screen = nil
	}
}

// Package liveview draws the blocks of threads and runs for a person: while they happen, and
// later from their logs, in the same way.
//
// It asks nothing and decides nothing: questions are asked by its caller, for which the
// screen is freed. It reads no logs.
package liveview

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/every"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/mdterm"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/transcript"
)

// modelWait is how long a call of the model lasts before it has a line, and shortWait the rest
// of a wait for a service that has none.
const (
	modelWait = time.Second
	shortWait = 2 * time.Second
)

// Params configure a view.
type Params struct {
	Screen *inline.Writer
	Color  bool
	Tree   *activity.Tree
	Now    func() time.Time
	// Whole prints the command that prints a whole call; "" leaves it out.
	Whole func(log string, call int) string
	// Named returns the name of a thread or run for a person; nil: its id.
	Named func(id string) string
	// Silence is after how long of silence a line states what runs, in modes without a
	// block; 0 is never.
	Silence time.Duration
	// Only selects the printed blocks; nil prints all. Full prints whole calls and the reasoning.
	Only func(*activity.Block) bool
	Full bool
	// Ends: the view prints how the thread or run ended. Questions: it prints those that
	// wait for an answer.
	Ends, Questions bool
}

// View draws one tree. Its methods may be called at the same time.
type View struct {
	p    Params
	mode inline.Mode

	mu      sync.Mutex
	text    *mdterm.Stream
	texts   *activity.Block // the text that arrives
	printed time.Time       // when the last line was
	stated  time.Time       // when a line last stated what runs
	stop    func()          // ends the drawing with time, nil without it
}

// New returns a view of a tree. Start must be called for what changes with time.
func New(p Params) *View {
	if p.Now == nil {
		p.Now = time.Now
	}
	v := &View{p: p, mode: p.Screen.Mode()}
	v.text = mdterm.New(v.style())
	v.printed = p.Now()
	return v
}

// style is how texts are drawn: at a terminal wrapped at words; Markdown marks only where the
// cursor moves, too.
func (v *View) style() mdterm.Style {
	columns, _ := v.p.Screen.Size()
	switch v.mode {
	case inline.Live:
		return mdterm.Style{Width: columns - 1, Marks: true, Color: v.p.Color}
	case inline.Plain:
		return mdterm.Style{Width: columns - 1}
	}
	return mdterm.Style{}
}

// Start draws the block again when time changes it, until Close.
func (v *View) Start() {
	if v.stop != nil ||
		v.mode == inline.Quiet ||
		v.mode != inline.Live && v.p.Silence == 0 {
		return
	}
	pause := 100 * time.Millisecond
	if v.mode != inline.Live {
		pause = time.Second
	}
	v.stop = every.Start(pause, v.Tick)
}

// Tick draws what has changed with time.
func (v *View) Tick(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mode == inline.Live {
		v.p.Screen.Block(v.block(now))
		v.p.Screen.Draw()
		return
	}
	since := v.printed
	if v.stated.After(since) {
		since = v.stated
	}
	if v.p.Silence > 0 && now.Sub(since) >= v.p.Silence {
		if line := v.running(now); line != "" {
			v.stated = now
			v.p.Screen.Append(line)
		}
	}
}

// Close prints what is not finished and removes the block.
func (v *View) Close() {
	if v.stop != nil {
		v.stop()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stop = nil
	v.textEnds()
	v.p.Screen.Close()
}

// Head prints the first block of a thread whose log began before.
func (v *View) Head(l *transcript.Line) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changes(v.p.Tree.Head(l))
}

// Line takes a line of a log.
func (v *View) Line(log string, l *transcript.Line) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changes(v.p.Tree.Add(log, l))
}

// Runs returns the ids of the threads and runs below this one that may work.
func (v *View) Runs() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.p.Tree.Runs()
}

// Ending returns the id below a node that a line of a log ends, "" if it ends none with one.
func (v *View) Ending(log string, l *transcript.Line) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.p.Tree.Ending(log, l)
}

// Lock keeps the view from drawing while f prints.
func (v *View) Lock(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.textEnds()
	f()
}

func (v *View) changes(list []activity.Change) {
	var out []string
	for _, c := range list {
		out = append(out, v.change(&c)...)
	}
	if len(out) > 0 {
		v.printed = v.p.Now()
	}
	if v.mode != inline.Live {
		v.p.Screen.Append(out...)
		return
	}
	v.p.Screen.Print(out, v.block(v.p.Now()))
}

// change returns the lines that a change adds for good.
func (v *View) change(c *activity.Change) []string {
	b := c.Block
	if b.Depth > 0 && b.Kind != activity.Node && b.Kind != activity.Question { // a line of the block states what it does
		return nil
	}
	if v.p.Only != nil && !v.p.Only(b) {
		return nil
	}
	if b.Kind == activity.Text {
		return v.piece(c)
	}
	var out []string
	if c.Ended {
		out = v.textLines()
	}
	switch {
	case b.Kind == activity.Question && (!c.Ended || v.p.Questions):
		if v.p.Questions {
			out = append(out, v.question(b, c.Ended)...)
		}
	case !c.Ended:
		if b.Kind == activity.Call && b.Printed == 0 && v.mode == inline.Plain {
			out = append(out, v.begins(b))
		}
	case b.Kind == activity.Reasoning && v.p.Full:
		out = append(out, v.reasoning(b)...)
	case b.Kind == activity.Head:
		out = append(out, v.head(b)...)
	case b.Kind == activity.Call:
		out = append(out, v.call(b)...)
	case b.Kind == activity.Turn:
		out = append(out, v.turn(b)...)
	case b.Kind == activity.Note:
		out = append(out, v.note(b)...)
	case b.Kind == activity.Node:
		out = append(out, v.node(b))
	case b.Kind == activity.End && v.p.Ends:
		out = append(out, v.end(b)...)
	}
	return out
}

// piece adds to the text that arrives.
func (v *View) piece(c *activity.Change) []string {
	var out []string
	if v.texts != c.Block && c.Piece != "" {
		out = v.textLines()
		v.texts = c.Block
		if v.mode == inline.Plain {
			out = append(out, "Assistant:")
		}
	}
	v.text.Resize(v.style().Width)
	out = append(out, v.text.Add(c.Piece)...)
	if c.Ended {
		out = append(out, v.textLines()...)
	}
	return out
}

// textLines ends the text that arrived.
func (v *View) textLines() []string {
	if v.texts == nil {
		return nil
	}
	v.texts = nil
	v.text.Resize(v.style().Width)
	return v.text.End()
}

func (v *View) textEnds() {
	if out := v.textLines(); len(out) > 0 {
		v.p.Screen.Append(out...)
	}
}

// block returns the lines of the block: the unfinished text, what runs, and the state of the
// thread.
func (v *View) block(now time.Time) []string {
	t := v.p.Tree
	if t.State != "" {
		return nil
	}
	columns, _ := v.p.Screen.Size()
	width := columns - 1
	rows := v.p.Screen.Rows()
	open := t.Live()
	var lines, outputs []string
	lines = v.open(open, now, width, &outputs)
	if line := v.model(now); line != "" {
		lines = append(lines, line)
	}
	status := v.status(now)
	free := rows - len(lines) - 1
	if free > 0 && len(outputs) > 0 { // below the newest call, which is the first line
		outputs = outputs[max(0, len(outputs)-free):]
		lines = append(lines[:1:1], append(outputs, lines[1:]...)...)
		free -= len(outputs)
	}
	var text []string
	if free > 0 && v.texts != nil {
		text = v.text.Live()
		text = text[max(0, len(text)-free):]
	}
	out := append(text, lines...)
	if len(out) > rows-1 {
		out = out[:rows-1]
	}
	return append(out, status)
}

// maxOpen is how many lines the block has of what runs.
const maxOpen = 5

// open returns a line for each of the newest blocks that are open, and the last lines that the
// newest call printed.
func (v *View) open(
	list []*activity.Block,
	now time.Time,
	width int,
	outputs *[]string,
) []string {
	var out []string
	most := max(1, min(maxOpen, v.p.Screen.Rows()-2))
	children := map[string]bool{}
	for _, b := range list {
		if b.Kind == activity.Child {
			children[b.Args+b.Title] = true
		}
	}
	more := 0
	for i := len(list) - 1; i >= 0; i-- {
		b := list[i]
		if b.Kind == activity.Question ||
			b.Kind == activity.Call && b.Depth == 0 && children[b.Args+b.Title] {
			continue
		}
		if len(out) == most {
			more++
			continue
		}
		if len(out) == 0 && b.Kind == activity.Call {
			for _, l := range b.Output[max(0, len(b.Output)-3):] {
				*outputs = append(*outputs, v.dim("  "+inline.Cut(printable(l), width-2)))
			}
		}
		out = append(out, v.openLine(b, now, width))
	}
	if more > 0 {
		out = append(out, v.dim(fmt.Sprintf("… %d more", more)))
	}
	return out
}

func (v *View) openLine(b *activity.Block, now time.Time, width int) string {
	elapsed := fmt.Sprintf("%8s", seconds(b.Took(now)))
	switch b.Kind {
	case activity.Child:
		sub := v.p.Tree.Log(b.ID)
		state := "running"
		var spent policy.USD
		if sub != nil {
			spent = sub.Spent
			if open := sub.Live(); len(open) > 0 {
				last := open[len(open)-1]
				state = strings.TrimSpace(oneLine(last.Title) + " " + oneLine(last.Args))
			} else if sub.State != "" {
				state = sub.State
			}
		}
		return v.aligned(
			"◌ "+v.bold(oneLine(b.Args)),
			state,
			"$"+activity.Money(spent)+elapsed,
			width,
		)
	case activity.Node:
		name := oneLine(b.Title)
		indent := strings.Repeat("  ", b.Depth)
		if b.Total > 0 {
			what := fmt.Sprintf("%d/%d", b.Done, b.Total)
			n := min(b.AtOnce, b.Total-b.Done)
			if n > 0 {
				what += fmt.Sprintf(", %d running", n)
			}
			if b.Failures > 0 {
				what += fmt.Sprintf(", %d failed", b.Failures)
			}
			return v.aligned(indent+"◌ "+v.bold(name), what, elapsed, width)
		}
		detail := ""
		sub := v.p.Tree.Log(b.ID)
		if sub != nil && b.ID != "" && !sub.IsGraph() {
			if open := sub.Live(); len(open) > 0 {
				last := open[len(open)-1]
				detail = strings.TrimSpace(oneLine(last.Title) + " " + oneLine(last.Args))
			}
		}
		return v.aligned(
			indent+"◌ node "+position(b)+" "+v.bold(name),
			detail,
			elapsed,
			width,
		)
	}
	return v.aligned(
		"◌ "+v.bold(oneLine(b.Title)),
		oneLine(b.Args),
		elapsed,
		width,
	)
}

// position returns the number of a node, and of how many if the graph has no loop so far.
func position(b *activity.Block) string {
	if b.Nodes >= b.Number {
		return fmt.Sprintf("%d/%d", b.Number, b.Nodes)
	}
	return fmt.Sprint(b.Number)
}

// model returns the line of a call of the model that has no text yet.
func (v *View) model(now time.Time) string {
	t := v.p.Tree
	if left := t.Waiting(now); left >= shortWait {
		return v.dim("waiting for the service  " + left.Round(time.Second).String())
	}
	m := &t.Model
	since := now.Sub(m.Since)
	switch {
	case m.Since.IsZero() || m.Writing && m.Call == "" || since < modelWait:
		return ""
	case m.Call != "":
		return v.dim("writing a call of " + oneLine(m.Call) + "  " + seconds(since))
	case !m.Thinking.IsZero():
		return v.dim("thinking " + seconds(now.Sub(m.Thinking)))
	}
	return v.dim(oneLine(m.Name) + "  " + seconds(since))
}

// status returns the last line of the block.
func (v *View) status(now time.Time) string {
	t := v.p.Tree
	if t.IsGraph() {
		text := ""
		if spent := t.Spend(); spent > 0 {
			text = "$" + activity.Money(spent) + "  "
		}
		return v.dim(text + "ctrl-c stops")
	}
	text := fmt.Sprintf(
		"turn %d  %s tok  $%s",
		max(t.Turn, 1),
		activity.Thousands(t.Tokens),
		activity.Money(t.Spent),
	)
	if t.Model.Reserved > 0 {
		text += fmt.Sprintf(" (+%s reserved)", activity.Money(t.Model.Reserved))
	}
	columns, _ := v.p.Screen.Size()
	if inline.Width(text)+len(stops) < columns {
		text += stops
	}
	return v.dim(text)
}

// stops is at the end of the last line, if it fits.
const stops = "  ctrl-c stops"

// running returns the line that states what runs after a silence, "" if nothing does.
func (v *View) running(now time.Time) string {
	if left := v.p.Tree.Waiting(now); left >= shortWait {
		return fmt.Sprintf("still waiting for the service, %s left", left.Round(time.Second))
	}
	open := v.p.Tree.Live()
	for i := len(open) - 1; i >= 0; i-- {
		b := open[i]
		if b.Kind == activity.Call ||
			b.Kind == activity.Node ||
			b.Kind == activity.Child {
			return fmt.Sprintf("still running, %s: %s", seconds(b.Took(now)), strings.TrimSpace(
				oneLine(b.Title)+" "+inline.Cut(oneLine(b.Args), 60),
			))
		}
	}
	if m := v.p.Tree.Model; !m.Since.IsZero() {
		return fmt.Sprintf("still running, %s: %s", seconds(now.Sub(m.Since)), oneLine(m.Name))
	}
	return ""
}

package run

import (
	"bytes"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/proc"
)

// toolOutput prints the output of a running tool as it arrives. Output that begins
// with "{" may be one JSON object and is printed by finish, as the result.
type toolOutput struct {
	ui    *cli.UI
	live  *liveLine
	begun bool
	whole bool   // stdout may be one JSON object
	last  []byte // a line that may be the result, until another follows
	held  bool
}

func newToolOutput(c *cli.Call) *toolOutput {
	return &toolOutput{ui: c.UI, live: newLiveLine(c)}
}

func (o *toolOutput) line(s proc.Stream, line []byte) {
	if s == proc.Stdout {
		o.stdout(line)
	} else if !o.ui.Quiet {
		o.live.line(s, line)
	}
}

func (o *toolOutput) stdout(line []byte) {
	text := bytes.TrimSpace(line)
	if !o.begun && len(text) > 0 {
		o.begun = true
		o.whole = text[0] == '{'
	}
	if o.whole || o.ui.AsJSON {
		return
	}
	o.print()
	if o.held = len(text) > 1 &&
		text[0] == '{' &&
		text[len(text)-1] == '}'; o.held {
		o.last = append(o.last[:0], line...)
		return
	}
	o.write(line)
}

// print prints the line that was held back.
func (o *toolOutput) print() {
	if o.held {
		o.write(o.last)
	}
	o.held = false
}

func (o *toolOutput) write(line []byte) {
	o.live.clear()
	o.ui.Out("%s", cli.Line(string(bytes.ToValidUTF8(line, []byte("\uFFFD")))))
	_ = o.ui.Flush() // the end of the command reports a full disk
}

// finish prints what of the result is not printed yet.
func (o *toolOutput) finish(data map[string]any, ok bool) {
	switch {
	case o.begun && !o.whole:
		o.print()
	case ok:
		showToolResult(o.ui, data)
	default:
		showToolText(o.ui, data) // the output before the failure
	}
}

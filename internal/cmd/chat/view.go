package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/liveview"
	"github.com/ryeos/rye/internal/session"
	"github.com/ryeos/rye/internal/vtmode"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// shownTurns is how many turns of a conversation that continues are printed again.
const shownTurns = 2

// view draws a conversation.
type view struct {
	c       *cli.Call
	s       *session.Session
	screen  *inline.Writer
	log     string // the thread that is drawn
	tree    *activity.Tree
	live    *liveview.View
	sent    map[string]bool // messages of this process, which are on the screen
	typed   bool            // the first message is on the screen
	context int64           // tokens of the newest call of the model
	entry   string          // the message of the inbox that the log has begun
}

func newView(c *cli.Call, s *session.Session) *view {
	v := &view{c: c, s: s, sent: map[string]bool{}}
	v.screen = inline.New(inline.Params{
		Out:  vtmode.Writer(c.Stdout),
		Mode: inline.Plain,
		Size: func() (int, int) {
			return cli.TerminalSize(c.Stdout)
		},
	})
	return v
}

// draws begins to draw a thread.
func (v *view) draws(log string) {
	v.stop()
	v.log = log
	// Each thread of a chain has a log, and so a tree, of its own.
	v.tree = activity.New(activity.Start{ThreadID: log})
}

// starts draws what follows.
func (v *view) starts() {
	if v.live != nil || v.tree == nil {
		return
	}
	v.live = liveview.New(liveview.Params{
		Screen:    v.screen,
		Color:     v.c.UI.Color(),
		Tree:      v.tree,
		Silence:   watch.SilencePlain,
		Questions: false,
		Named: func(id string) string {
			return cli.RunLabel(v.c, id)
		},
		Whole: func(log string, call int) string {
			return fmt.Sprintf("rye threads show %s --call %d", cli.RunWord(v.c, log), call)
		},
		Only: func(b *activity.Block) bool {
			return b.Kind != activity.Head && !b.FromPerson
		},
	})
	v.live.Start()
}

func (v *view) stop() {
	if v.live != nil {
		v.live.Close()
		v.live = nil
	}
}

// line draws a line of the log.
func (v *view) line(log string, l *transcript.Line) {
	if log != v.log {
		v.draws(log)
	}
	v.starts()
	v.person(l)
	v.counts(l)
	if l.Event == "thread_resumed" { // each message can begin a process
		v.tree.Add(log, l)
		return
	}
	v.live.Line(log, l)
}

// visibleLines returns a text whose lines steer no terminal.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = hidden.Visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

// counts takes the tokens of a call of the model.
func (v *view) counts(l *transcript.Line) {
	var d struct {
		Usage message.Usage `json:"usage"`
	}
	if l.Event == "model_response" && l.Decode(&d) == nil {
		v.context = d.Usage.Total()
	}
}

// person prints a message of the person that is not on the screen.
func (v *view) person(l *transcript.Line) {
	if l.Event == "inbox" {
		var d struct {
			ID string `json:"id"`
		}
		_ = l.Decode(&d) // what it does not have is ""
		v.entry = d.ID
		return
	}
	text := personText(l)
	if text == "" {
		return
	}
	typed := v.sent[v.entry] || l.Event == "thread_started" && v.typed
	v.entry = ""
	if !typed {
		v.screen.Append("You: " + visibleLines(text))
	}
}

// personText returns the message of a person that a line has, "" if it has none.
func personText(l *transcript.Line) string {
	switch l.Event {
	case "thread_started":
		var d struct {
			Inputs struct {
				Prompt string `json:"prompt"`
			} `json:"inputs"`
			Carried *struct {
				Continues string `json:"continues"`
				Text      string `json:"text"`
			} `json:"carried"`
		}
		switch {
		case l.Decode(&d) != nil:
		case d.Carried != nil && d.Carried.Continues != "":
		case d.Carried != nil:
			return d.Carried.Text
		default:
			return d.Inputs.Prompt
		}
	case "message_added":
		var d struct {
			Source string          `json:"source"`
			Blocks []message.Block `json:"blocks"`
		}
		if l.Decode(&d) != nil || d.Source != "person" {
			return ""
		}
		for _, b := range d.Blocks {
			if b.Type == message.Text && b.Text != "" {
				return b.Text
			}
		}
	}
	return ""
}

// before reads what the log has, and prints the last turns of it.
func (v *view) before(ctx context.Context) error {
	type logged struct {
		log  string
		line transcript.Line
	}
	var lines []logged
	take := func(log string, l *transcript.Line) {
		lines = append(lines, logged{log, *l})
	}
	if id := v.s.Follows(); id != "" { // its log does not grow
		err := transcript.NewReader(
			v.s.Project().Spaces.ProjectDir,
			id,
		).Next(func(l *transcript.Line) error {
			take(id, l)
			return nil
		})
		if err != nil {
			return err
		}
	}
	err := v.s.Read(ctx, take)
	if err != nil {
		return err
	}
	// The turns before are read by the tree only, for the numbers of calls and the cost.
	from := len(lines)
	for turns := 0; from > 0 && turns < shownTurns; {
		from--
		if personText(&lines[from].line) != "" {
			turns++
		}
	}
	for i := range lines {
		l := &lines[i]
		if i < from {
			if l.log != v.log {
				v.draws(l.log)
			}
			v.tree.Add(l.log, &l.line)
			continue
		}
		v.line(l.log, &l.line)
	}
	return nil
}

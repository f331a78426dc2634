package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/dialog"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/session"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/transcript"
)

// typedPrompt is before each message in plain mode.
const typedPrompt = "You: "

// typedLine is a line of the person.
type typedLine struct {
	text string
	at   time.Time
	err  error // the input ended
}

// plainChat is a conversation where the terminal only appends lines.
type plainChat struct {
	*view
	lines   chan typedLine
	signals chan os.Signal
	changed chan error // the log may have grown
	asked   map[string]bool
	open    bool // the prompt is the last line on the screen
}

// plain runs the conversation until the person leaves.
func (v *view) plain(ctx context.Context, first string) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // an interrupt stops a turn
	defer cancel()
	p := &plainChat{
		view:    v,
		lines:   make(chan typedLine),
		signals: make(chan os.Signal, 4),
		changed: make(chan error),
		asked:   map[string]bool{},
	}
	signal.Notify(p.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(p.signals)
	defer v.stop()
	if err := v.before(ctx); err != nil {
		return err
	}
	if first != "" {
		v.screen.Append(typedPrompt + visibleLines(first))
		if err := p.send(ctx, first); err != nil {
			return err
		}
	} else if v.s.ID() == "" {
		v.screen.Append("A conversation. /help lists the commands, Ctrl-D leaves.")
	}
	// One goroutine reads the input and one waits for the log; this one does everything else.
	go p.read(ctx)
	go p.watch(ctx)
	err := p.loop(ctx)
	v.stop()
	if id := v.s.ID(); id != "" {
		v.screen.Append("rye chat --resume " + cli.RunWord(v.c, id))
	}
	return err
}

// read passes the lines of the input.
func (p *plainChat) read(ctx context.Context) {
	in := bufio.NewReader(p.c.Stdin)
	for {
		text, err := in.ReadString('\n')
		if err != nil && text != "" { // the input ended while it was typed
			text = ""
		}
		l := typedLine{
			text: strings.TrimRight(text, "\r\n"),
			at:   time.Now(),
			err:  err,
		}
		select {
		case p.lines <- l:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (p *plainChat) watch(ctx context.Context) {
	for {
		err := p.s.Wait(ctx)
		select {
		case p.changed <- err:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

var errLeave = errors.New("the person leaves")

func (p *plainChat) loop(ctx context.Context) error {
	var interrupted time.Time
	for {
		if err := p.step(ctx); err != nil {
			if errors.Is(err, errLeave) {
				return nil
			}
			return err
		}
		select {
		case err := <-p.changed:
			if err != nil {
				return err
			}
		case l := <-p.lines:
			p.open = false
			if err := p.line(ctx, l); errors.Is(err, errLeave) {
				return nil
			} else if err != nil {
				p.fault(err)
			}
		case sig := <-p.signals:
			working := p.s.State() == session.Working
			if sig != os.Interrupt || !working || time.Since(interrupted) < 2*time.Second {
				p.end()
				return nil
			}
			interrupted = time.Now()
			if err := p.stopTurn(ctx); err != nil {
				p.fault(err)
			}
		}
	}
}

// end ends the line of the prompt.
func (p *plainChat) end() {
	if p.open {
		p.write("\n")
		p.open = false
	}
}

func (p *plainChat) write(text string) {
	fmt.Fprint(p.screen, text)
}

func (p *plainChat) print(lines ...string) {
	p.end()
	p.screen.Append(lines...)
}

func (p *plainChat) fault(err error) {
	p.end()
	p.c.UI.Warn("%s", err.Error())
}

// step draws the new lines, asks the open questions, and shows the prompt if the model has answered.
func (p *plainChat) step(ctx context.Context) error {
	var grown []loggedLine
	err := p.s.Read(ctx, func(log string, l *transcript.Line) {
		grown = append(grown, loggedLine{log, *l})
	})
	if err != nil {
		return err
	}
	if len(grown) > 0 && p.shows(grown) {
		p.end()
	}
	for i := range grown {
		p.view.line(grown[i].log, &grown[i].line)
	}
	if err := p.s.Run(ctx); err != nil {
		p.fault(err)
	}
	if p.s.Lost(ctx) {
		p.print("The process of the thread has ended. It is continued.")
		if err := p.s.Resume(ctx); err != nil {
			return err
		}
	}
	if err := p.questions(ctx); err != nil {
		return err
	}
	if p.s.State() == session.Working || p.open {
		return nil
	}
	if p.live != nil {
		p.live.Lock(func() {}) // a text that has not ended
	}
	// The prompt is the last line until a line is typed, or something else is printed.
	p.rest()
	p.write(typedPrompt)
	p.open = true
	return nil
}

// loggedLine is a line of a log.
type loggedLine struct {
	log  string
	line transcript.Line
}

// shows reports whether lines of the log print something.
func (p *plainChat) shows(lines []loggedLine) bool {
	for i := range lines {
		switch lines[i].line.Event {
		case "message_awaited", "thread_suspended", "checkpoint", "inbox":
			continue
		}
		if strings.HasPrefix(lines[i].line.Event, "node_") ||
			strings.HasPrefix(lines[i].line.Event, "graph_") {
			continue
		}
		return true
	}
	return false
}

// rest prints how the turn ended, if it does not wait for a message only.
func (p *plainChat) rest() {
	r := p.s.Rest()
	switch {
	case p.s.State() != session.Resting || r.Event == "":
	case r.Event == "thread_cancelled":
		p.print("Stopped.")
	case r.Error != nil:
		p.print("The turn failed: " + visibleLines(r.Error.Message))
	case r.Ask != nil && r.Reason != threads.ByApproval:
		p.print("Question: " + visibleLines(r.Ask.Question))
		if r.Ask.Limit != "" {
			p.print("/limit " + r.Ask.Limit + "=VALUE raises the limit and continues.")
		}
	case r.Event == "thread_completed":
		p.print("The directive has returned its outputs. The next message continues in a new thread.")
	}
}

func (p *plainChat) send(ctx context.Context, text string) error {
	// The state before Send: afterwards a message is always queued.
	queued := p.s.State() == session.Working
	if p.s.ID() == "" || p.s.State() == session.Fresh {
		p.typed = true
	}
	if err := p.s.Send(ctx, text); err != nil {
		return err
	}
	if list := p.s.Queued(); len(list) > 0 {
		p.sent[list[len(list)-1].ID] = true
	}
	if queued {
		p.print("Queued: the model reads it before its next step.")
	}
	return nil
}

func (p *plainChat) stopTurn(ctx context.Context) error {
	p.print("Stopping the turn. Ctrl-C again leaves.")
	return p.s.Stop(ctx)
}

// line takes a line that the person typed.
func (p *plainChat) line(ctx context.Context, l typedLine) error {
	switch {
	case l.err != nil:
		p.write("\n")
		return errLeave
	case strings.TrimSpace(l.text) == "":
		return nil
	case !strings.HasPrefix(l.text, "/"):
		return p.send(ctx, l.text)
	}
	out, message, err := p.command(ctx, l.text)
	if err != nil {
		return err
	}
	p.print(out...)
	if message != "" {
		return p.send(ctx, message)
	}
	return nil
}

// questions asks what the thread asks about its calls.
func (p *plainChat) questions(ctx context.Context) error {
	open, err := p.s.Questions()
	if err != nil {
		return err
	}
	for i := range open {
		// A question is asked once by this client: an answer can take a moment to be in the log.
		q := &open[i]
		if p.asked[q.ID] {
			continue
		}
		if p.live != nil {
			p.live.Lock(func() {})
		}
		p.end()
		about := threadhost.OpenAsked(ctx, p.s.Project(), p.s.ID(), q)
		about.Queue = func() (int, int) {
			return i + 1, len(open)
		}
		a, err := dialog.Words(
			ctx,
			p.answer(ctx, q),
			ask.CallQuestion(p.c, about),
		)
		if errors.Is(err, errAnswered) {
			p.asked[q.ID] = true
			return nil
		}
		if err != nil {
			return err
		}
		p.asked[q.ID] = true
		err = p.s.Answer(ctx, q, ask.ReplyTo(a))
		if err != nil {
			p.fault(err)
		}
	}
	return nil
}

var errAnswered = errors.New("another surface answered")

// answer returns the function that reads the answer to a question: a line that is typed after
// the question could be read.
func (p *plainChat) answer(ctx context.Context, q *threads.OpenQuestion) func(string) (string, error) {
	return func(prompt string) (string, error) {
		begin := time.Now().Add(p.c.QuestionGuard())
		p.write(prompt)
		p.open = true
		guard := time.NewTimer(p.c.QuestionGuard())
		defer guard.Stop()
		for {
			select {
			case l := <-p.lines:
				switch {
				case l.err != nil:
					p.end()
					return "", errLeave
				case l.at.Before(begin):
					p.print("discarded a line that was typed before this question")
					p.write(prompt)
					p.open = true
				default:
					p.open = false
					return strings.TrimSpace(l.text), nil
				}
			case <-guard.C:
				if f, ok := p.c.Stdin.(*os.File); ok && p.c.QuestionGuard() > 0 {
					proc.DropTyped(f)
				}
			case <-p.signals:
				p.end()
				return "", errLeave
			case err := <-p.changed:
				if err != nil {
					return "", err
				}
				r, err := threads.ReplyTo(
					p.s.Project().Spaces.ProjectDir,
					p.s.ID(),
					q.ID,
				)
				if err == nil && r != nil {
					p.print((&threads.Elsewhere{Reply: *r}).Error())
					return "", errAnswered
				}
			}
		}
	}
}

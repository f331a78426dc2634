package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// threadOptions are the flags of commands that run a thread.
type threadOptions struct {
	render, explain, events  bool
	limits                   []string
	model, provider, message string
}

func (o *threadOptions) flags() []cli.Flag {
	return []cli.Flag{
		cli.Strings(&o.limits, "limit", "limit of the thread as `NAME=VALUE`: turns, tokens, spend, duration_seconds"),
		cli.String(&o.model, "model", "the model, by its exact `ID`"),
		cli.String(&o.provider, "provider", "the provider item, by its `ID`"),
		cli.String(&o.message, "message", "a `TEXT` that the model reads after the directive"),
		cli.Bool(&o.events, "events", "print the events of the thread as JSON lines; -v adds those of the loop"),
		cli.Bool(&o.render, "render", "print what the model would read, and call none"),
		cli.Bool(&o.explain, "explain", "print what a directive may use and spend, and call no model"),
	}
}

// options returns what the project needs to start a thread.
func (o *threadOptions) options(c *cli.Call, call primary.Call) *project.ThreadOptions {
	return &project.ThreadOptions{
		Ref: call.Ref, Args: call.Args, Params: call.Params, Held: call.Held, Limits: o.limits, Model: o.model, Provider: o.provider,
		Message: o.message, Ask: askAboutRisk(c),
	}
}

// runThread does the work of a directive with a model.
func runThread(ctx context.Context, c *cli.Call, h *project.Project, req primary.Call, o *threadOptions) error {
	opts := o.options(c, req)
	show := newActivity(c, h, o.events)
	opts.Observe, opts.Started = show.line, show.started
	r, err := h.StartThread(ctx, opts)
	return show.end(r, err)
}

// activity shows a thread while it runs: events as JSON on stdout, or lines for people
// on stderr.
type activity struct {
	c      *cli.Call
	events bool
	debug  func(event string) bool

	mu     sync.Mutex
	id     string
	limits threads.Limits
	calls  map[string]string // names by the id of the call
	tokens int64
	spent  policy.USD
	open   bool // a line of streamed text has no end yet
	start  *project.PreparedThread
}

func newActivity(c *cli.Call, h *project.Project, events bool) *activity {
	if events {
		c.UI.AsJSON, c.UI.Lines = true, true
	}
	return &activity{c: c, events: events, debug: h.DebugEvents(), calls: map[string]string{}}
}

// started prints the first line: what runs, who signed it, and what it may spend.
func (a *activity) started(p *project.PreparedThread, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.limits, a.start = id, p.Limits, p
	for _, w := range p.Warnings {
		a.c.UI.Warn("%s (rye provider prices)", w)
	}
	if a.events {
		return
	}
	version := ""
	if v := p.Item.Meta.Version; v != "" {
		version = "@" + v
	}
	a.c.UI.Note("thread %s  %s%s signed by %s  %s  budget $%s", id, p.Ref, version, signerOf(p.Item), p.Services[0].Model, money(p.Limits.Spend))
}

// money renders an amount without the zeros at its end, but cents.
func money(usd policy.USD) string {
	whole, fraction, _ := strings.Cut(usd.String(), ".")
	fraction = strings.TrimRight(fraction, "0")
	for len(fraction) < 2 {
		fraction += "0"
	}
	return whole + "." + fraction
}

// threadEvent is a line of --events.
type threadEvent struct {
	ThreadID string          `json:"thread_id"`
	Seq      int64           `json:"seq"`
	Time     string          `json:"time"`
	Event    string          `json:"event"`
	Data     json.RawMessage `json:"data"`
}

func (a *activity) line(l transcript.Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.events {
		if !a.debug(l.Event) || a.c.UI.Detailed {
			_ = a.c.UI.Event(threadEvent{a.id, l.Seq, l.Time, l.Event, l.Data}) // a reader that is gone does not end the thread
		}
		return
	}
	if !a.c.UI.Quiet {
		a.person(&l)
	}
}

// person prints an event for people.
func (a *activity) person(l *transcript.Line) {
	switch l.Event {
	case "token_delta":
		var d message.Delta
		if l.Decode(&d) == nil && d.Kind == message.DeltaText && d.Text != "" {
			fmt.Fprint(a.c.UI.Stderr, streamed(d.Text))
			a.open = !strings.HasSuffix(d.Text, "\n")
		}
	case "tool_call":
		var d struct {
			CallID string          `json:"call_id"`
			Name   string          `json:"name"`
			Input  json.RawMessage `json:"input"`
		}
		if l.Decode(&d) == nil {
			a.calls[d.CallID] = strings.ReplaceAll(d.Name, "__", "/") + " " + shortened(string(d.Input), 80)
		}
	case "tool_result":
		var d struct {
			CallID   string `json:"call_id"`
			IsError  bool   `json:"is_error"`
			Duration int64  `json:"duration_ms"`
		}
		if l.Decode(&d) == nil {
			outcome := "ok"
			if d.IsError {
				outcome = "failed"
			}
			a.note("  %s  %s %s", a.calls[d.CallID], outcome, time.Duration(d.Duration)*time.Millisecond)
		}
	case "model_response":
		a.turn(l)
	case "model_error":
		a.failed(l)
	case "tool_denied", "limit_reached", "model_switched", "watchdog", "budget_warning":
		a.note("  %s %s", strings.ReplaceAll(l.Event, "_", " "), shortened(string(l.Data), 200))
	}
}

func (a *activity) turn(l *transcript.Line) {
	var d struct {
		Turn  int64         `json:"turn"`
		Usage message.Usage `json:"usage"`
		Cost  policy.USD    `json:"cost"`
	}
	if l.Decode(&d) != nil {
		return
	}
	a.tokens += d.Usage.Total()
	a.spent += d.Cost
	a.note("turn %d/%d  %s tok  $%s/$%s", d.Turn, a.limits.Turns, thousands(a.tokens), money(a.spent), money(a.limits.Spend))
}

// failed prints a failed call of the model, and when the next attempt is made.
func (a *activity) failed(l *transcript.Line) {
	var d struct {
		Attempt  int64  `json:"attempt"`
		Category string `json:"category"`
		Code     string `json:"code"`
		Message  string `json:"message"`
		RetryIn  *int64 `json:"retry_in_ms"`
	}
	if l.Decode(&d) != nil {
		return
	}
	next := ""
	if d.RetryIn != nil {
		wait := time.Duration(*d.RetryIn) * time.Millisecond
		next = fmt.Sprintf("; retry in %.3g s (attempt %d of %d)", wait.Seconds(), d.Attempt+1, a.start.Attempts)
	}
	what := strings.TrimSpace(d.Code + " " + d.Category)
	a.note("  model error  %s: %s%s", what, shortened(d.Message, 300), next)
}

// note ends a line of streamed text and prints another one.
func (a *activity) note(format string, args ...any) {
	if a.open {
		fmt.Fprintln(a.c.UI.Stderr)
		a.open = false
	}
	a.c.UI.Note(format, args...)
}

func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d.%dk", n/1000, n%1000/100)
}

// streamed makes a part of a text visible and leaves its ends of lines.
func streamed(s string) string {
	parts := strings.Split(s, "\n")
	for i, part := range parts {
		parts[i] = string(cli.Line(part))
	}
	return strings.Join(parts, "\n")
}

func shortened(s string, n int) string {
	s = string(cli.Line(s))
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// end prints the result of a thread and returns its error.
func (a *activity) end(r *threads.Result, err error) error {
	if r == nil {
		return err
	}
	u := a.c.UI
	data := map[string]any{"thread_id": r.ThreadID, "status": r.Status, "outputs": r.Outputs, "text": r.Text, "cost": r.Cost, "model": r.Model}
	if u.AsJSON {
		doc := diag.Envelope{Success: err == nil, Data: data, Metadata: map[string]any{"command": u.Command}}
		if err != nil {
			doc.Error = cli.Failure(diag.Typed(err))
		}
		if derr := u.Document(doc); derr != nil {
			return derr
		}
		if err != nil {
			return cli.Shown(err, nil)
		}
		return nil
	}
	if err == nil {
		if r.Outputs != nil {
			b, merr := jsonx.MarshalIndent(r.Outputs)
			if merr != nil {
				return merr
			}
			u.Raw(string(b))
		} else {
			u.Text(r.Text)
		}
	}
	a.note("thread %s %s  $%s", r.ThreadID, r.Status, money(r.Cost.Spend))
	return err
}

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
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/attach"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// threadOptions are the flags of commands that run a thread.
type threadOptions struct {
	render, explain, events  bool
	limits                   []string
	model, provider, message string
	noSuspend                bool
	replay, tools            string
	strict                   bool
	workspace                string
	attach                   []string
	carry                    bool
}

const limitUsage = "limit of the thread as `NAME=VALUE`: turns, tokens, spend, duration_seconds"

const attachUsage = "an image, PDF file, sound or text at `PATH` that the model reads; repeatable"

// attachments reads the files of --attach.
func (o *threadOptions) attachments(c *cli.Call) ([]message.Block, error) {
	var out []message.Block
	for _, path := range o.attach {
		b, err := attach.Read(c.Path(path))
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (o *threadOptions) flags() []cli.Flag {
	return []cli.Flag{
		cli.Strings(&o.limits, "limit", limitUsage),
		cli.String(&o.model, "model", "the model, by its exact `ID`"),
		cli.String(&o.provider, "provider", "the provider item, by its `ID`"),
		cli.String(&o.message, "message", "a `TEXT` that the model reads after the directive"),
		cli.Strings(&o.attach, "attach", attachUsage),
		cli.Bool(&o.noSuspend, "no-suspend", "fail instead of suspending the thread"),
		cli.Bool(&o.events, "events", "print the events of the thread or graph as JSON lines; -v adds those of the loop"),
		cli.Bool(&o.render, "render", "print what the model would read, and call none"),
		cli.Bool(&o.explain, "explain", "print what a directive may use and spend, and call no model"),
	}
}

// copyFlags choose where the tools of a new thread work.
func (o *threadOptions) copyFlags() []cli.Flag {
	return []cli.Flag{
		cli.String(&o.workspace, "workspace", "where the tools of a directive's thread work: `here`, read (they change no file), worktree (a copy of the project at HEAD) or copy (one of all its files)"),
		cli.Bool(&o.carry, "carry", "with --workspace worktree, begin with the uncommitted changes of tracked files"),
	}
}

// replayFlags are those of the command that can replay a thread.
func (o *threadOptions) replayFlags() []cli.Flag {
	return []cli.Flag{
		cli.String(&o.replay, "replay", "answer each call of the model from the log of a `THREAD`"),
		cli.String(&o.tools, "tools", "with --replay, `recorded` results of tools (the default), or run"),
		cli.Bool(&o.strict, "strict", "with --replay, fail if a request differs from the recorded one"),
	}
}

// options returns what the project needs to start a thread.
func (o *threadOptions) options(c *cli.Call, call primary.Call) *project.ThreadOptions {
	out := &project.ThreadOptions{
		Ref: call.Ref, Args: call.Args, Params: call.Params, Held: call.Held, Limits: o.limits, Model: o.model, Provider: o.provider,
		Message: o.message, AnyPath: true, NoSuspend: o.noSuspend, Workspace: o.workspace, Carry: o.carry, Ask: askAboutRisk(c), Decide: askAboutCall(c), Answer: askAboutThread(c),
	}
	if askAboutRisk(c) != nil {
		out.Permit = c.ConfirmWithin
	}
	return out
}

// runThread does the work of a directive with a model.
func runThread(ctx context.Context, c *cli.Call, h *project.Project, req primary.Call, o *threadOptions) error {
	opts := o.options(c, req)
	var err error
	if opts.Attach, err = o.attachments(c); err != nil {
		return err
	}
	show := newWatcher(c, h, o.events)
	if err := o.replays(h, opts, show); err != nil {
		return err
	}
	opts.Observe, opts.Started = show.line, show.started
	r, err := h.FollowDirective(ctx, opts)
	return show.end(r, err)
}

// replays sets the recording that answers a thread.
func (o *threadOptions) replays(h *project.Project, opts *project.ThreadOptions, show *watcher) error {
	if o.replay == "" {
		if o.tools != "" || o.strict {
			return diag.New(diag.Usage, "reading the command line: --tools and --strict apply to --replay only")
		}
		return nil
	}
	if o.tools != "" && o.tools != "recorded" && o.tools != "run" {
		return diag.New(diag.Usage, "reading --tools %q: it must be recorded or run", o.tools)
	}
	id, err := h.FindThread(o.replay)
	if err != nil {
		return err
	}
	r, err := threads.ReadRecording(h.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	show.replay = &replayView{Recording: id, Differences: []threads.Difference{}}
	opts.Replay = &threads.Replay{Recording: r, Strict: o.strict, RunTools: o.tools == "run", Differs: show.differs}
	return nil
}

// replayView is what the result of a thread states about its replay.
type replayView struct {
	Recording   string               `json:"recording"`
	Differences []threads.Difference `json:"differences"`
}

// differs prints a request that differs from the recorded one.
func (w *watcher) differs(d threads.Difference) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replay.Differences = append(w.replay.Differences, d)
	if !w.c.UI.AsJSON {
		w.c.UI.Warn("call %d of the model differs from the recorded one in its %s", d.Call, d.Part)
		for line := range strings.Lines(d.Diff) {
			w.note("%s", strings.TrimSuffix(line, "\n")) // each by itself: a text of the model is escaped
		}
	}
}

// watcher shows a thread while it runs: events as JSON on stdout, or lines for people
// on stderr.
type watcher struct {
	c      *cli.Call
	events bool
	debug  func(event string) bool

	before threads.Cost // of a thread that is resumed
	replay *replayView  // nil if it is not one

	mu   sync.Mutex
	id   string
	view *activity.View
	open bool // a line of streamed text has no end yet

	printed answerShown

	counting bool          // the last line of the terminal counts the time of a wait
	done     chan struct{} // ends the counting; nil if nothing counts
}

func newWatcher(c *cli.Call, h *project.Project, events bool) *watcher {
	if events {
		c.UI.AsJSON, c.UI.Lines = true, true
	}
	return &watcher{c: c, events: events, debug: h.DebugEvents()}
}

// started prints the warnings of the prices and the first line.
func (w *watcher) started(p *project.PreparedThread, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id = id
	for _, text := range p.Warnings {
		w.c.UI.Warn("%s (rye provider prices)", text)
	}
	before := w.before
	if p.Before.Turns > 0 {
		before = p.Before
	}
	w.view = activity.New(activity.Start{
		ThreadID: id, Ref: p.Ref, Version: p.Item.Meta.Version, Signer: p.Item.Verdict.Owner + " (" + p.Item.Verdict.Signer.Short()[:8] + ")", Model: p.Services[0].Model,
		Limits: p.Limits, Attempts: p.Attempts, Tokens: before.InputTokens + before.OutputTokens, Spent: before.Spend,
	})
	if !w.events {
		w.c.UI.Note("%s", w.view.First())
	}
	if !w.events && !w.c.UI.Quiet && w.c.Isatty(w.c.Stderr) && w.done == nil {
		w.done = make(chan struct{})
		go w.count(w.done)
	}
}

// count shows at a terminal how long the thread still waits for a service, until done closes.
func (w *watcher) count(done chan struct{}) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-done:
			return
		case now := <-every.C:
			w.mu.Lock()
			if text := w.view.Waiting(now); text != "" && !w.open {
				fmt.Fprint(w.c.UI.Stderr, "\r\x1b[K"+text)
				w.counting = true
			} else {
				w.uncount()
			}
			w.mu.Unlock()
		}
	}
}

// uncount removes the line of the wait. The caller has the lock.
func (w *watcher) uncount() {
	if w.counting {
		fmt.Fprint(w.c.UI.Stderr, "\r\x1b[K")
		w.counting = false
	}
}

// threadEvent is a line of --events.
type threadEvent struct {
	ThreadID string          `json:"thread_id"`
	Seq      int64           `json:"seq"`
	Time     string          `json:"time"`
	Event    string          `json:"event"`
	Data     json.RawMessage `json:"data"`
}

func (w *watcher) line(l transcript.Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events {
		if !w.debug(l.Event) || w.c.UI.Detailed {
			_ = w.c.UI.Event(threadEvent{w.id, l.Seq, l.Time, l.Event, l.Data}) // a reader that is gone does not end the thread
		}
		return
	}
	if w.c.UI.Quiet {
		return
	}
	shown := w.view.Event(&l)
	if l.Event == "model_request" {
		w.printed.begins()
	}
	if shown.Streamed != "" {
		w.printed.adds(shown.Streamed)
		w.uncount()
		fmt.Fprint(w.c.UI.Stderr, shown.Streamed)
		w.open = !strings.HasSuffix(shown.Streamed, "\n")
	}
	if shown.Line != "" {
		w.note("%s", shown.Line)
	}
}

// note ends a line of streamed text and prints another one.
func (w *watcher) note(format string, args ...any) {
	w.uncount()
	if w.open {
		fmt.Fprintln(w.c.UI.Stderr)
		w.open = false
	}
	w.c.UI.Note(format, args...)
}

// end prints the result of a thread and returns its error.
func (w *watcher) end(r *threads.Result, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done != nil {
		close(w.done)
		w.done = nil
	}
	w.uncount()
	if r == nil {
		return err
	}
	u := w.c.UI
	data := map[string]any{"thread_id": r.ThreadID, "status": r.Status, "outputs": r.Outputs, "text": r.Text, "cost": r.Cost, "model": r.Model}
	if r.Suspended != nil {
		data["suspended"] = r.Suspended
	}
	if w.replay != nil {
		data["replay"] = w.replay
	}
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
	if err == nil && r.Status != threads.Suspended {
		if r.Outputs != nil {
			b, merr := jsonx.MarshalIndent(r.Outputs)
			if merr != nil {
				return merr
			}
			u.Raw(string(b))
		} else if !w.printed.has(r.Text) || !oneTerminal(w.c) {
			u.Text(r.Text)
		}
	}
	if r.Status == threads.Cancelled && w.c.Isatty(w.c.Stderr) {
		w.open = true // the terminal has printed ^C
	}
	next := ""
	if s := r.Suspended; s != nil && s.Reason == threads.ByApproval {
		w.question(s.Ask.Question)
		w.note("thread %s  $%s  rye threads approve|deny %s %s", r.Status, activity.Money(r.Cost.Spend), r.ThreadID, s.Ask.ID)
		return err
	}
	if s := r.Suspended; s != nil && s.WakeAt != "" {
		w.note("the service accepts the next request at %s; rye threads wake --watch continues the thread then", s.WakeAt)
	}
	if s := r.Suspended; s != nil && s.Ask != nil {
		w.question(s.Ask.Question)
		if s.Ask.Limit != "" && !strings.HasPrefix(s.Ask.Limit, policy.LimitSpend+".") { // those of the account are settings
			next = " --limit " + s.Ask.Limit + "=VALUE"
		}
	}
	if r.Status == threads.Completed || w.replay != nil {
		w.note("thread %s %s  $%s", r.ThreadID, r.Status, activity.Money(r.Cost.Spend))
	} else { // the id is in the command: a line that a terminal breaks cannot be copied
		w.note("thread %s  $%s  rye threads resume %s%s", r.Status, activity.Money(r.Cost.Spend), r.ThreadID, next)
	}
	return err
}

// question prints the lines of an open question.
func (w *watcher) question(text string) {
	for line := range strings.SplitSeq(continued(text), "\n") {
		w.note("%s", line)
	}
}

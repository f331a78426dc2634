package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/liveview"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/attach"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/transcript"
)

// oneTerminal reports whether results and messages appear on the same screen.
func oneTerminal(c *cli.Call) bool {
	out, ok := c.World.Stdout.(*os.File)
	msg, also := c.World.Stderr.(*os.File)
	if !ok || !also || !c.Isatty(out) || !c.Isatty(msg) {
		return false
	}
	a, aerr := out.Stat()
	b, berr := msg.Stat()
	return aerr == nil && berr == nil && os.SameFile(a, b)
}

// ThreadOptions are the flags of commands that run a thread.
type ThreadOptions struct {
	Render, Explain, Events  bool
	Limits                   []string
	Model, Provider, Message string
	NoSuspend                bool
	Replay, tools            string
	strict                   bool
	workspace                string
	Attach                   []string
	carry                    bool
}

const LimitUsage = "limit of the thread as `NAME=VALUE`: turns, tokens, spend, duration_seconds"

const AttachUsage = "an image, PDF file, sound or text at `PATH` that the model reads; repeatable"

// Attachments reads the files of --attach.
func (o *ThreadOptions) Attachments(c *cli.Call) ([]message.Block, error) {
	var out []message.Block
	for _, path := range o.Attach {
		b, err := attach.Read(c.Path(path))
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (o *ThreadOptions) Flags() []cli.Flag {
	return []cli.Flag{
		cli.Strings(&o.Limits, "limit", LimitUsage),
		cli.String(&o.Model, "model", "the model, by its exact `ID`"),
		cli.String(&o.Provider, "provider", "the provider item, by its `ID`"),
		cli.String(&o.Message, "message", "a `TEXT` that the model reads after the directive"),
		cli.Strings(&o.Attach, "attach", AttachUsage),
		cli.Bool(&o.NoSuspend, "no-suspend", "fail instead of suspending the thread"),
		cli.Bool(&o.Events, "events", "print the events of the thread or graph as JSON lines; -v adds the events of the loop"),
		cli.Bool(&o.Render, "render", "print what the model would read, and call none"),
		cli.Bool(&o.Explain, "explain", "print what a directive may use and spend, and call no model"),
	}
}

// CopyFlags choose where the tools of a new thread work.
func (o *ThreadOptions) CopyFlags() []cli.Flag {
	return []cli.Flag{
		cli.String(&o.workspace, "workspace", "where the tools of a directive's thread work: `here`, read (they change no file), worktree (a copy of the project at HEAD) or copy (one of all its files)"),
		cli.Bool(&o.carry, "carry", "with --workspace worktree, begin with the uncommitted changes of tracked files"),
	}
}

// ReplayFlags are the flags of the command that can replay a thread.
func (o *ThreadOptions) ReplayFlags() []cli.Flag {
	return []cli.Flag{
		cli.String(&o.Replay, "replay", "answer each call of the model from the log of a `THREAD`"),
		cli.String(&o.tools, "tools", "with --replay, `recorded` results of tools (the default), or run"),
		cli.Bool(&o.strict, "strict", "with --replay, fail if a request differs from the recorded one"),
	}
}

// Options returns the options with which the project starts a thread.
func (o *ThreadOptions) Options(c *cli.Call, call primary.Call) *threadhost.Options {
	out := &threadhost.Options{
		Ref:       call.Ref,
		Args:      call.Args,
		Params:    call.Params,
		Held:      call.Held,
		Limits:    o.Limits,
		Model:     o.Model,
		Provider:  o.Provider,
		Message:   o.Message,
		AnyPath:   true,
		NoSuspend: o.NoSuspend,
		Workspace: o.workspace,
		Carry:     o.carry,
		Ask:       ask.AboutRisk(c),
		Decide:    ask.AboutCall(c),
		Answer:    ask.AboutThread(c),
	}
	if ask.AboutRisk(c) != nil {
		out.Permit = c.ConfirmWithin
	}
	return out
}

// RunThread does the work of a directive with a model.
func RunThread(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	req primary.Call,
	o *ThreadOptions,
) error {
	opts := o.Options(c, req)
	var err error
	if opts.Attach, err = o.Attachments(c); err != nil {
		return err
	}
	show := NewWatcher(c, h, o.Events)
	defer show.stop()
	if err := o.replays(ctx, h, opts, show); err != nil {
		return err
	}
	opts.Observe = show.Line
	opts.Started = show.Started
	r, err := threadhost.FollowDirective(ctx, h, opts)
	return show.End(r, err)
}

// replays sets the recording that answers a thread.
func (o *ThreadOptions) replays(
	ctx context.Context,
	h *project.Project,
	opts *threadhost.Options,
	show *watcher,
) error {
	if o.Replay == "" {
		if o.tools != "" || o.strict {
			return diag.New(diag.Usage, "reading the command line: --tools and --strict apply to --replay only")
		}
		return nil
	}
	if o.tools != "" && o.tools != "recorded" && o.tools != "run" {
		return diag.New(diag.Usage, "reading --tools %q: it must be recorded or run", o.tools)
	}
	id, err := control.Find(ctx, h, o.Replay)
	if err != nil {
		return err
	}
	r, err := threads.ReadRecording(h.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	show.replay = &replayView{Recording: id, Differences: []threads.Difference{}}
	opts.Replay = &threads.Replay{
		Recording: r,
		Strict:    o.strict,
		RunTools:  o.tools == "run",
		Differs:   show.differs,
	}
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
	h      *project.Project
	events bool
	debug  func(event string) bool

	replay *replayView // nil if it is not one
	waits  bool        // the thread is suspended

	mu   sync.Mutex
	id   string
	live *live
}

func NewWatcher(c *cli.Call, h *project.Project, events bool) *watcher {
	if events {
		c.UI.AsJSON = true
		c.UI.Lines = true
	}
	return &watcher{
		c:      c,
		h:      h,
		events: events,
		debug:  threadhost.DebugEvents(h),
	}
}

// Started prints the warnings of the prices and the first line.
func (w *watcher) Started(p *prepare.Prepared, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
	w.id = id
	for _, text := range p.Warnings {
		w.c.UI.Warn("%s (rye provider prices)", text)
	}
	if w.events {
		return
	}
	tree := activity.New(activity.Start{
		ThreadID: id,
		Ref:      p.Ref,
		Version:  p.Item.Meta.Version,
		Signer:   p.Item.Verdict.Owner,
		Model:    p.Services[0].Model,
		Turns:    p.Limits.Turns,
		Spend:    p.Limits.Spend,
		Attempts: p.Attempts,
	})
	tree.Tokens = p.Before.InputTokens + p.Before.OutputTokens
	tree.Spent = p.Before.Spend
	dir := w.h.Spaces.ProjectDir
	lines := []transcript.Line{}
	_ = transcript.NewReader(dir, id).Next(func(l *transcript.Line) error { // a log that cannot be read is the error of the thread
		lines = append(lines, *l)
		return nil
	})
	tree.Before(lines)
	w.live = newLive(w.c, dir, tree, liveview.Params{})
	if len(lines) > 0 {
		w.live.view.Head(&lines[len(lines)-1])
	}
	w.live.follow()
}

// stop ends what is drawn.
func (w *watcher) stop() {
	if w.live != nil {
		w.live.close()
		w.live = nil
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

func (w *watcher) Line(l transcript.Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events {
		if !w.debug(l.Event) || w.c.UI.Detailed {
			_ = w.c.UI.Event(threadEvent{w.id, l.Seq, l.Time, l.Event, l.Data}) // a reader that is gone does not end the thread
		}
		return
	}
	if w.live != nil {
		w.live.line(w.id, &l)
	}
}

// note prints a line about the end of the thread. One that waits for a person has no result, so
// that --quiet would leave nothing.
func (w *watcher) note(format string, args ...any) {
	if w.waits {
		w.c.UI.PrintErr(format, args...)
		return
	}
	w.c.UI.Note(format, args...)
}

// End prints the result of a thread and returns its error.
func (w *watcher) End(r *threads.Result, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	answered := w.live != nil &&
		w.live.screen.Mode() != inline.Quiet &&
		oneTerminal(w.c) &&
		r != nil &&
		w.live.tree.Answered(r.Text)
	cancelled := w.live == nil || w.live.screen.Mode() != inline.Live
	w.stop()
	if r == nil {
		return err
	}
	u := w.c.UI
	w.waits = r.Status == threads.Suspended
	data := map[string]any{
		"thread_id": r.ThreadID,
		"status":    r.Status,
		"outputs":   r.Outputs,
		"text":      r.Text,
		"cost":      r.Cost,
		"model":     r.Model,
	}
	if n := u.Number(r.ThreadID); n > 0 {
		data["number"] = n
	}
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
		} else if !answered { // else it is on the screen
			u.Text(r.Text)
		}
	}
	if r.Status == threads.Cancelled &&
		cancelled &&
		!u.Quiet &&
		w.c.Isatty(w.c.Stderr) {
		fmt.Fprintln(u.Stderr) // the terminal has printed ^C
	}
	next := ""
	if s := r.Suspended; s != nil && s.Reason == threads.ByApproval {
		w.question(s.Ask.Question)
		w.note(
			"thread %s  $%s  rye threads approve|deny %s %s",
			r.Status,
			activity.Money(r.Cost.Spend),
			cli.RunWord(w.c, r.ThreadID),
			s.Ask.ID,
		)
		return err
	}
	if s := r.Suspended; s != nil && s.WakeAt != "" {
		w.note("the service accepts the next request at %s; rye threads wake --watch continues the thread then", s.WakeAt)
	}
	if s := r.Suspended; s != nil && s.Ask != nil {
		w.question(s.Ask.Question)
		if s.Ask.Limit != "" && !strings.HasPrefix(s.Ask.Limit, policy.LimitSpend+".") { // limits of the account are settings
			next = " --limit " + s.Ask.Limit + "=VALUE"
		}
	}
	if r.Status == threads.Completed || w.replay != nil {
		w.note(
			"thread %s %s  $%s",
			cli.RunLabel(w.c, r.ThreadID),
			r.Status,
			activity.Money(r.Cost.Spend),
		)
	} else { // the number is in the command: a line that a terminal breaks cannot be copied
		w.note(
			"thread %s  $%s  rye threads resume %s%s",
			r.Status,
			activity.Money(r.Cost.Spend),
			cli.RunWord(w.c, r.ThreadID),
			next,
		)
	}
	return err
}

// question prints the lines of an open question.
func (w *watcher) question(text string) {
	for line := range strings.SplitSeq(ask.Continued(text), "\n") {
		w.note("%s", line)
	}
}

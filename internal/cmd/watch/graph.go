package watch

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/dialog"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/liveview"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/transcript"
)

// EventPrinter prints the lines of the logs of a run and of the runs below it.
func EventPrinter(c *cli.Call) func(string, *transcript.Line) {
	var mu sync.Mutex // runs of branches write at the same time
	return func(run string, l *transcript.Line) {
		mu.Lock()
		defer mu.Unlock()
		_ = c.UI.Event(RunEvent{
			RunID: run,
			Seq:   l.Seq,
			Time:  l.Time,
			Event: l.Event,
			Data:  l.Data,
		}) // a reader that is gone does not end the run
	}
}

// RunEvent is a line of --events.
type RunEvent struct {
	RunID string          `json:"run_id"`
	Seq   int64           `json:"seq"`
	Time  string          `json:"time"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// StartGraph starts a run in a process of its own.
func StartGraph(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	o graphhost.Options,
	call primary.Call,
) error {
	it, err := graphItem(ctx, p, call.Ref)
	if err != nil {
		return err
	}
	if !itemcheck.IsGraph(it) {
		return NotGraph("running", call.Ref)
	}
	o.Warn = func(f diag.Finding) {
		c.UI.Note("%s: warning: %s", f.Location(), f.Message)
	}
	s, err := graphhost.StartDetached(ctx, p, call, o, env.ProcessArgs(c, "graph", "process"))
	if err != nil {
		return err
	}
	data := map[string]any{"run_id": s.ID, "pid": s.PID, "state": s.State}
	return c.UI.Show(data, func() {
		c.UI.Out("%s %d %s", s.ID, s.PID, s.State)
	})
}

func NotGraph(doing string, ref item.Ref) error {
	return diag.New(diag.Usage, "%s %s: it is not a graph", doing, ref).
		WithReason("not_graph").
		WithDetail("ref", ref.String())
}

func OnlyGraphs(ref item.Ref, flag string) error {
	return diag.New(diag.Usage, "running %s: %s applies to graphs only", ref, flag).WithReason("only_graphs")
}

// RunWatched is rye run of a graph in a process of its own, or with the lines of its log.
func RunWatched(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	call primary.Call,
	async bool,
) error {
	if !async {
		c.UI.AsJSON = true
		c.UI.Lines = true
	}
	it, err := graphItem(ctx, p, call.Ref)
	if err != nil {
		return err
	}
	switch {
	case !itemcheck.IsGraph(it) && async:
		return OnlyGraphs(call.Ref, "--async")
	case !itemcheck.IsGraph(it):
		return OnlyGraphs(call.Ref, "--events")
	case async:
		return StartGraph(ctx, c, p, graphhost.Options{}, call)
	}
	return CallGraph(ctx, c, p, graphhost.Options{Event: EventPrinter(c)}, call)
}

// OpenLocked opens the project for a command that runs items, with its flag --locked.
func OpenLocked(ctx context.Context, c *cli.Call, locked *bool) (*project.Project, error) {
	e := env.Of(c)
	e.SetLocked(c.Given(locked), *locked)
	p, err := e.Open(ctx, project.Strict)
	if err != nil {
		return nil, err
	}
	return p, p.CheckLocked()
}

// CallGraph runs a graph and prints its result.
func CallGraph(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	o graphhost.Options,
	call primary.Call,
) error {
	it, err := graphItem(ctx, p, call.Ref)
	if err != nil {
		return err
	}
	if !itemcheck.IsGraph(it) {
		return NotGraph("running", call.Ref)
	}
	if !o.NoSuspend {
		call.Ask = ask.AboutOne(c) // about the graph itself
	}
	bound, ends := GraphProject(c, p, o)
	defer ends()
	run, err := bound.Verbs.Tool(ctx, call)
	ends()
	if c.UI.AsJSON {
		return view.Envelope(c.UI, run, err)
	}
	data, _ := run.Data.(map[string]any)
	if data != nil {
		ShowGraphResult(c, data)
	}
	return err
}

func graphItem(ctx context.Context, p *project.Project, ref item.Ref) (*resolve.Item, error) {
	chain, err := p.Executor.Chain(ctx, ref)
	if err != nil {
		return nil, err
	}
	return chain.Tool(), nil
}

// GraphProject returns the project with which the run of a graph reaches the person.
// ends frees the terminal; it may be called again.
func GraphProject(
	c *cli.Call,
	p *project.Project,
	o graphhost.Options,
) (bound *project.Project, ends func()) {
	e := env.Of(c)
	ends = func() {}
	if !c.UI.Quiet && o.Event == nil {
		show := &graphWatcher{c: c, dir: p.Spaces.ProjectDir}
		o.Watch = show.line
		ends = show.stop
		o.Progress = func(p graph.Progress) { // a snapshot has no line in the log
			if p.Node == graph.SnapshotNode {
				c.UI.Note(
					"[%s] %s %s %s",
					p.Run[:max(strings.LastIndexByte(p.Run, '-'), 0)],
					p.Node,
					p.Status,
					p.Text,
				)
			}
		}
		o.Warn = func(f diag.Finding) {
			c.UI.Note("%s: warning: %s", f.Location(), f.Message)
		}
	}
	if e.Person.Asks && !c.UI.AsJSON && !o.NoSuspend {
		o.Ask = func(ctx context.Context, q graph.Question) (any, string, error) {
			return askGraph(ctx, c, q)
		}
	}
	if ask := ask.AboutRisk(c); ask != nil && !o.NoSuspend {
		o.Confirm = ask
	}
	return graphhost.WithOptions(p, o), ends
}

// graphWatcher shows a run while it works. It takes the terminal with the first line of a log:
// a tool that is not a graph has none.
type graphWatcher struct {
	c   *cli.Call
	dir string

	mu    sync.Mutex
	live  *live
	ended bool
}

func (w *graphWatcher) line(run string, l *transcript.Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	if w.live == nil {
		tree := activity.New(activity.Start{ThreadID: run})
		if l.Event != "graph_started" { // it is resumed
			var lines []transcript.Line
			_ = transcript.NewReader(w.dir, run).Next(func(e *transcript.Line) error { // the run reports a log that cannot be read
				if e.Seq < l.Seq {
					lines = append(lines, *e)
				}
				return nil
			})
			tree.Before(lines)
		}
		w.live = newLive(w.c, w.dir, tree, liveview.Params{})
	}
	w.live.line(run, l)
}

// stop frees the terminal.
func (w *graphWatcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live != nil {
		w.live.close()
	}
	w.live = nil
	w.ended = true
}

// askGraph asks a question of a graph at the terminal until the answer is one, or until
// ctx ends, because an answer came from elsewhere. The end of the input leaves it open.
func askGraph(
	ctx context.Context,
	c *cli.Call,
	q graph.Question,
) (v any, by string, err error) {
	d := &dialog.Question{From: cli.RunLabel(c, q.Run), Text: q.Text}
	for i, choice := range q.Choices {
		if len(q.Choices) < 10 {
			d.Choices = append(d.Choices, dialog.Choice{Key: rune('1' + i), Label: choice, Words: []string{choice}})
		}
	}
	if len(d.Choices) == 0 {
		if len(q.Choices) > 0 {
			d.Text += " [" + strings.Join(q.Choices, "/") + "]"
		}
		d.Check = func(line string) string { _, why := q.Ask.Read(line); return why }
	}
	a, err := ask.AtTerminal(ctx, c, d)
	switch {
	case errors.Is(err, threads.ErrLeft):
		return nil, "", graph.ErrNoAnswer
	case err != nil:
		return nil, "", err
	}
	text := a.Text
	if a.Key != 0 {
		text = q.Choices[a.Key-'1']
	}
	v, _ = q.Ask.Read(text)
	return v, "person", nil
}

// ShowGraphResult prints the output of a run, and for a suspended one what wakes it.
func ShowGraphResult(c *cli.Call, data map[string]any) {
	if data["status"] == graph.StateSuspended {
		showSuspended(c, data)
		return
	}
	if data["output"] == nil {
		return
	}
	b, err := jsonx.MarshalIndent(view.WithoutFiles(data["output"]))
	if err == nil {
		c.UI.Raw(string(hidden.JSON(b)) + "\n")
	}
}

func showSuspended(c *cli.Call, data map[string]any) {
	id, _ := data["run_id"].(string)
	c.UI.Out("suspended %s (%v)", id, data["reason"])
	waiting, _ := data["waiting"].([]any)
	switch data["reason"] {
	case "ask":
		if child, ok := data["child"].(string); ok {
			c.UI.Note("answer it: rye threads answer %s VALUE", cli.RunWord(c, child))
			return
		}
		for _, node := range waiting {
			c.UI.Note("answer it: rye threads answer %s %v VALUE", cli.RunWord(c, id), node)
		}
	case "approval":
		questions, _ := data["questions"].([]any)
		for _, q := range questions {
			q, _ := q.(map[string]any)
			run, _ := q["run_id"].(string)
			c.UI.Note("%v", q["question"])
			c.UI.Note("permit or refuse it: rye threads approve|deny %s %v", cli.RunWord(c, run), q["node"])
		}
	case "wait":
		if at, ok := data["wake_at"].(string); ok {
			c.UI.Note("it waits until %s; then: rye graph resume %s", at, cli.RunWord(c, id))
			return
		}
		c.UI.Note("send the event: rye threads send %s EVENT, or: rye graph resume %s", cli.RunWord(c, id), cli.RunWord(c, id))
	default:
		c.UI.Note("continue it: rye graph resume %s", cli.RunWord(c, id))
	}
}

// ResumeRun continues a run of a graph.
// A run that failed continues at the node that failed, as a new step.
func ResumeRun(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	id string,
	o graphhost.Options,
) error {
	run, call, err := control.ResumeCall(ctx, p, id)
	if err != nil {
		return err
	}
	o.Resume = run
	return CallGraph(ctx, c, p, o, call)
}

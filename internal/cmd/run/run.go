package run

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
)

// runOptions are the flags of rye run.
type runOptions struct {
	params                string
	dryRun, locked, print bool
	dev, async            bool
	continues             bool
	resume                string
	thread                watch.ThreadOptions
	offer                 offerModel
}

// offerModel is called with the error of a prompt. If it reports ready, the prompt can be
// repeated: a person has set a model up.
type offerModel func(ctx context.Context, c *cli.Call, err error) (ready bool, failure error)

func Command(offer offerModel) *cli.Command {
	o := runOptions{offer: offer}
	return &cli.Command{
		Name:  "run",
		Group: "Items",
		Usage: "run a tool, follow a directive with a model, or print knowledge",
		Args:  "KIND|REF|PATH [ID] [NAME=VALUE…]",
		Long: `Runs a tool if trusted keys signed it, its runtime and its primitive. Its stdout and
stderr are printed as they arrive; output that is one JSON object is printed when the
tool ends. A tool that fails with status 1 to 125 gives rye run that status, except
with --json. NAME=VALUE is converted to the type in the tool's schema; NAME:=JSON is
read as JSON. The program gets what its sandbox permits;
--dry-run and -v print it.

--dev runs an item of your project that you are editing before you sign it, at a
terminal and in the strict sandbox: it reads and writes the project without its
protected files, and has no network.

A tool in rye.lock runs only with the locked chain. --locked refuses every item that
is not in the lock.

A directive is followed by a model, within its permissions and limits: its outputs are
on stdout, what happens is on stderr and in .ai/threads. rye run prompt TEXT… needs no
directive; rye -p TEXT… and rye "TEXT WITH BLANKS" are the same. Text from a pipe is
added to it, or is the prompt if there is no other. With --continue or --resume THREAD
the model reads the whole conversation of an earlier thread first. --print prints the text with its inputs for another agent instead.

--replay THREAD answers each call of the model from the log of an earlier thread: it
needs no model and no key, and costs nothing. A request that differs from the recorded
one is printed as a difference, and is an error with --strict.`,
		Examples: []string{
			"rye run tool demo/hello name=world",
			"rye run tool:demo/sum numbers:='[1,2,3]' --json",
			"rye run tool demo/hello name=world --dev",
			"rye run knowledge rye/core/trust-model",
			"rye run directive team/triage file=issue.md --limit spend=0.20",
			"rye -p 'Which files here have no tests?'",
			"git diff | rye -p Review this change",
			"rye -p --continue 'And which of them matter?'",
			"rye run directive rye/core/create_tool --print name=greet",
		},
		Codes: []diag.Code{diag.ToolNotFound, diag.HashMismatch, diag.KeyUnknown, diag.ValidationFailed, diag.UnknownParameter,
			diag.ExecutionFailed, diag.Timeout, diag.ResourceExceeded, diag.ConsentRequired, diag.PermissionDenied, diag.PolicyDenied, diag.SandboxUnavailable, diag.LockMismatch, diag.LockStale, diag.LockMissing, diag.ReplayMismatch},
		Flags: append([]cli.Flag{
			cli.String(&o.params, "params", "parameters as `JSON`, @FILE, or - for stdin"),
			cli.Bool(&o.dryRun, "dry-run", "verify and validate, but start nothing"),
			cli.Bool(&o.locked, "locked", env.LockedUsage),
			cli.Bool(&o.dev, "dev", "run an own tool that is not signed yet, in the strict sandbox without network"),
			cli.Bool(&o.print, "print", "print a directive with its inputs filled in"),
			cli.Bool(&o.async, "async", "start a graph in a process of its own, and return"),
			cli.Bool(&o.continues, "continue", "continue the newest prompt of this directory with the text"),
			cli.String(&o.resume, "resume", "continue a `THREAD` with the text of a prompt"),
		}, slices.Concat(
			o.thread.Flags(),
			o.thread.CopyFlags(),
			o.thread.ReplayFlags(),
		)...),
		Exclusive: [][]any{{&o.continues, &o.resume, &o.thread.Message}, {&o.continues, &o.resume, &o.thread.Replay, &o.thread.Render, &o.thread.Explain, &o.print, &o.async, &o.dev, &o.dryRun}, {&o.dev, &o.locked}, {&o.dev, &o.print}, {&o.print, &o.dryRun, &o.thread.Render, &o.thread.Explain, &o.thread.Events, &o.async}, {&o.dev, &o.thread.Events, &o.async},
			{&o.thread.Replay, &o.thread.Model}, {&o.thread.Replay, &o.thread.Provider}, {&o.thread.Replay, &o.thread.Message}, {&o.thread.Replay, &o.thread.Attach}, {&o.thread.Replay, &o.thread.Render, &o.thread.Explain, &o.print, &o.async, &o.dev, &o.dryRun}},
		Complete:    complete.Run,
		UnknownFlag: complete.ParameterOfFlag,
		Run: func(ctx context.Context, c *cli.Call) error {
			err := runRun(ctx, c, &o)
			if exec.IsBadParameters(err) {
				return cli.WithStatus(err, cli.ExitStatus(diag.Usage))
			}
			return err
		},
	}
}

func runRun(ctx context.Context, c *cli.Call, o *runOptions) error {
	e := env.Of(c)
	e.SetLocked(c.Given(&o.locked), o.locked)
	if o.dev {
		if err := checkDevTerminal(c); err != nil {
			return err
		}
	}
	args, err := promptArgs(ctx, c, o.params == "-")
	if err != nil {
		return err
	}
	h, err := e.Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	if err := h.CheckLocked(); err != nil {
		return err
	}
	if o.continues || o.resume != "" {
		return continueWithPrompt(ctx, c, h, o, args)
	}
	ref, rest, err := project.RefArgs(ctx, h, args)
	if err != nil {
		return notRef(err, args)
	}
	params, err := env.ReadParams(c, o.params)
	if err != nil {
		return err
	}
	req := primary.Call{
		Ref:    ref,
		Held:   policy.Person(),
		Args:   rest,
		Params: params,
		DryRun: o.dryRun,
	}
	if o.dev {
		if ref.Kind != item.Tool {
			return diag.New(diag.Usage, "running %s: --dev applies to tools only", ref)
		}
		req.Dev = devOf(c, h)
	}
	switch ref.Kind {
	case item.Tool:
		if o.print {
			return diag.New(diag.Usage, "running %s: --print applies to directives only", ref)
		}
		if o.async || o.thread.Events {
			return watch.RunWatched(ctx, c, h, req, o.async)
		}
		return runTool(ctx, c, h, req)
	case item.Directive:
		if o.async {
			return watch.OnlyGraphs(ref, "--async")
		}
		switch {
		case o.print:
			return runDirective(ctx, c, h, req)
		case o.dryRun || o.thread.Explain:
			return explainThread(ctx, c, h, req, &o.thread, !o.dryRun)
		case o.thread.Render:
			return renderThread(ctx, c, h, req, &o.thread)
		}
		return runPrompt(ctx, c, e, h, req, o)
	}
	if o.async || o.thread.Events {
		return watch.OnlyGraphs(ref, "--async and --events")
	}
	return runText(ctx, c, h, req)
}

func runTool(ctx context.Context, c *cli.Call, h *project.Project, req primary.Call) error {
	out := newToolOutput(c)
	req.OnLine, req.Ask = out.line, ask.AboutOne(c)
	ends := func() {}
	bound := h
	if !req.DryRun {
		bound, ends = watch.GraphProject(c, h, graphhost.Options{})
	}
	defer ends()
	run, err := bound.Verbs.Tool(ctx, req)
	for asked := ""; err != nil; {
		path, retry, aerr := consentToInterpreter(ctx, c, h, err)
		if aerr != nil || !retry || path == asked {
			err = cmp.Or(aerr, err)
			break
		}
		asked = path
		run, err = bound.Verbs.Tool(ctx, req) // nothing was started: the plan was incomplete
	}
	ends()
	out.live.clear()
	if run.Plan != nil && run.Plan.Chain.Tool().Verdict.Agent {
		c.UI.Note("only an agent's key has signed %s: review it, then rye sign %s", req.Ref, req.Ref)
	}
	if run.Result != nil {
		showSandbox(c.UI, run.Result.Sandbox)
		s := run.Result.Sandbox
		if s != nil && h.FirstOfRung(s.Rung) {
			c.UI.Note("%s", rungNote(s.Rung))
		}
		s = run.Result.Sandbox
		if s != nil &&
			err == nil &&
			len(s.Denied) > 0 &&
			!c.UI.AsJSON {
			c.UI.Note("its sandbox refused %s", strings.Join(s.Denied, ", "))
		}
		if c.UI.AsJSON || out.whole { // else all of stdout was printed
			showDropped(c.UI, "stdout", run.Result.Dropped.Stdout)
		}
		showDropped(c.UI, "stderr", run.Result.Dropped.Stderr)
	}
	if c.UI.AsJSON {
		return view.Envelope(c.UI, run, err)
	}
	if run.Result != nil &&
		run.Plan != nil &&
		itemcheck.IsGraph(run.Plan.Chain.Tool()) {
		watch.ShowGraphResult(c, run.Result.Data)
	} else if run.Result != nil {
		out.finish(run.Result.Data, err == nil)
	}
	if err != nil {
		return toolStatus(err, run.Result)
	}
	if req.DryRun {
		showDryRun(c.UI, run)
	}
	return nil
}

// toolStatus returns the error of a tool that ran and failed with the tool's own
// exit status. Shells use the values from 126 for other purposes.
func toolStatus(err error, r *exec.Result) error {
	if r == nil ||
		diag.CodeOf(err) != diag.ExecutionFailed ||
		r.ReturnCode < 1 ||
		r.ReturnCode > 125 {
		return err
	}
	return cli.WithStatus(err, r.ReturnCode)
}

// showDropped reports that the output of a tool was cut.
func showDropped(u *cli.UI, stream string, n int64) {
	if n > 0 {
		u.Note("warning: %s is cut: %s over the limit (config.max_output of the runtime)", stream, cli.Plural(int(n), "byte"))
	}
}

// showToolResult prints the result of a tool: the text of {stdout} or {output}, or
// any other object as JSON.
func showToolResult(u *cli.UI, data map[string]any) {
	if showToolText(u, data) {
		return
	}
	shown := view.WithoutFiles(data)
	b, err := jsonx.MarshalIndent(shown)
	if err != nil {
		b, _ = json.Marshal(shown)
	}
	u.Raw(string(hidden.JSON(b)))
}

// showToolText prints a result that is a text, and reports whether it is one.
func showToolText(u *cli.UI, data map[string]any) bool {
	s, ok := data["stdout"].(string)
	if !ok || len(data) > 1 {
		s, ok = data["output"].(string)
	}
	if !ok {
		s, ok = view.ContentText(data)
	}
	if ok && s != "" {
		u.Raw(s)
	}
	return ok
}

func showDryRun(u *cli.UI, run *primary.Run) {
	p := run.Plan
	u.Out("%s would run; nothing started", run.Metadata.Ref)
	t := cli.NewTable("dry run")
	if p.Native != nil {
		t.Add("program", "none: "+p.Chain.Primitive().Ref.ID+" runs in this process")
		addConfig(t, p.Native.Config)
	} else {
		t.Add("program", p.Program)
		t.Add("arguments", view.ArgumentLine(p.Argv[1:]))
		t.Add("directory", p.Dir)
	}
	t.Add("timeout", p.Timeout.String())
	for _, in := range p.Interpreters {
		t.Add("interpreter", in.Path)
	}
	if p.Packages != "" {
		t.Add("packages", p.Packages)
	}
	addSandbox(t, p.Sandbox)
	names := make([]string, 0, len(p.Parameters))
	for name := range p.Parameters {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		b, _ := jsonx.Marshal(p.Parameters[name])
		t.Add("parameter", name+" = "+string(b))
	}
	u.Table(t)
	view.Chain(u, run.Metadata.Chain)
}

// addConfig adds the configuration of a primitive that runs in this process, one
// row per key.
func addConfig(t *cli.Table, config map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		b, _ := jsonx.Marshal(config[key])
		t.Add("config."+key, string(b))
	}
}

func runDirective(ctx context.Context, c *cli.Call, h *project.Project, req primary.Call) error {
	p, err := h.Verbs.Directive(ctx, req)
	if err != nil {
		return err
	}
	return c.UI.Show(p, func() {
		if req.DryRun {
			c.UI.Out("%s is ready and its inputs are valid", p.Ref)
			return
		}
		showDirective(c.UI, p)
	})
}

func showDirective(u *cli.UI, p *primary.Prepared) {
	u.Note("%s, signed by %s", p.Ref, view.SignerOf(p.Item))
	if p.Title != "" {
		u.Out("# %s\n", p.Title)
	}
	u.Text(p.Body)
	if len(p.Outputs) == 0 {
		return
	}
	u.Out("\nReturn these outputs:")
	for _, out := range p.Outputs {
		u.Out("- %s (%s): %s", out.Name, out.Type, out.Description)
	}
}

// runText prints knowledge, and items of every other kind that does not run.
func runText(ctx context.Context, c *cli.Call, h *project.Project, req primary.Call) error {
	it, err := h.Verbs.Text(ctx, req)
	if err != nil {
		return err
	}
	text := primary.Body(it)
	data := map[string]any{
		"ref":     it.Ref.String(),
		"title":   it.Meta.Title,
		"version": it.Meta.Version,
		"trust":   it.Verdict,
		"body":    text,
	}
	return c.UI.Show(data, func() { c.UI.Text(text) })
}

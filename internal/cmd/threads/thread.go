package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/waiting"
)

func threadsShowCommand() *cli.Command {
	var items bool
	var text textOptions
	return &cli.Command{
		Name:  "show",
		Args:  "THREAD",
		Usage: "print what a thread did, used and cost",
		Long: `Reads the log of a thread. --text prints it as rye run does, --call and --turn a part of it
in full, --all all of it. --items prints each step of its loop with the digest of the
item that ran, so that two threads can be compared.`,
		Examples: []string{"rye threads show triage-01jd", "rye threads show triage-01jd --items"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.TranscriptBroken},
		Flags: append(
			[]cli.Flag{cli.Bool(&items, "items", "print the items of the loop with their digests")},
			text.flags()...,
		),
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runThreadsShow(ctx, c, items, &text)
		},
	}
}

func runThreadsShow(ctx context.Context, c *cli.Call, items bool, text *textOptions) error {
	p, id, err := watch.OpenRun(ctx, c, project.Lenient)
	if err != nil {
		return err
	}
	if text.wanted() && !c.UI.AsJSON {
		return showText(ctx, c, p, id, text)
	}
	s, err := threadhost.Summary(ctx, p, id)
	if err != nil {
		return err
	}
	wait, err := control.WaitingOf(ctx, p, id)
	if err != nil {
		return err
	}
	data := struct {
		*threads.Summary
		Number  int64         `json:"number,omitempty"`
		Waiting *waiting.Wait `json:"waiting,omitempty"`
	}{s, c.UI.Number(id), wait}
	return c.UI.Show(data, func() {
		showThread(c, s, items)
		if wait != nil {
			c.UI.Note("%s", wait.State(c.Now(), 60))
			c.UI.Note("answer it: rye approve %s", cli.RunWord(c, id))
		}
	})
}

func showThread(c *cli.Call, s *threads.Summary, items bool) {
	t := cli.NewTable("thread")
	t.Add("thread", s.ID)
	if n := c.UI.Number(s.ID); n > 0 {
		t.Add("number", fmt.Sprint(n))
	}
	t.Add("directive", s.Directive.Ref+" "+s.Directive.Digest.String())
	t.Add("signed by", s.Signer)
	t.Add("state", s.State)
	t.Add("model", s.Model+" of "+s.Provider.Ref)
	t.Add("turns", fmt.Sprintf("%d of %d", s.Cost.Turns, s.Limits.Turns))
	t.Add("tokens", fmt.Sprintf("%d in, %d out", s.Cost.InputTokens, s.Cost.OutputTokens))
	t.Add("spend", fmt.Sprintf(
		"$%s of $%s",
		activity.Money(s.Cost.Spend),
		activity.Money(s.Limits.Spend),
	))
	t.Add("started", s.Started)
	for _, call := range s.Calls {
		outcome := "ok"
		switch {
		case !call.Done:
			outcome = "not finished"
		case call.IsError:
			outcome = "failed"
		}
		t.Add(
			fmt.Sprintf("turn %d", call.Turn),
			fmt.Sprintf("%s %s %d ms", call.Name, outcome, call.Duration),
		)
	}
	for _, x := range s.Shorter {
		t.Add("context", shorter(&x))
	}
	if s.Error != nil {
		t.Add("error", string(s.Error.Code)+": "+s.Error.Message)
	}
	if items {
		t.Add("loop", s.Loop.Ref+" "+s.Loop.Digest.String())
		for _, step := range s.Steps {
			t.Add("step", step.Ref+" "+step.Digest.String())
		}
	}
	c.UI.Table(t)
}

// shorter renders one time that a conversation became shorter.
func shorter(x *threads.ShorteningSummary) string {
	what := fmt.Sprintf("%d results became references", x.Results)
	switch {
	case x.Failed != "":
		what = fmt.Sprintf("%d turns left out, no summary: %s", x.Turns, x.Failed)
	case x.Step == "summary":
		what = fmt.Sprintf("a summary replaced %d turns", x.Turns)
	}
	return fmt.Sprintf(
		"after turn %d: %s, %s to %s tokens",
		x.Turn,
		what,
		activity.Thousands(x.Before),
		activity.Thousands(x.After),
	)
}

func threadsResultCommand() *cli.Command {
	return &cli.Command{
		Name:     "result",
		Args:     "THREAD",
		Usage:    "print the result of a thread or run that has ended",
		Examples: []string{"rye threads result triage-01jd"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState},
		Complete: complete.Runs,
		Run:      runThreadsResult,
	}
}

func runThreadsResult(ctx context.Context, c *cli.Call) error {
	p, id, err := watch.OpenLast(ctx, c, project.Lenient)
	if err != nil {
		return err
	}
	data, err := control.Result(p, id)
	if err != nil {
		return err
	}
	return c.UI.Show(data, func() {
		text, isText := data["text"].(string)
		shown := any(data)
		switch {
		case data["outputs"] != nil:
			shown = data["outputs"]
		case isText && text != "":
			c.UI.Text(text)
			return
		}
		out, err := jsonx.MarshalIndent(shown)
		if err != nil {
			out, _ = json.Marshal(shown)
		}
		c.UI.Raw(string(out))
	})
}

func threadsResumeCommand() *cli.Command {
	var o watch.ResumeOptions
	return &cli.Command{
		Name:  "resume",
		Args:  "THREAD",
		Usage: "continue a thread or run at the step where it ended",
		Long: `Verifies the log and continues. No call of a model and no tool whose result the log has
is made again. A tool that had started and has no result is started again only if its
item states idempotent; otherwise the model reads that it may have run.

With --message a completed thread continues in a new one: its model reads the whole
conversation and then the message. The new thread has the same directive, inputs and
bounds, and limits and an account of its own.`,
		Examples: []string{"rye threads resume triage-01jd", `rye threads resume triage-01jd --limit turns=20 --message "Try the other file."`},
		Codes: []diag.Code{diag.ThreadNotFound, diag.ThreadState, diag.TranscriptBroken, diag.GraphChanged, diag.KeyUnknown,
			diag.LimitExceeded, diag.BudgetExceeded, diag.ProviderError},
		Flags: []cli.Flag{
			cli.Strings(&o.Limits, "limit", watch.LimitUsage),
			cli.String(&o.Message, "message", "a `TEXT` that the model reads next"),
			cli.Strings(&o.Attach, "attach", watch.AttachUsage),
			cli.Bool(&o.NoSuspend, "no-suspend", "fail instead of suspending the thread again"),
			cli.Bool(&o.Events, "events", "print the events of the thread as JSON lines; -v adds the events of the loop"),
			cli.Bool(&o.AcceptChanged, "accept-changed", "continue although the directive, the loop or a step has changed"),
			cli.Bool(&o.Locked, "locked", env.LockedUsage),
		},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runThreadsResume(ctx, c, &o)
		},
	}
}

func runThreadsResume(ctx context.Context, c *cli.Call, o *watch.ResumeOptions) error {
	p, err := watch.OpenLocked(ctx, c, &o.Locked)
	if err != nil {
		return err
	}
	id, err := watch.FindRun(ctx, c, p, c.Args[0])
	if err != nil {
		return err
	}
	_, err = threads.ReadStarted(p.Spaces.ProjectDir, id)
	if diag.CodeOf(err) == diag.ThreadNotFound {
		return watch.ResumeRun(ctx, c, p, id, graphhost.Options{AcceptChanged: o.AcceptChanged})
	}
	return watch.ResumeThread(ctx, c, p, id, o)
}

// yesOrNo reads the answer to what a thread asks.
// rye threads resume is a yes; only deny, or answer ID no, is a no.
func yesOrNo(text string) (yes bool, err error) {
	switch strings.ToLower(text) {
	case "yes", "y", "true":
		return true, nil
	case "no", "n", "false":
		return false, nil
	}
	return false, diag.New(diag.ValidationFailed, "answering: %q must be yes or no", text)
}

package threads

import (
	"context"
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/transcript"
)

func Command() *cli.Command {
	return &cli.Command{
		Name:  "threads",
		Group: "Items",
		Usage: "list, answer, stop and verify threads and runs",
		Subs: []*cli.Command{threadsListCommand(), threadsTreeCommand(), threadsAnswerCommand(), threadsDecideCommand("approve", graph.Once), threadsDecideCommand("deny", graph.Deny), threadsSendCommand(), threadsWaitCommand(), threadsEndCommand("cancel"), threadsEndCommand("kill"),
			threadsTailCommand(), threadsVerifyCommand(), threadsCostCommand(), threadsShowCommand(), threadsResultCommand(), threadsResumeCommand(), threadsChainCommand(), threadsHandoffCommand(), threadsWakeCommand(), threadsGCCommand(), threadsRebuildCommand(), threadsAcceptCommand(), threadsSuspendCommand(), threadsSearchCommand(),
			threadsDiffCommand(), threadsApplyCommand(), threadsDropCommand(), threadsRenameCommand()},
	}
}

func threadsAnswerCommand() *cli.Command {
	return &cli.Command{
		Name:  "answer",
		Args:  "RUN [NODE] VALUE",
		Usage: "answer a question of a suspended run and continue it",
		Long: `Checks the answer, writes it into the inbox of the run and continues the run here.
NODE can be left out if one question is open. A thread asks whether it may continue: the
answer is yes or no.`,
		Examples: []string{"rye threads answer release-01jd ready release"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState, diag.ValidationFailed, diag.ExecutionFailed},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := watch.OpenLast(ctx, c, project.Strict)
			if err != nil {
				return err
			}
			node := ""
			value := c.Args[1]
			if len(c.Args) > 2 {
				node = c.Args[1]
				value = c.Args[2]
			}
			_, err = threads.ReadStarted(p.Spaces.ProjectDir, id)
			if err == nil {
				yes, err := yesOrNo(value)
				if err == nil {
					r := threads.Reply{Decision: threads.Deny}
					if yes {
						r.Decision = threads.Once
					}
					_, err = watch.DecideThread(ctx, c, p, id, node, "", r)
				}
				return err
			}
			s, err := control.Answer(ctx, p, id, node, value)
			if err != nil {
				return err
			}
			return wakeFrom(ctx, c, p, s)
		},
	}
}

func threadsDecideCommand(verb, decision string) *cli.Command {
	var forThread bool
	var feedback, prefix string
	usage := "permit a call that waits for an approval, this one time"
	flags := []cli.Flag{cli.Bool(&forThread, "thread", "also later calls of the thread with the same capability and reason"),
		cli.String(&prefix, "prefix", "also later calls whose dangerous commands begin with `RULE`, as the question shows it")}
	if verb == "deny" {
		usage = "refuse a call that waits for an approval"
		flags = []cli.Flag{cli.String(&feedback, "feedback", "a `TEXT` that the model of the thread reads")}
	}
	return &cli.Command{
		Name:  verb,
		Args:  "RUN [NODE]",
		Usage: usage + ", and continue the run",
		Long: `A run waits for it if a call of a node needs an answer, no person can be asked, and the
allowance has approvals.headless: suspend. rye graph list names such runs. NODE can be
left out if one call waits. A thread waits for it if a hook or a limit asks a person, or a
call of its model needs an answer: NODE is the call. While its process asks at a terminal,
the first answer is used.`,
		Examples: []string{"rye threads " + verb + " release-01jd"},
		Flags:    flags,
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState, diag.ApprovalDenied, diag.ExecutionFailed},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := watch.OpenLast(ctx, c, project.Strict)
			if err != nil {
				return err
			}
			node := ""
			if len(c.Args) > 1 {
				node = c.Args[1]
			}
			r := threads.Reply{Decision: decision, Feedback: feedback}
			if forThread {
				r.Decision = threads.ForThread
			}
			if prefix != "" {
				r.Decision = threads.ForPrefix
			}
			if forThread && prefix != "" {
				return diag.New(diag.Usage, "answering %s: --thread and --prefix are two answers", id)
			}
			isThread, err := watch.DecideThread(ctx, c, p, id, node, prefix, r)
			if isThread || err != nil {
				return err
			}
			if forThread || prefix != "" || feedback != "" {
				return diag.New(diag.Usage, "answering %s: --thread, --prefix and --feedback are for threads; it is a run of a graph", id)
			}
			s, err := control.Decide(ctx, p, id, node, decision)
			if err != nil {
				return err
			}
			return wakeFrom(ctx, c, p, s)
		},
	}
}

// wake continues a suspended run. A run that a process runs reads its inbox itself.
func wake(ctx context.Context, c *cli.Call, p *project.Project, id string) error {
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	return wakeFrom(ctx, c, p, s)
}

func wakeFrom(ctx context.Context, c *cli.Call, p *project.Project, s *graph.Summary) error {
	if s.State != graph.StateSuspended {
		c.UI.Note("the run is %s", s.State)
		return nil
	}
	return watch.ResumeRun(ctx, c, p, s.ID, graphhost.Options{})
}

func threadsSendCommand() *cli.Command {
	return &cli.Command{
		Name:     "send",
		Args:     "RUN EVENT [JSON]",
		Usage:    "send an event to a run and continue it if it waits",
		Long:     "A thread reads the event before its next turn, as a message.",
		Examples: []string{`rye threads send release-01jd deployed '{"url": "https://example.org"}'`},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState, diag.ParsingError, diag.ExecutionFailed},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := watch.OpenRun(ctx, c, project.Strict)
			if err != nil {
				return err
			}
			var payload any
			if len(c.Args) > 2 {
				v, fs := jsonx.ParseMessage([]byte(c.Args[2]))
				if err := diag.FromFindings("reading the payload", fs); err != nil {
					return err
				}
				payload = v
			}
			to, err := control.SendEvent(ctx, p, id, c.Args[1], payload, "person")
			if err != nil {
				return err
			}
			if to.Reason != "wait" {
				c.UI.Note("delivered to %s", to.ID)
				return nil
			}
			return wake(ctx, c, p, id)
		},
	}
}

func threadsWaitCommand() *cli.Command {
	timeout := 10 * time.Minute
	var anyOf bool
	return &cli.Command{
		Name:  "wait",
		Args:  "THREAD…",
		Usage: "wait until threads or runs have ended or are suspended",
		Long: `Waits for all of them, or with --any for one. The system wakes the command when a
result is written or a process ends. A thread whose process was stopped is settled: what
it had reserved and not spent is free again.`,
		Examples: []string{"rye threads wait release-01jd --timeout 10m", "rye threads wait triage-01jd review-01je --any"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.Timeout},
		Flags: []cli.Flag{
			cli.Duration(&timeout, "timeout", "give up after this `DURATION`"),
			cli.Bool(&anyOf, "any", "wait for the first of them"),
		},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runThreadsWait(ctx, c, timeout, anyOf)
		},
	}
}

func runThreadsWait(ctx context.Context, c *cli.Call, timeout time.Duration, anyOf bool) error {
	p, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	ids := make([]string, len(c.Args))
	for i, arg := range c.Args {
		if ids[i], err = watch.FindRun(ctx, c, p, arg); err != nil {
			return err
		}
	}
	list, err := control.Wait(ctx, p, ids, timeout, anyOf)
	if err != nil {
		return err
	}
	data := any(map[string]any{"threads": list})
	if len(list) == 1 {
		data = list[0]
	}
	return c.UI.Show(data, func() {
		for _, s := range list {
			c.UI.Out("%s %s", s.ID, s.State)
		}
	})
}

func threadsEndCommand(verb string) *cli.Command {
	usage := "ask a run to stop after what is in flight"
	state := graph.StateCancelled
	if verb == "kill" {
		usage = "end the process of a run by force"
		state = graph.StateKilled
	}
	return &cli.Command{
		Name:     verb,
		Args:     "RUN",
		Usage:    usage,
		Examples: []string{"rye threads " + verb + " release-01jd"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runThreadsEnd(ctx, c, state)
		},
	}
}

func runThreadsEnd(ctx context.Context, c *cli.Call, state string) error {
	p, id, err := watch.OpenLast(ctx, c, project.Lenient)
	if err != nil {
		return err
	}
	s, err := control.End(ctx, p, id, state)
	if err != nil {
		return err
	}
	if s == nil {
		c.UI.Note("the run stops after the nodes in flight")
		return nil
	}
	return c.UI.Show(
		map[string]any{"run_id": id, "state": s.State},
		func() {
			c.UI.Out("%s %s", id, s.State)
		},
	)
}

func threadsVerifyCommand() *cli.Command {
	return &cli.Command{
		Name:  "verify",
		Args:  "[RUN]",
		Usage: "verify the logs of runs",
		Long: `Checks the chain of every line, the signatures of the checkpoints and the artifacts of
one run, or of all runs of the project. A log that ends before the newest state that this
user account wrote was set back.`,
		Examples: []string{"rye threads verify", "rye threads verify release-01jd"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.TranscriptBroken, diag.Rollback},
		Complete: complete.Runs,
		Run:      runThreadsVerify,
	}
}

func runThreadsVerify(ctx context.Context, c *cli.Call) error {
	p, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	dir := p.Spaces.ProjectDir
	var ids []string
	if len(c.Args) > 0 {
		id, err := watch.FindRun(ctx, c, p, c.Args[0])
		if err != nil {
			return err
		}
		ids = append(ids, id)
	} else if ids, err = graph.IDs(dir); err != nil {
		return err
	}
	reports := []*transcript.Report{}
	var findings []diag.Finding
	for _, id := range ids {
		rep, err := control.Verify(ctx, p, id)
		if diag.CodeOf(err) == diag.ThreadNotFound && len(c.Args) == 0 {
			continue // a process was stopped before it created the log
		}
		if err != nil {
			return err
		}
		reports = append(reports, rep)
		findings = append(findings, rep.Findings...)
	}
	err = diag.FromFindings("verifying the logs of runs", findings)
	if c.UI.AsJSON {
		return c.UI.Report(err, map[string]any{"runs": reports}, findings, nil)
	}
	t := cli.NewTable("verified runs")
	for _, r := range reports {
		t.Add(r.ID, logState(r))
	}
	c.UI.Table(t)
	if len(reports) == 0 {
		c.UI.Out("no runs")
	}
	return err
}

// logState describes a log in a few words.
func logState(r *transcript.Report) string {
	switch {
	case r.Err() != nil:
		return "damaged"
	case r.Unverifiable:
		return "unverifiable: key missing"
	}
	return fmt.Sprintf("%d lines, signed up to line %d", r.Count, r.Signed)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

func threadsCommand() *cli.Command {
	return &cli.Command{
		Name: "threads", Group: "Items",
		Usage: "answer, stop and verify runs",
		Subs: []*cli.Command{threadsAnswerCommand(), threadsSendCommand(), threadsWaitCommand(), threadsEndCommand("cancel"), threadsEndCommand("kill"),
			threadsTailCommand(), threadsVerifyCommand()},
	}
}

// openRun opens the project and finds a run by the beginning of its id.
func openRun(ctx context.Context, c *cli.Call, m project.Mode) (*project.Project, string, error) {
	p, err := envOf(c).Open(ctx, m)
	if err != nil {
		return nil, "", err
	}
	id, err := graph.Find(p.Spaces.ProjectDir, c.Args[0])
	return p, id, err
}

func threadsAnswerCommand() *cli.Command {
	return &cli.Command{
		Name: "answer", Args: "RUN [NODE] VALUE",
		Usage: "answer a question of a suspended run and continue it",
		Long: `Checks the answer, writes it into the inbox of the run and continues the run here.
NODE can be left out if one question is open.`,
		Examples: []string{"rye threads answer release-01jd ready release"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState, diag.ValidationFailed, diag.ExecutionFailed},
		Complete: completeRuns,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := openRun(ctx, c, project.Strict)
			if err != nil {
				return err
			}
			node, value := "", c.Args[1]
			if len(c.Args) > 2 {
				node, value = c.Args[1], c.Args[2]
			}
			if err := graph.Answer(ctx, p.Spaces.ProjectDir, id, node, value, "person", p.Env.Now()); err != nil {
				return err
			}
			return wake(ctx, c, p, id)
		},
	}
}

// wake continues a suspended run. A run that a process runs reads its inbox itself.
func wake(ctx context.Context, c *cli.Call, p *project.Project, id string) error {
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	if s.State != graph.StateSuspended {
		c.UI.Note("the run is %s", s.State)
		return nil
	}
	return resumeRun(ctx, c, p, id, project.GraphOptions{})
}

func threadsSendCommand() *cli.Command {
	return &cli.Command{
		Name: "send", Args: "RUN EVENT [JSON]",
		Usage:    "send an event to a run and continue it if it waits",
		Examples: []string{`rye threads send release-01jd deployed '{"url": "https://example.org"}'`},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ParsingError, diag.ExecutionFailed},
		Complete: completeRuns,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := openRun(ctx, c, project.Strict)
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
			deepest, err := graph.Deepest(ctx, p.Spaces.ProjectDir, id)
			if err != nil {
				return err
			}
			switch deepest.State {
			case graph.StateCompleted, graph.StateError, graph.StateCancelled, graph.StateKilled:
				return diag.New(diag.ThreadState, "sending to %s: it is %s", deepest.ID, deepest.State).WithReason("ended").WithDetail("state", deepest.State)
			}
			m := graph.Message{Kind: "event", Name: c.Args[1], Payload: payload, By: "person"}
			if err := graph.Send(p.Spaces.ProjectDir, deepest.ID, m, p.Env.Now()); err != nil {
				return err
			}
			if deepest.Reason != "wait" {
				c.UI.Note("delivered to %s", deepest.ID)
				return nil
			}
			return wake(ctx, c, p, id)
		},
	}
}

func threadsWaitCommand() *cli.Command {
	var timeout string
	return &cli.Command{
		Name: "wait", Args: "RUN",
		Usage:    "wait until a run has ended or is suspended",
		Examples: []string{"rye threads wait release-01jd --timeout 10m"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.Timeout},
		Flags:    []cli.Flag{cli.String(&timeout, "timeout", "give up after this `DURATION` (default 10m)")},
		Complete: completeRuns,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := openRun(ctx, c, project.Lenient)
			if err != nil {
				return err
			}
			limit := 10 * time.Minute
			if timeout != "" {
				if limit, err = time.ParseDuration(timeout); err != nil {
					return diag.New(diag.Usage, "reading --timeout: %w", err)
				}
			}
			// The process of a run has the lock for its whole life.
			lock, err := transcript.Base(p.Spaces.ProjectDir, id).LockWithin(ctx, transcript.LockFile, limit)
			if err != nil {
				return diag.New(diag.Timeout, "waiting for %s: it still runs after %s", id, limit)
			}
			if err := lock.Release(); err != nil {
				return diag.Doing("waiting for "+id, err)
			}
			s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
			if err != nil {
				return err
			}
			return c.UI.Show(s, func() { c.UI.Out("%s %s", s.ID, s.State) })
		},
	}
}

func threadsEndCommand(verb string) *cli.Command {
	usage, state := "ask a run to stop after what is in flight", graph.StateCancelled
	if verb == "kill" {
		usage, state = "end the process of a run by force", graph.StateKilled
	}
	return &cli.Command{
		Name: verb, Args: "RUN", Usage: usage,
		Examples: []string{"rye threads " + verb + " release-01jd"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState},
		Complete: completeRuns,
		Run:      func(ctx context.Context, c *cli.Call) error { return runThreadsEnd(ctx, c, state) },
	}
}

func runThreadsEnd(ctx context.Context, c *cli.Call, state string) error {
	p, id, err := openRun(ctx, c, project.Lenient)
	if err != nil {
		return err
	}
	dir := p.Spaces.ProjectDir
	pid := graph.Owner(ctx, dir, id)
	if pid >= 0 {
		if state == graph.StateCancelled {
			if err := graph.Send(dir, id, graph.Message{Kind: "cancel", By: "person"}, p.Env.Now()); err != nil {
				return err
			}
		}
		// Where a process cannot be interrupted, it reads the inbox before its next node.
		if err := signalRun(pid, state == graph.StateKilled); err != nil && state == graph.StateKilled {
			return diag.New(diag.ThreadState, "stopping %s: process %d: %w", id, pid, err)
		}
		lock, err := transcript.Base(dir, id).LockWithin(ctx, transcript.LockFile, 10*time.Second)
		if err != nil {
			c.UI.Note("the run stops after the nodes in flight")
			return nil
		}
		_ = lock.Release()
	}
	params, err := p.GraphParams(ctx, policy.Person())
	if err != nil {
		return err
	}
	err = graph.Mark(ctx, id, state, params)
	s, serr := graph.Status(ctx, dir, id)
	if serr != nil {
		return serr
	}
	if pid >= 0 && s.State == state {
		err = nil // the process recorded it itself
	}
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"run_id": id, "state": s.State}, func() { c.UI.Out("%s %s", id, s.State) })
}

// signalRun interrupts the process of a run, or kills it.
func signalRun(pid int, kill bool) error {
	if pid <= 0 {
		return errors.New("the process is not known")
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if kill {
		return process.Kill()
	}
	return process.Signal(os.Interrupt)
}

func threadsTailCommand() *cli.Command {
	var follow bool
	return &cli.Command{
		Name: "tail", Args: "RUN", Usage: "print the log of a run",
		Examples: []string{"rye threads tail release-01jd -f"},
		Codes:    []diag.Code{diag.ThreadNotFound},
		Flags:    []cli.Flag{cli.Bool(&follow, "follow", "go on until the run rests").Alias("f")},
		Complete: completeRuns,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := openRun(ctx, c, project.Lenient)
			if err != nil {
				return err
			}
			return tailRun(ctx, c, p.Spaces.ProjectDir, id, follow)
		},
	}
}

// tailPause is the time between two reads of a log that grows.
const tailPause = 200 * time.Millisecond

func tailRun(ctx context.Context, c *cli.Call, dir, id string, follow bool) error {
	shown := 0
	for {
		// The lock is read before the log: what is written after it belongs to a
		// process that is seen the next time.
		rests := graph.Owner(ctx, dir, id) < 0
		l, err := graph.ReadLog(dir, id)
		if err != nil {
			return err
		}
		for _, s := range l.Steps[min(shown, len(l.Steps)):] {
			c.UI.Out("%s", hidden.Visible(fmt.Sprintf("%4d  %s  %-18s %s", s.Seq, s.Time, s.Event, s.Text)))
		}
		shown = len(l.Steps)
		if !follow || rests {
			return nil
		}
		if err := c.UI.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tailPause):
		}
	}
}

func threadsVerifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Args: "[RUN]",
		Usage: "verify the logs of runs",
		Long: `Checks the chain of every line, the signatures of the checkpoints and the artifacts of
one run, or of all runs of the project.`,
		Examples: []string{"rye threads verify", "rye threads verify release-01jd"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.TranscriptBroken},
		Complete: completeRuns,
		Run:      runThreadsVerify,
	}
}

func runThreadsVerify(ctx context.Context, c *cli.Call) error {
	p, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	dir := p.Spaces.ProjectDir
	var ids []string
	if len(c.Args) > 0 {
		id, err := graph.Find(dir, c.Args[0])
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
		rep, err := p.VerifyRun(ctx, id)
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
	for _, r := range reports {
		c.UI.Out("%s  %s", r.ID, logState(r))
	}
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

package threads

import (
	"context"
	"errors"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/dialog"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/waiting"
)

// ApproveCommand is rye approve.
func ApproveCommand() *cli.Command {
	return replyCommand("approve", graph.Once)
}

// DenyCommand is rye deny.
func DenyCommand() *cli.Command {
	return replyCommand("deny", graph.Deny)
}

func replyCommand(verb, decision string) *cli.Command {
	c := threadsDecideCommand(verb, decision)
	decide := c.Run
	c.Group = "Items"
	c.Args = "[THREAD [CALL]]"
	c.Usage = "answer what threads and runs ask"
	c.Long = `Without THREAD it lists the open questions of the threads of all projects of the user
account and of the suspended runs of this project, and at a terminal it asks the one that
is chosen. With THREAD it shows the questions of this thread in full and asks them.
Without a terminal, and with CALL, it answers at once, as rye threads ` + verb + ` does;
CALL is the call of a thread or the node of a run.`
	c.Examples = []string{"rye " + verb, "rye " + verb + " triage-01jd", "rye " + verb + " triage-01jd call_4_1"}
	c.Codes = append(c.Codes, diag.Usage)
	c.Run = func(ctx context.Context, c *cli.Call) error {
		switch {
		case len(c.Args) == 2:
			return decide(ctx, c)
		case len(c.Args) == 1 && !ask.CanAsk(c):
			return diag.New(diag.Usage, "answering %s: without a terminal, THREAD and CALL are needed", c.Args[0]).
				WithReason("call_needed").
				WithDetail("id", c.Args[0])
		case len(c.Args) == 1:
			p, id, err := watch.OpenLast(ctx, c, project.Strict)
			if err != nil {
				return err
			}
			return askOpen(ctx, c, p, id)
		}
		return chooseOpen(ctx, c)
	}
	return c
}

// chooseOpen lists the open questions of all threads and of the runs of this project, and asks one
// at a terminal.
func chooseOpen(ctx context.Context, c *cli.Call) error {
	p, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	list, err := control.Waiting(ctx, p, true)
	if err != nil {
		return err
	}
	if len(list) == 0 || !ask.CanAsk(c) {
		return c.UI.Show(map[string]any{"waiting": list}, func() {
			if len(list) == 0 {
				c.UI.Out("nothing waits for you")
			}
			t := cli.NewTable("waiting")
			for i := range list {
				x := &list[i]
				t.Add(
					watch.NumberCell(x.Number),
					watch.BareRef(x.Item),
					x.Waiting.Short(waiting.MaxText),
					watch.Age(c, x.Waiting.Since),
					x.Name,
					x.ID,
					x.Waiting.ID,
				)
			}
			c.UI.Table(t)
		})
	}
	t := &list[0]
	if len(list) > 1 {
		q := &dialog.Question{From: project.Count(len(list), "question"), Text: "Which one?", Escape: 'q'}
		for i := range list[:min(len(list), 9)] {
			x := &list[i]
			q.Text += "\n" + string(rune('1'+i)) + "  " + x.Item + "  " + x.Waiting.State(c.Now(), 40)
			q.Choices = append(q.Choices, dialog.Choice{Key: rune('1' + i), Label: x.ID[:max(0, len(x.ID)-20)] + "…", Help: x.ID})
		}
		q.Choices = append(q.Choices, dialog.Choice{
			Key:   'q',
			Label: "none",
			Help:  "nothing is answered",
			Words: []string{"none"},
		})
		a, err := ask.AtTerminal(ctx, c, q)
		if errors.Is(err, threads.ErrLeft) || a.Key == 'q' {
			return nil
		}
		if err != nil {
			return err
		}
		t = &list[a.Key-'1']
	}
	e := env.Of(c)
	e.Named = t.Project
	if p, err = e.Open(ctx, project.Strict); err != nil {
		return err
	}
	return askOpen(ctx, c, p, control.EndOfChain(p, t.ID))
}

// askOpen asks the open questions of a thread or run of a project, and continues it.
func askOpen(ctx context.Context, c *cli.Call, p *project.Project, id string) error {
	w, err := waiting.Of(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	if w == nil {
		return diag.New(diag.ThreadState, "answering %s: it asks nothing", id).
			WithReason("thread_no_question").
			WithDetail("id", id)
	}
	open, err := threads.OpenQuestions(p.Spaces.ProjectDir, id)
	if diag.CodeOf(err) == diag.ThreadNotFound {
		err = nil
	}
	if err != nil {
		return err
	}
	if len(open) == 0 && w.Kind == waiting.Question {
		s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
		if err == nil && s.Suspended != nil {
			return askSuspended(ctx, c, p, id, w)
		}
	}
	if len(open) == 0 {
		return askRun(ctx, c, p, id)
	}
	for i := range open {
		q := &open[i]
		about := threadhost.OpenAsked(ctx, p, id, q)
		about.Queue = func() (int, int) {
			return i + 1, len(open)
		}
		a, err := ask.AtTerminal(ctx, c, ask.CallQuestion(c, about))
		if errors.Is(err, threads.ErrLeft) {
			return nil // it stays open
		}
		if err != nil {
			return err
		}
		r := ask.ReplyTo(a)
		if r.Stop { // before the answer, which a process may take at once
			if err := control.StopTurn(p, id); err != nil {
				return err
			}
		}
		_, continues, err := control.DecideCall(
			ctx,
			p,
			id,
			q.ID,
			r,
			prefixOf(r, q),
		)
		if err != nil {
			return err
		}
		if continues && i == len(open)-1 {
			return watch.ResumeThread(ctx, c, p, id, &watch.ResumeOptions{})
		}
	}
	return nil
}

// prefixOf returns the prefix that an answer for a prefix repeats.
func prefixOf(r threads.Reply, q *threads.OpenQuestion) string {
	if r.Decision != threads.ForPrefix {
		return ""
	}
	return strings.Join(q.Prefixes, ", ")
}

// askSuspended asks what a suspended thread asks about itself.
func askSuspended(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	id string,
	w *waiting.Wait,
) error {
	answer, err := ask.AboutThread(c)(ctx, id, w.Text)
	switch {
	case errors.Is(err, threads.ErrLeft) || err == nil && answer == "later":
		return nil
	case err != nil:
		return err
	}
	r := threads.Reply{Decision: threads.Once}
	if answer == "no" {
		r.Decision = threads.Deny
	}
	_, err = watch.DecideThread(ctx, c, p, id, "", "", r)
	return err
}

// askRun asks the questions of a run of a graph.
func askRun(ctx context.Context, c *cli.Call, p *project.Project, id string) error {
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return err
	}
	for _, q := range s.Questions() {
		if !q.Approval {
			return watch.ResumeRun(ctx, c, p, id, graphhost.Options{}) // it asks here
		}
		yes, err := ask.AboutRisk(c)(ctx, exec.Asked{
			Question: q.Question,
			Tier:     q.Tier,
			Rule:     q.Rule,
			Details:  threadhost.ChangeLines(ctx, p, id, q.Change),
		})
		if errors.Is(err, threads.ErrLeft) {
			return nil
		}
		if err != nil {
			return err
		}
		decision := graph.Deny
		if yes {
			decision = graph.Once
		}
		if s, err = control.Decide(ctx, p, id, q.Node, decision); err != nil {
			return err
		}
	}
	return wakeFrom(ctx, c, p, s)
}

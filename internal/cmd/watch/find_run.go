package watch

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/dialog"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/waiting"
)

// OpenRun opens the project and finds a run by the beginning of its id.
func OpenRun(
	ctx context.Context,
	c *cli.Call,
	m project.Mode,
) (*project.Project, string, error) {
	p, err := env.Of(c).Open(ctx, m)
	if err != nil {
		return nil, "", err
	}
	id, err := FindRun(ctx, c, p, c.Args[0])
	return p, id, err
}

// reading are the commands that change nothing: of several threads that match they take the
// newest, and print which.
func reading(command string) bool {
	return slices.Contains(
		[]string{"threads show", "threads tail", "threads result", "threads tree", "threads chain", "threads cost", "threads search", "threads verify", "threads diff", "threads wait", "graph log"},
		command,
	)
}

// FindRun finds a run by what a person typed. Of several matches, a command that reads takes the
// newest, and one that acts asks at a terminal.
func FindRun(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	typed string,
) (string, error) {
	id, err := control.Find(ctx, p, typed)
	if diag.CodeOf(err) != diag.AmbiguousItem {
		return id, err
	}
	ids, _ := diag.Typed(err).Details["matches"].([]string)
	switch {
	case len(ids) == 0:
		return id, err
	case reading(c.UI.Command):
		c.UI.Note("%s match %s: this is the newest, %s", project.Count(len(ids), "thread"), typed, ids[0])
		return ids[0], nil
	case !ask.CanAsk(c):
		return id, err
	}
	q := &dialog.Question{From: project.Count(len(ids), "thread") + " match " + typed, Text: "Which one?", Escape: 'q'}
	for i, x := range ids[:min(len(ids), 9)] {
		about := ""
		w, werr := waiting.Of(ctx, p.Spaces.ProjectDir, x)
		if werr == nil && w != nil {
			about = "  " + w.State(c.Now(), 40)
		}
		s, serr := threads.ReadStarted(p.Spaces.ProjectDir, x)
		if serr == nil && about == "" {
			about = "  " + s.State + ", " + waiting.Age(c.Now().Sub(s.Rested))
		}
		q.Text += "\n" + string(rune('1'+i)) + "  " + x + about
		q.Choices = append(q.Choices, dialog.Choice{
			Key:   rune('1' + i),
			Label: "…" + x[max(0, len(x)-6):],
			Help:  x,
			Words: []string{x},
		})
	}
	q.Choices = append(q.Choices, dialog.Choice{
		Key:   'q',
		Label: "none",
		Help:  "nothing is changed",
		Words: []string{"none"},
	})
	a, aerr := ask.AtTerminal(ctx, c, q)
	if aerr != nil || a.Key == 'q' {
		return id, err
	}
	return ids[a.Key-'1'], nil
}

// OpenLast opens the project and finds the last thread of the chain of a thread.
func OpenLast(
	ctx context.Context,
	c *cli.Call,
	m project.Mode,
) (*project.Project, string, error) {
	p, id, err := OpenRun(ctx, c, m)
	if err != nil {
		return p, id, err
	}
	return p, control.EndOfChain(p, id), nil
}

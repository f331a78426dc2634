package chat

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/session"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/control"
)

// conversations returns the conversations of a project, the newest first.
func conversations(ctx context.Context, p *project.Project) ([]control.Entry, error) {
	list, err := control.List(ctx, p, false)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(t control.Entry) bool {
		s, err := threads.ReadStarted(p.Spaces.ProjectDir, t.ID)
		return err != nil || !s.Interactive || !hereStarted(p, s)
	}), nil
}

func listCommand() *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list the conversations of this project",
		Long:     `Lists the conversations of the project, or outside of projects of this directory, the newest first.`,
		Examples: []string{"rye chat list"},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := openLogs(ctx, c)
			if err != nil {
				return err
			}
			list, err := conversations(ctx, p)
			if err != nil {
				return err
			}
			return c.UI.Show(map[string]any{"conversations": list}, func() {
				if len(list) == 0 {
					c.UI.Out("no conversations")
					return
				}
				t := cli.NewTable("conversations")
				for _, l := range list {
					state := l.State
					if l.Reason != "" {
						state += " (" + l.Reason + ")"
					}
					if l.Waiting != nil {
						state = l.Waiting.State(c.Now(), 40)
					}
					t.Add(
						watch.NumberCell(l.Number),
						l.Name,
						state,
						watch.Age(c, l.Started),
						activity.Money(l.Spend),
						watch.BareRef(l.Item),
						l.ID,
					)
				}
				c.UI.Table(t)
			})
		},
	}
}

// openLogs opens the project whose logs have the conversations.
func openLogs(ctx context.Context, c *cli.Call) (*project.Project, error) {
	p, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil, err
	}
	return project.InAccount(p)
}

func renameCommand() *cli.Command {
	return &cli.Command{
		Name:     "rename",
		Args:     "THREAD NAME",
		Usage:    "name a conversation",
		Long:     `The name is in lists, and finds the conversation: rye chat --resume NAME. Without one, the first message names it.`,
		Examples: []string{"rye chat rename 12 'flaky test'"},
		Codes:    []diag.Code{diag.ThreadNotFound},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := openLogs(ctx, c)
			if err != nil {
				return err
			}
			id, err := watch.FindRun(ctx, c, p, c.Args[0])
			if err != nil {
				return err
			}
			name, err := session.Rename(ctx, p, id, c.Args[1])
			if err != nil {
				return err
			}
			return c.UI.Show(
				map[string]any{"thread_id": id, "name": name},
				func() {
					c.UI.Out("%s %s", cli.RunLabel(c, id), name)
				},
			)
		},
	}
}

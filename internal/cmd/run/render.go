package run

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/threadhost"
)

// renderThread prints what a model would read first. It calls no model.
func renderThread(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	req primary.Call,
	o *watch.ThreadOptions,
) error {
	opts := o.Options(c, req)
	opts.Plan = true
	var err error
	if opts.Attach, err = o.Attachments(c); err != nil {
		return err
	}
	r, err := threadhost.Render(ctx, h, opts)
	if err != nil {
		return err
	}
	return c.UI.Show(r, func() {
		for _, s := range r.Prompt.System {
			c.UI.Out("--- system: %s", s.Source)
			c.UI.Text(s.Text)
		}
		c.UI.Out("--- first message")
		for _, b := range r.Prompt.Message.Blocks {
			if b.Type == message.Text {
				c.UI.Text(b.Text)
			} else {
				c.UI.Out("%s", hidden.Visible(b.Describe()))
			}
		}
		c.UI.Out("--- tools")
		tools := cli.NewTable("tools of a prompt")
		for _, t := range r.Prompt.Tools {
			tools.Add(t.Name, firstRunes(t.Description, 100))
		}
		c.UI.Table(tools)
		first := ""
		if r.Model != "" {
			first = "the first call of " + r.Model + " can cost at most $" + activity.Money(r.FirstCall) + ", "
		}
		c.UI.Out("--- about %d tokens; %sthe thread can cost at most $%s", r.Tokens, first, activity.Money(r.Ceiling))
	})
}

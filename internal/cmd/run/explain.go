package run

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/explain"
	"github.com/ryeos/rye/threads/modelhost"
)

// explainThread prints what a thread would use. It calls no model.
func explainThread(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	req primary.Call,
	o *watch.ThreadOptions,
	whole bool,
) error {
	opts := o.Options(c, req)
	opts.Plan = true
	p, err := explain.Thread(ctx, h, opts)
	if err != nil {
		return err
	}
	return c.UI.Show(p, func() {
		for _, f := range p.Findings {
			c.UI.Warn("%s: %s", f.Location(), f.Message)
		}
		if !whole {
			c.UI.Out("%s is ready and its inputs are valid", p.Ref)
		}
		showPlan(c.UI, p, whole)
	})
}

// priceLine states what a million tokens cost.
func priceLine(p *modelhost.ModelPrices) string {
	line := fmt.Sprintf(
		"$%s in, $%s out for a million tokens",
		cmp.Or(p.Prices["input"], "?"),
		cmp.Or(p.Prices["output"], "?"),
	)
	if p.AsOf != "" {
		line += ", as of " + p.AsOf
	}
	if p.Problem != "" {
		line += " (" + p.Problem + ")"
	}
	return line
}

// showWhere adds where the log of a thread is, and what its tools see.
func showWhere(t *cli.Table, p *explain.Plan) {
	t.Add("log", "in "+p.Logs)
	switch w := p.Workspace; {
	case w.Empty:
		t.Add("files", "none: tools see an empty directory in place of "+w.Dir+", because "+p.Why)
	case w.Mode == threads.Read:
		t.Add("files", p.Dir+", which tools do not change")
	default:
		t.Add("files", p.Dir)
	}
}

func showPlan(u *cli.UI, p *explain.Plan, whole bool) {
	t := cli.NewTable("plan")
	t.Add("directive", fmt.Sprintf(
		"%s, signed by %s, %s",
		p.Ref,
		p.Directive.Owner,
		p.Directive.Space,
	))
	for _, e := range p.Extends {
		t.Add("extends", fmt.Sprintf("%s, signed by %s, %s", e.Ref, e.Owner, e.Space))
	}
	for i, m := range p.Models {
		name := "model"
		if i > 0 {
			name = "fallback"
		}
		t.Add(name, m.Model+" of "+m.Provider.Ref)
		if m.Host != "" {
			t.Add("host", m.Host)
		}
		t.Add("price", priceLine(&m.Prices))
	}
	if p.NoModel != "" {
		t.Add("model", "none: "+p.NoModel)
	}
	showWhere(t, p)
	l := p.Limits
	t.Add("limits", fmt.Sprintf(
		"%d turns, %d tokens, $%s, %d s",
		l.Turns,
		l.Tokens,
		activity.Money(l.Spend),
		l.DurationSeconds,
	))
	t.Add("capabilities", view.OrNone(p.Permits))
	if whole {
		for _, tool := range p.Tools {
			from := tool.Ref
			if tool.Space != "" {
				from += ", " + tool.Space
			}
			if len(tool.Hosts) > 0 {
				from += ", hosts " + strings.Join(tool.Hosts, " ")
			}
			t.Add("tool", tool.Name+" "+tool.Tier.String()+" "+from)
		}
		for _, list := range []struct {
			name string
			of   []string
		}{{"hook", p.Hooks}, {"context", p.Context}, {"check", p.Checks}} {
			for _, text := range list.of {
				t.Add(list.name, text)
			}
		}
		t.Add("loop", p.Loop.Ref+" "+p.Loop.Digest.String())
		for _, s := range p.Steps {
			t.Add("step", s.Ref+" "+s.Digest.String())
		}
	}
	u.Table(t)
}

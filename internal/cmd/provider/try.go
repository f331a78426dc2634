package provider

import (
	"context"
	"fmt"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/modelsetup"
)

// freeTry is the cost up to which provider test does not ask: one cent.
const freeTry policy.USD = 10_000_000

func providerTestCommand() *cli.Command {
	var model string
	var yes bool
	return &cli.Command{
		Name:  "test",
		Args:  "[NAME]",
		Usage: "call a model of a provider twice",
		Long: `Makes one call with one output token, and one in which the model has to call a tool.
Without a name, the first provider that can be used. The calls are in the ledger. If they
can cost more than one cent, a person confirms it.`,
		Examples: []string{"rye provider test anthropic", "rye provider test ollama --model qwen3:8b"},
		Codes: []diag.Code{
			diag.ToolNotFound,
			diag.AuthRequired,
			diag.AuthFailed,
			diag.PolicyDenied,
			diag.ProviderError,
			diag.Network,
			diag.BudgetExceeded,
			diag.ApprovalRequired,
			diag.ExecutionFailed,
		},
		Flags: []cli.Flag{
			cli.String(&model, "model", "the `MODEL` to call; else the model of the tier fast"),
			cli.Bool(&yes, "yes", "do not ask, whatever it can cost"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Strict)
			if err != nil {
				return err
			}
			s, err := chosenProvider(ctx, p, c.Arg(0))
			if err != nil {
				return err
			}
			report, err := modelsetup.Try(ctx, p, s, modelsetup.TryOptions{Model: model, Ask: ask.AboutRisk(c), Confirm: func(worst policy.USD) error {
				return confirmCost(c, yes, s.Ref, worst)
			}})
			return showTry(c, report, err)
		},
	}
}

// chosenProvider returns the named provider, else the first one that can be used.
func chosenProvider(ctx context.Context, p *project.Project, name string) (*modelhost.State, error) {
	if name != "" {
		return modelhost.StateOf(ctx, p, name)
	}
	all, err := modelhost.States(ctx, p)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(s *modelhost.State) bool {
		return s.Usable && len(s.Keys) > 0
	})
	if i < 0 {
		return nil, diag.New(diag.AuthRequired, "choosing a provider: none with a key can be used").WithReason("no_usable_provider")
	}
	return all[i], nil
}

func confirmCost(c *cli.Call, yes bool, ref string, worst policy.USD) error {
	if yes || worst <= freeTry {
		return nil
	}
	if !c.Isatty(c.Stdin) || c.UI.AsJSON {
		return diag.New(diag.ApprovalRequired, "calling %s: it can cost %s USD, and this process has no terminal to confirm it", ref, worst).WithReason("try_cost")
	}
	ok, err := c.Confirm(fmt.Sprintf("Call %s? It can cost %s USD.", ref, worst))
	if err == nil && !ok {
		err = diag.New(diag.ApprovalDenied, "calling %s: cancelled", ref)
	}
	return err
}

func showTry(c *cli.Call, r *modelsetup.Report, err error) error {
	human := func() {
		t := cli.NewTable("test call")
		for _, call := range r.Calls {
			cost := call.Cost.String()
			if call.Assumed {
				cost += " (assumed)"
			}
			t.Add(
				call.Purpose,
				call.Model,
				fmt.Sprintf("%d ms", call.LatencyMS),
				fmt.Sprint(call.Usage.InputTotal()),
				fmt.Sprint(call.Usage.Output),
				cost,
			)
		}
		c.UI.Table(t)
		for _, call := range r.Calls {
			if call.Beyond > 0 {
				c.UI.Note("the service counted more text than rye sent: the call %s cost %s USD more than was reserved", call.Purpose, call.Beyond)
			}
		}
	}
	switch {
	case r == nil:
		return err
	case err == nil:
		return c.UI.Show(r, human)
	case c.UI.AsJSON:
		return c.UI.Report(err, r, nil, nil)
	}
	human()
	return err
}

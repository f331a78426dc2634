package config

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/revision"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/item"
)

// configSetOptions are the flags of rye config set.
type configSetOptions struct {
	user bool
	key  string
}

func configSetCommand() *cli.Command {
	var o configSetOptions
	return &cli.Command{
		Name:  "set",
		Usage: "change values of your own configuration and sign it",
		Args:  "ID KEY=VALUE…",
		Long: `Sets values of the configuration ID in your user space, prints the old and the new
value, asks, and signs the file. Other values and comments stay. VALUE is YAML on one
line. Only your own items widen agent/allowance and agent/capability_risk, and a person
decides it: the command needs a terminal.`,
		Examples: []string{"rye config set --user agent/allowance sandbox.minimum=basic", `rye config set --user agent/allowance 'limits.spend="2.00"'`},
		Codes:    []diag.Code{diag.ApprovalRequired, diag.ApprovalDenied, diag.ItemNotFound, diag.ValidationFailed, diag.AuthRequired},
		Flags: []cli.Flag{
			cli.Bool(&o.user, "user", "in the user space, the only one that is possible"),
			cli.String(&o.key, "key", "sign with this `KEY`: a fingerprint, an owner or a file"),
		},
		Complete: complete.Items(item.Config),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runConfigSet(ctx, c, &o)
		},
	}
}

func runConfigSet(ctx context.Context, c *cli.Call, o *configSetOptions) error {
	if !o.user {
		return diag.New(diag.Usage, "setting values of config:%s: --user is missing; edit a file of the project and sign it", c.Arg(0)).
			WithReason("setting_user").
			WithDetail("id", c.Arg(0))
	}
	e := env.WithKey(c, o.key)
	if err := revision.FinishSigning(ctx, e); err != nil {
		return err
	}
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	change, err := signing.PlanSettings(ctx, h, c.Arg(0), c.Args[1:])
	if err != nil {
		return err
	}
	if err := confirmSettings(c, change); err != nil {
		return err
	}
	restricted, err := signing.WriteSettings(ctx, h, change)
	if err != nil {
		return err
	}
	for _, r := range restricted {
		c.UI.Warn("%s stays restricted by %s", r.Key, r.Where())
	}
	return c.UI.Show(change, func() {
		c.UI.Out("signed %s (%s)", change.Ref, change.Path)
	})
}

// confirmSettings prints the old and the new values and asks.
func confirmSettings(c *cli.Call, change *signing.SettingChange) error {
	if !c.Isatty(c.Stdin) || c.UI.AsJSON {
		return diag.New(diag.ApprovalRequired, "setting values of %s: a person confirms it at a terminal", change.Ref).
			WithReason("setting_headless").WithDetail("ref", change.Ref.String())
	}
	t := cli.NewTable("change")
	for _, s := range change.Settings {
		old := s.Old
		if old == "" {
			old = "not set"
		}
		t.Add(s.Key, old, "->", s.New)
	}
	c.UI.Table(t)
	yes, err := c.Confirm("Sign this as " + change.Path + "?")
	if err != nil {
		return err
	}
	if !yes {
		return diag.New(diag.ApprovalDenied, "setting values of %s: cancelled; nothing changed", change.Ref)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
)

// providerAddOptions are the flags of rye provider add.
type providerAddOptions struct {
	item        project.NewProvider
	key         string // that signs
	yes, noTest bool
}

func providerAddCommand() *cli.Command {
	o := providerAddOptions{item: project.NewProvider{Dialect: "openai_chat", Window: 32_768, MaxOutput: 8192}}
	return &cli.Command{
		Name: "add", Args: "[NAME]", Usage: "set up a provider and make it the first choice of threads",
		Long: `Without --url: takes the provider NAME, else one whose key is in the environment, else a
server of models on this machine. Asks for a missing key, calls the provider as
rye provider test does, and puts it first in your own config:agent/agent.
With --url: writes and signs an item NAME of your own before that, for a service that
speaks a known dialect. A service of this machine costs nothing unless you give prices.`,
		Examples: []string{"rye provider add anthropic", "rye provider add acme/vllm --url https://llm.acme.example --model qwen3-32b --key-name ACME_LLM_KEY --input-price 0.25 --output-price 0.75"},
		Codes:    []diag.Code{diag.ToolNotFound, diag.AuthRequired, diag.ValidationFailed, diag.ApprovalRequired, diag.ApprovalDenied, diag.ProviderError, diag.Network, diag.ExecutionFailed},
		Flags: []cli.Flag{
			cli.String(&o.item.URL, "url", "the `URL` of the service; the path of the dialect is added"),
			cli.String(&o.item.Dialect, "dialect", "`DIALECT` of the service").OneOf("openai_chat", "openai_responses", "anthropic_messages"),
			cli.String(&o.item.Model, "model", "the `MODEL` of the new item, or the one to test"),
			cli.Int(&o.item.Window, "window", "longest request in `TOKENS`"),
			cli.Int(&o.item.MaxOutput, "max-output", "longest answer in `TOKENS`"),
			cli.String(&o.item.Key, "key-name", "the `VARIABLE` with the key of the service"),
			cli.String(&o.item.InputPrice, "input-price", "`USD` for a million input tokens"),
			cli.String(&o.item.OutputPrice, "output-price", "`USD` for a million output tokens"),
			cli.Bool(&o.noTest, "no-test", "do not call the provider"),
			cli.Bool(&o.yes, "yes", "do not ask"),
			cli.String(&o.key, "key", "sign with this `KEY`: a fingerprint, an owner or a file"),
		},
		Run: func(ctx context.Context, c *cli.Call) error { return runProviderAdd(ctx, c, &o) },
	}
}

func runProviderAdd(ctx context.Context, c *cli.Call, o *providerAddOptions) error {
	e := envWithKey(c, o.key)
	p, err := e.Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	name := c.Arg(0)
	if o.item.URL != "" {
		if name == "" || o.item.Model == "" {
			return diag.New(diag.Usage, "adding a provider: --url needs NAME and --model")
		}
		o.item.ID = name
		if err := writeProvider(ctx, c, p, o); err != nil {
			return err
		}
		if p, err = e.Open(ctx, project.Strict); err != nil { // with the new item
			return err
		}
	}
	s, err := providerToAdd(ctx, c, p, name)
	if err != nil {
		return err
	}
	if s, err = ensureKeys(ctx, c, e, p, s); err != nil {
		return err
	}
	data := map[string]any{"provider": s.Ref}
	if !o.noTest {
		report, err := p.TryProvider(ctx, s, project.TryOptions{Model: o.item.Model, Ask: askAboutRisk(c), Confirm: func(worst policy.USD) error {
			return confirmCost(c, o.yes, s.Ref, worst)
		}})
		var failed *diag.Error
		if errors.As(err, &failed) && failed.Reason == project.NotCalled {
			c.UI.Warn("%s", err) // it can still write text
			err = nil
		}
		if err != nil {
			return err
		}
		data["test"] = report
		c.UI.Note("%s answered in %d ms", s.Ref, report.Calls[0].LatencyMS)
	}
	return preferProvider(ctx, c, p, s, o, data)
}

// confirmAdd asks before a file of the user is signed.
func confirmAdd(c *cli.Call, yes bool, path string) error {
	if yes {
		return nil
	}
	if !c.Isatty(c.Stdin) || c.UI.AsJSON {
		return diag.New(diag.ApprovalRequired, "signing %s: a person confirms it at a terminal", path).WithReason("provider_add")
	}
	ok, err := c.Confirm("Sign this as " + path + "?")
	if err == nil && !ok {
		err = diag.New(diag.ApprovalDenied, "signing %s: cancelled; nothing changed", path)
	}
	return err
}

func writeProvider(ctx context.Context, c *cli.Call, p *project.Project, o *providerAddOptions) error {
	a, err := p.PlanProvider(o.item)
	if err != nil {
		return err
	}
	if !c.UI.AsJSON {
		c.UI.Text(a.Text)
	}
	if err := confirmAdd(c, o.yes, a.Path); err != nil {
		return err
	}
	if err := p.WriteProvider(ctx, a); err != nil {
		return err
	}
	c.UI.Note("signed %s (%s)", a.Ref, a.Path)
	return nil
}

// providerToAdd returns the named provider, else one that can be used at once, else the
// one that the user names.
func providerToAdd(ctx context.Context, c *cli.Call, p *project.Project, name string) (*project.ProviderState, error) {
	if name != "" {
		return p.FindProvider(ctx, name)
	}
	all, err := p.Providers(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(all, func(s *project.ProviderState) bool { return s.Usable && len(s.Keys) > 0 }); i >= 0 {
		return all[i], nil
	}
	if local := project.LocalProviders(ctx, all); len(local) > 0 {
		return local[0], nil
	}
	if !c.Isatty(c.Stdin) {
		return nil, diag.New(diag.AuthRequired, "choosing a provider: no key is in the environment or stored, and no server of models answers on this machine").WithReason("no_usable_provider")
	}
	showProviders(c.UI, all)
	if name, err = c.Ask("Provider: "); err != nil {
		return nil, err
	}
	return p.FindProvider(ctx, name)
}

// ensureKeys asks for the keys that are missing.
func ensureKeys(ctx context.Context, c *cli.Call, e *project.Env, p *project.Project, s *project.ProviderState) (*project.ProviderState, error) {
	asked := false
	for _, k := range s.Keys {
		if k.Short {
			c.UI.Warn("the key %s is shorter than 8 characters: it is used, and not hidden in logs", k.Name)
		}
		if k.Source != "" || e.Person.Secret == nil {
			continue
		}
		value, err := readKey(c, e, k.Name)
		if err != nil {
			return nil, err
		}
		if err := e.Keys().Store(ctx, k.Name, value); err != nil {
			return nil, err
		}
		asked = true
	}
	var err error
	if asked {
		if s, err = p.FindProvider(ctx, s.Ref); err != nil {
			return nil, err
		}
	}
	if err := s.Check("adding"); err != nil {
		return nil, err
	}
	return s, nil
}

// preferProvider puts the provider first in the user's configuration.
func preferProvider(ctx context.Context, c *cli.Call, p *project.Project, s *project.ProviderState, o *providerAddOptions, data map[string]any) error {
	change, err := p.PreferProvider(ctx, s)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(s.Ref, "tool:")
	if change == nil {
		return c.UI.Show(data, func() { c.UI.Out("%s is the first provider of threads already", name) })
	}
	if !c.UI.AsJSON {
		c.UI.Out("providers: %s", change.Settings[0].New)
	}
	if err := confirmAdd(c, o.yes, change.Path); err != nil {
		return err
	}
	if _, err := p.Set(ctx, change); err != nil {
		return err
	}
	data["settings"] = change
	return c.UI.Show(data, func() { c.UI.Out("signed %s (%s): threads use %s first", change.Ref, change.Path, name) })
}

package provider

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/setup"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/models"
	"github.com/ryeos/rye/threads/modelsetup"
	"github.com/ryeos/rye/threads/provider"
)

// ProviderAddOptions are the flags of rye provider add.
type ProviderAddOptions struct {
	Wish                 models.Wish
	window, maxOutput    int
	key                  string // that signs
	Yes, NoTest, Replace bool

	Guided bool // rye setup asks: yes permits the signature, and nothing else
	Silent bool // nothing is asked, also at a terminal
	// signer makes a key before an item is signed if there is none, and returns the project
	// that has it; nil does not.
	Signer func(context.Context) (*project.Project, error)
}

// interactive reports whether the command may ask the person.
func (o *ProviderAddOptions) interactive(c *cli.Call) bool {
	return !o.Silent && c.Isatty(c.Stdin) && !c.UI.AsJSON
}

func providerAddCommand() *cli.Command {
	var o ProviderAddOptions
	return &cli.Command{
		Name:  "add",
		Args:  "[NAME]",
		Usage: "set up a provider and make it the first choice of threads",
		Long: `Without --url: takes the provider NAME, else one whose key is in the environment, else a
server of models on this machine. Asks for a missing key, calls the provider as
rye provider test does, and puts it first in your own config:agent/agent.

With --url it writes and signs an item NAME of your own before that. The URL may name
the host, an API root such as /v1, or an endpoint. rye asks the service which
dialect it speaks (it requests /v1/models, then /api/tags, then /v1beta/models), which
models it has, and what they cost; without --model it takes the only one or asks you. A test of a few short calls finds out what the service does otherwise than its
dialect, and the item records it. Nothing is written if the test fails. A service of this
machine costs nothing unless you give prices.`,
		Examples: []string{
			"rye provider add anthropic",
			"rye provider add mine/llm --url http://127.0.0.1:8080",
			"rye provider add acme/vllm --url https://llm.acme.example --model qwen3-32b --key-name ACME_LLM_KEY --input-price 0.25 --output-price 0.75",
		},
		Codes: []diag.Code{
			diag.ToolNotFound,
			diag.AuthRequired,
			diag.AuthFailed,
			diag.ValidationFailed,
			diag.AmbiguousItem,
			diag.ApprovalRequired,
			diag.ApprovalDenied,
			diag.ProviderError,
			diag.Network,
			diag.Timeout,
			diag.ExecutionFailed,
		},
		Flags: []cli.Flag{
			cli.String(&o.Wish.URL, "url", "the `URL` of the service; the path of the dialect is added"),
			cli.String(&o.Wish.Dialect, "dialect", "`DIALECT` of the service (default: what it answers with)").OneOf(append(models.Dialects(), provider.Mapped)...),
			cli.String(&o.Wish.Model, "model", "the `MODEL` of the new item, or the one to test"),
			cli.Int(&o.window, "window", "longest request in `TOKENS` (default: as the service states)"),
			cli.Int(&o.maxOutput, "max-output", "longest answer in `TOKENS` (default: as the service states)"),
			cli.String(&o.Wish.Key, "key-name", "the `VARIABLE` with the key of the service"),
			cli.String(&o.Wish.InputPrice, "input-price", "`USD` for a million input tokens"),
			cli.String(&o.Wish.OutputPrice, "output-price", "`USD` for a million output tokens"),
			cli.Bool(&o.NoTest, "no-test", "do not call the service"),
			cli.Bool(&o.Replace, "replace", "with --url: replace an item of that name"),
			cli.Bool(&o.Yes, "yes", "do not ask"),
			cli.String(&o.key, "key", "sign with this `KEY`: a fingerprint, an owner or a file"),
		},
		Needs: []cli.Need{{Flag: &o.Replace, With: &o.Wish.URL}},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runProviderAdd(ctx, c, &o)
		},
	}
}

func runProviderAdd(ctx context.Context, c *cli.Call, o *ProviderAddOptions) error {
	e := env.WithKey(c, o.key)
	p, err := e.Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	name := c.Arg(0)
	data := map[string]any{}
	if o.Wish.URL != "" {
		if name == "" {
			return diag.New(diag.Usage, "adding a provider: --url needs NAME, such as mine/llm")
		}
		o.Wish.ID = name
		o.Wish.Window = int64(o.window)
		o.Wish.MaxOutput = int64(o.maxOutput)
		s, err := AddService(ctx, c, p, o)
		if err != nil {
			return err
		}
		if p, err = e.Open(ctx, project.Strict); err != nil { // with the new item
			return err
		}
		name = s.Ref
		data["item"] = s.Item
		data["notes"] = append([]string{}, s.Notes...)
		if s.Report != nil {
			data["test"] = s.Report
		}
	}
	s, err := providerToAdd(ctx, c, p, name)
	if err != nil {
		return err
	}
	if s, err = EnsureKeys(ctx, c, e, p, s, o); err != nil {
		return err
	}
	data["provider"] = s.Ref
	if o.Wish.URL == "" && !o.NoTest {
		report, err := TryAdded(ctx, c, p, s, o)
		if err != nil {
			return err
		}
		data["test"] = report
	}
	err = modelsetup.MarkTested(ctx, p, []*modelhost.State{s})
	if err != nil {
		return err
	}
	if o.NoTest && !s.Tested {
		id := strings.TrimPrefix(s.Ref, "tool:")
		c.UI.Warn("%s was not tested, and threads will use it first: rye provider test %s calls it", id, id)
	}
	return preferProvider(ctx, c, p, s, o, data)
}

// TryAdded calls a provider that exists. A model that calls no tools can still write text.
func TryAdded(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	s *modelhost.State,
	o *ProviderAddOptions,
) (*modelsetup.Report, error) {
	report, err := modelsetup.Try(ctx, p, s, modelsetup.TryOptions{Model: o.Wish.Model, Ask: ask.AboutRisk(c), Confirm: func(worst policy.USD) error {
		return confirmCost(c, o.Yes && !o.Guided, s.Ref, worst)
	}})
	var failed *diag.Error
	if errors.As(err, &failed) && failed.Reason == modelsetup.NotCalled {
		c.UI.Warn("%s", err)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if !o.Guided && !o.Silent {
		c.UI.Note("%s answered in %d ms", s.Ref, report.Calls[0].LatencyMS)
	}
	return report, nil
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

// AddService asks a service what it is, tests it, and writes its item.
// The service is asked and called with the item in memory, so that a failed test leaves nothing.
// Only what was answered, loads and validates is signed. Without a terminal nothing is sent
// without --yes: the service may get a key.
func AddService(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	o *ProviderAddOptions,
) (*modelsetup.Service, error) {
	s, err := modelsetup.NewService(ctx, p, o.Wish)
	if err != nil {
		return nil, err
	}
	// Before anything is sent: the service may get a key.
	if !o.Yes && (!c.Isatty(c.Stdin) || c.UI.AsJSON) {
		return nil, confirmAdd(c, o.Yes, s.Path)
	}
	if err := serviceKey(ctx, c, p, s, o); err != nil {
		return nil, err
	}
	options := modelsetup.ServiceOptions{NoTest: o.NoTest, Confirm: func(worst policy.USD) error {
		return confirmCost(c, o.Yes && !o.Guided, s.Ref, worst)
	}}
	if o.interactive(c) {
		options.Choose = func(names []string) (string, error) {
			return chooseModel(c, names, o.Guided)
		}
	}
	if err := s.Discover(ctx, options); err != nil {
		for _, note := range s.Notes {
			c.UI.Warn("%s", note)
		}
		return nil, err
	}
	if o.Guided || o.Silent {
		for _, note := range s.Notes {
			c.UI.Warn("%s", note)
		}
	} else {
		showDiscovered(c, s)
	}
	if err := s.Settle(ctx, o.Replace); err != nil {
		return nil, err
	}
	if s.Exists == modelsetup.Equal {
		c.UI.Note("%s is up to date (%s)", s.Ref, s.Path)
		return s, nil
	}
	if s.Difference != "" && !c.UI.AsJSON {
		for line := range strings.Lines(s.Difference) {
			c.UI.Note("%s", strings.TrimSuffix(line, "\n"))
		}
	}
	if err := confirmAdd(c, o.Yes && (s.Difference == "" || !o.Guided), s.Path); err != nil {
		return nil, err
	}
	if o.Signer != nil {
		signer, err := o.Signer(ctx)
		if err == nil {
			err = s.SignIn(signer)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.Write(ctx, o.Replace); err != nil {
		return nil, err
	}
	c.UI.Note("signed %s (%s)", s.Ref, s.Path)
	return s, nil
}

// serviceKey finds the key of a service, or asks for it, and asks whether the service may
// get it.
func serviceKey(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	s *modelsetup.Service,
	o *ProviderAddOptions,
) error {
	found, short, err := s.FindKey()
	if err != nil {
		return err
	}
	if !found && p.Env.Person.Secret != nil && !o.Silent {
		value, err := readKey(c, p.Env, o.Wish.Key)
		if err != nil {
			return err
		}
		err = p.Env.Keys().Store(ctx, o.Wish.Key, value)
		if err != nil {
			return err
		}
		found, short, err = s.FindKey()
		if err != nil {
			return err
		}
	}
	if !found && !o.NoTest {
		return diag.New(diag.AuthRequired, "adding the provider %s: %s is not set", s.Ref, o.Wish.Key).
			WithReason("provider_key").
			WithDetail("provider", o.Wish.Key)
	}
	if short {
		c.UI.Warn("the key %s is shorter than 8 characters: it is used, and not hidden in logs", o.Wish.Key)
	}
	if o.Wish.Key == "" || o.Yes || o.NoTest {
		return nil
	}
	ok, err := c.Confirm("Send the key " + o.Wish.Key + " to " + o.Wish.URL + "?")
	if err == nil && !ok {
		err = diag.New(diag.ApprovalDenied, "adding the provider %s: cancelled; nothing changed", s.Ref)
	}
	return err
}

// chooseModel asks which of several models is used. enter states that Enter takes the first one.
func chooseModel(c *cli.Call, names []string, enter bool) (string, error) {
	for i, name := range names {
		c.UI.Out("%3d  %s", i+1, name)
	}
	question := "Model (a name or a number): "
	if enter {
		question = "Model, its name or number [" + names[0] + "]: "
	}
	answer, err := c.Ask(question)
	if err != nil {
		return "", err
	}
	if enter && answer == "" {
		return names[0], nil
	}
	n, nerr := strconv.Atoi(answer)
	if nerr == nil && n >= 1 && n <= len(names) {
		return names[n-1], nil
	}
	if !slices.Contains(names, answer) {
		return "", diag.New(diag.Usage, "choosing a model: the service has no model %q", answer)
	}
	return answer, nil
}

// showDiscovered prints the item and what a person has to know about it.
func showDiscovered(c *cli.Call, s *modelsetup.Service) {
	if !c.UI.AsJSON {
		c.UI.Text(s.Text)
	}
	if s.Report != nil {
		c.UI.Note("%s answered in %d ms", s.Ref, s.Report.Calls[0].LatencyMS)
		for _, note := range s.Report.Notes {
			c.UI.Note("the service differs from %s: %s", s.Item.Dialect, note)
		}
	}
	for _, note := range s.Notes {
		c.UI.Warn("%s", note)
	}
}

// providerToAdd returns the named provider, else one that can be used at once, else the
// one that the user names.
func providerToAdd(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	name string,
) (*modelhost.State, error) {
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
	if i >= 0 {
		return all[i], nil
	}
	found, err := modelsetup.FindServices(ctx, p, all)
	if err != nil {
		return nil, err
	}
	for _, choice := range found.Choices {
		if choice.Kind == setup.Server && len(choice.Items) > 0 {
			return modelhost.StateOf(ctx, p, choice.Items[0])
		}
	}
	if !c.Isatty(c.Stdin) {
		return nil, diag.New(diag.AuthRequired, "choosing a provider: no key is in the environment or stored, and no server of models answers on this machine").WithReason("no_usable_provider")
	}
	modelhost.Ask(ctx, p, all)
	modelhost.Describe(all)
	showProviders(c.UI, all)
	if name, err = c.Ask("Provider: "); err != nil {
		return nil, err
	}
	return modelhost.StateOf(ctx, p, name)
}

// EnsureKeys asks for the keys that are missing.
func EnsureKeys(
	ctx context.Context,
	c *cli.Call,
	e *project.Env,
	p *project.Project,
	s *modelhost.State,
	o *ProviderAddOptions,
) (*modelhost.State, error) {
	asked := false
	for _, k := range s.Keys {
		if k.Short && o.Wish.URL == "" { // otherwise the user has read it
			c.UI.Warn("the key %s is shorter than 8 characters: it is used, and not hidden in logs", k.Name)
		}
		if k.Source != "" || e.Person.Secret == nil || o.Silent {
			continue
		}
		value, err := readKey(c, e, k.Name)
		if err != nil {
			return nil, err
		}
		err = e.Keys().Store(ctx, k.Name, value)
		if err != nil {
			return nil, err
		}
		asked = true
	}
	var err error
	if asked {
		if s, err = modelhost.StateOf(ctx, p, s.Ref); err != nil {
			return nil, err
		}
	}
	if err := s.Check("adding"); err != nil {
		return nil, err
	}
	return s, nil
}

// preferProvider puts the provider first in the user's configuration.
func preferProvider(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	s *modelhost.State,
	o *ProviderAddOptions,
	data map[string]any,
) error {
	change, err := modelsetup.Prefer(ctx, p, s, "")
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(s.Ref, "tool:")
	if change == nil {
		return c.UI.Show(data, func() {
			c.UI.Out("%s is the first provider of threads already", name)
		})
	}
	if !c.UI.AsJSON {
		c.UI.Out("providers: %s", change.Settings[0].New)
	}
	if err := confirmAdd(c, o.Yes, change.Path); err != nil {
		return err
	}
	if _, err := signing.WriteSettings(ctx, p, change); err != nil {
		return err
	}
	data["settings"] = change
	return c.UI.Show(data, func() {
		c.UI.Out("signed %s (%s): threads use %s first", change.Ref, change.Path, name)
	})
}

package setup

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/key"
	"github.com/ryeos/rye/internal/cmd/provider"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/setup"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads/explain"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/models"
	"github.com/ryeos/rye/threads/modelsetup"
	"github.com/ryeos/rye/threads/threadhost"
)

// setupOptions are the flags of rye setup.
type setupOptions struct {
	provider string
	ready    bool // there is a model now
	asked    bool // a question waits for it: no first question is asked
	add      provider.ProviderAddOptions
}

func Command() *cli.Command {
	var o setupOptions
	return &cli.Command{
		Name:  "setup",
		Group: "Items",
		Usage: "set up a model, a key to sign with, and completion",
		Long: `Looks for services of models that you can use at once: installed programs with a login,
keys in the environment or stored, and servers on this machine that answer with a list of
models. You choose one; rye calls it once, makes a key for you if you have none, puts the
service first in your own config:agent/agent, offers the completion of your shell, and
asks a first question. Each step can be skipped, and the command can be repeated.

--yes asks nothing: it takes --provider, or else the first service that is found.
--provider is a name of that list, the id of a provider item, or with --url the id of an
item of your own that describes the service. If that item exists, rye shows the difference
to what it finds now, and asks before it replaces the item.`,
		Examples: []string{
			"rye setup",
			"rye setup --yes --provider ollama --model qwen3:8b",
			"rye setup --yes --provider mine/llm --url http://127.0.0.1:8080",
		},
		Codes: []diag.Code{
			diag.AuthRequired,
			diag.AuthFailed,
			diag.ToolNotFound,
			diag.ValidationFailed,
			diag.ProviderError,
			diag.Network,
			diag.Timeout,
			diag.ApprovalRequired,
		},
		Flags: []cli.Flag{
			cli.Bool(&o.add.Yes, "yes", "ask nothing"),
			cli.String(&o.provider, "provider", "the service, by its `NAME`"),
			cli.String(&o.add.Wish.Model, "model", "the `MODEL` that threads use"),
			cli.String(&o.add.Wish.URL, "url", "the `URL` of a service without an item"),
			cli.String(&o.add.Wish.Key, "key-name", "with --url, the `VARIABLE` with its key"),
			cli.String(&o.add.Wish.InputPrice, "input-price", "with --url, `USD` for a million input tokens"),
			cli.String(&o.add.Wish.OutputPrice, "output-price", "with --url, `USD` for a million output tokens"),
			cli.Bool(&o.add.NoTest, "no-test", "do not call the service"),
		},
		Needs: []cli.Need{{Flag: &o.add.Wish.URL, With: &o.provider}, {Flag: &o.add.Wish.Key, With: &o.add.Wish.URL},
			{Flag: &o.add.Wish.InputPrice, With: &o.add.Wish.URL}, {Flag: &o.add.Wish.OutputPrice, With: &o.add.Wish.URL}},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runSetup(ctx, c, &o)
		},
	}
}

// OfferSetup sets up a model if a prompt has none and the person accepts, and reports whether
// there is one then.
func OfferSetup(ctx context.Context, c *cli.Call, err error) (bool, error) {
	if diag.CodeOf(err) != diag.AuthRequired ||
		diag.Typed(err).Reason != "no_provider" ||
		!c.Isatty(c.Stdin) ||
		!c.Isatty(c.Stderr) ||
		c.UI.AsJSON {
		return false, err
	}
	answer, aerr := c.Ask("No model is set up. Set one up now? [Y/n] ")
	if aerr != nil || answer != "" && !strings.HasPrefix(strings.ToLower(answer), "y") {
		return false, cmp.Or(aerr, err)
	}
	o := &setupOptions{asked: true}
	if serr := runSetup(ctx, c, o); serr != nil {
		return false, serr
	}
	if !o.ready {
		return false, err
	}
	return true, nil
}

// setupRun is one run of rye setup.
type setupRun struct {
	c    *cli.Call
	o    *setupOptions
	e    *project.Env
	p    *project.Project
	data setupResult
}

// setupResult is the data of rye setup --json.
type setupResult struct {
	Found      []setup.Choice     `json:"found,omitzero"` // nil if it was not looked for
	Item       *models.Item       `json:"item,omitempty"` // that was written
	Key        *key.NewKey        `json:"key,omitempty"`  // that was made
	Test       *modelsetup.Report `json:"test,omitempty"`
	Provider   string             `json:"provider,omitempty"`
	Model      string             `json:"model,omitempty"` // of a thread without a tier
	Completion string             `json:"completion,omitempty"`
}

func runSetup(ctx context.Context, c *cli.Call, o *setupOptions) error {
	if !o.add.Yes && (!c.Isatty(c.Stdin) || c.UI.AsJSON) {
		return diag.New(diag.ApprovalRequired, "setting up: a person answers the questions at a terminal").WithReason("setup_terminal")
	}
	o.add.Silent = o.add.Yes
	o.add.Guided = !o.add.Yes
	o.add.Yes = true
	o.add.Replace = true
	s := &setupRun{c: c, o: o, e: env.Of(c)}
	o.add.Signer = s.key
	ready, err := s.model(ctx)
	if err != nil {
		return err
	}
	o.ready = ready
	if o.add.Guided {
		if err := s.completion(); err != nil {
			return err
		}
	}
	return s.finish(ctx, ready)
}

// open opens the project again: it reads what was written.
func (s *setupRun) open(ctx context.Context) (err error) {
	s.p, err = s.e.Open(ctx, project.Strict)
	return err
}

// model sets up the model, and reports whether there is one then.
func (s *setupRun) model(ctx context.Context) (bool, error) {
	if err := s.open(ctx); err != nil {
		return false, err
	}
	choice, err := s.choice(ctx)
	if err != nil || choice == nil {
		return false, err
	}
	used, err := s.use(ctx, choice)
	if err != nil {
		return false, err
	}
	// The service has answered: a name that is wrong, or a service that refuses, leaves no key.
	if _, err := s.key(ctx); err != nil {
		return false, err
	}
	err = modelsetup.MarkTested(ctx, s.p, []*modelhost.State{used})
	if err != nil {
		return false, err
	}
	return true, s.prefer(ctx, used)
}

// choice returns the service to use, nil if the person skips it.
func (s *setupRun) choice(ctx context.Context) (*setup.Choice, error) {
	o := s.o
	if o.add.Wish.URL != "" {
		return &setup.Choice{Kind: setup.Server, Name: o.provider, URL: o.add.Wish.URL}, nil
	}
	all, err := modelhost.States(ctx, s.p)
	if err != nil {
		return nil, err
	}
	found, err := modelsetup.FindServices(ctx, s.p, all)
	if err != nil {
		return nil, err
	}
	s.data.Found = found.Choices
	switch {
	case o.provider != "":
		return found.Named(o.provider, o.add.Wish.Model), nil
	case o.add.Silent && len(found.Choices) > 0:
		return found.Named(found.Choices[0].Name, o.add.Wish.Model), nil
	case o.add.Silent:
		return nil, diag.New(diag.AuthRequired, "setting up a model: nothing that can be used was found: %s", strings.Join(found.Tried, "; ")).
			WithReason("setup_nothing").
			WithDetail("tried", found.Tried)
	}
	return s.ask(ctx, found)
}

// ask shows the services that were found and asks for one of them, or for any other.
func (s *setupRun) ask(ctx context.Context, found *setup.Found) (*setup.Choice, error) {
	u := s.c.UI
	for i, choice := range found.Choices {
		u.Out("%3d  %-44s %s", i+1, choice.Title, choice.Name)
	}
	if len(found.Choices) == 0 {
		u.Note("nothing that can be used was found: %s", strings.Join(found.Tried, "; "))
	}
	other := len(found.Choices) + 1
	u.Out("%3d  another service: its URL, or the name of one with a key", other)
	answer, err := s.c.Ask("Choose, s skips [1]: ")
	if err != nil {
		return nil, err
	}
	if answer == "" {
		answer = "1"
	}
	n, nerr := strconv.Atoi(answer)
	switch {
	case strings.EqualFold(answer, "s"):
		return nil, nil
	case nerr == nil && n >= 1 && n < other:
		return &found.Choices[n-1], nil
	case nerr == nil && n == other:
		answer, err = s.c.Ask("URL, or anthropic, gemini, openai, openrouter; Enter skips: ")
		if err != nil || answer == "" {
			return nil, err
		}
	case nerr == nil:
		return nil, diag.New(diag.Usage, "choosing a service: %d is not in the list", n)
	}
	if setup.IsAddress(answer) {
		return s.askService(ctx, answer)
	}
	return found.Named(answer, s.o.add.Wish.Model), nil
}

// askService asks for what the address of a service leaves open.
func (s *setupRun) askService(ctx context.Context, address string) (*setup.Choice, error) {
	secret, err := s.c.AskSecret("Its key, Enter for none (not shown): ")
	if err != nil {
		return nil, err
	}
	if value := strings.TrimSpace(string(secret)); value != "" {
		s.o.add.Wish.Key = setup.KeyVariable(address)
		err := s.e.Keys().Store(ctx, s.o.add.Wish.Key, value)
		if err != nil {
			return nil, err
		}
	}
	return &setup.Choice{Kind: setup.Server, Name: "service", URL: address}, nil
}

// key makes a key for a person who has none. It returns the project that has it.
func (s *setupRun) key(ctx context.Context) (*project.Project, error) {
	if _, err := s.p.Keys.OwnKey(""); diag.CodeOf(err) != diag.AuthRequired {
		return s.p, nil // another error is reported when something is signed
	}
	o := &key.KeyOptions{Owner: key.KeyOwner(ctx, s.c, ""), Kind: key.KeyUser, Expires: key.DefaultExpiry}
	switch {
	case s.o.add.Silent:
		o.NoPassphrase = !hasPassphraseFile(s.c)
	default:
		pass, err := setupPassphrase(s.c, o.Owner)
		if err != nil {
			return nil, err
		}
		o.Passphrase = pass
		o.NoPassphrase = pass == nil
	}
	k, err := key.MakeKey(ctx, s.c, s.p, o)
	if err != nil {
		return nil, err
	}
	s.data.Key = k
	s.c.UI.Note("made the key %q, valid until %s; keep %s offline: anybody who has it can revoke the key", k.Owner, k.NotAfter.Format("2006-01-02"), k.Revocation)
	err = s.open(ctx)
	return s.p, err
}

// use calls the service, and writes an item for it if it has none.
func (s *setupRun) use(ctx context.Context, choice *setup.Choice) (*modelhost.State, error) {
	add := &s.o.add
	if choice.Provider == "" {
		add.Wish.URL = choice.URL
		add.Wish.ID = choice.Name
		if !strings.Contains(add.Wish.ID, "/") {
			add.Wish.ID = "mine/" + add.Wish.ID
		}
		service, err := provider.AddService(ctx, s.c, s.p, add)
		if err != nil {
			return nil, err
		}
		s.data.Item = service.Item
		if service.Report != nil {
			s.tested(service.Report)
		}
		if err := s.open(ctx); err != nil {
			return nil, err
		}
		return modelhost.StateOf(ctx, s.p, service.Ref)
	}
	state, err := modelhost.StateOf(ctx, s.p, choice.Provider)
	if err != nil {
		return nil, err
	}
	if add.Wish.Model != "" { // before anything is stored
		tier, err := setup.Tier(state.Ref, state.Tiers, add.Wish.Model)
		if err != nil {
			return nil, err
		}
		add.Wish.Model = state.Tiers[tier]
	}
	if state, err = provider.EnsureKeys(ctx, s.c, s.e, s.p, state, add); err != nil {
		return nil, err
	}
	if !add.NoTest {
		report, err := provider.TryAdded(ctx, s.c, s.p, state, add)
		if err != nil {
			return nil, err
		}
		if report != nil {
			s.tested(report)
		}
	}
	return state, nil
}

// tested prints the outcome of the call.
func (s *setupRun) tested(r *modelsetup.Report) {
	s.data.Test = r
	s.c.UI.Note("Test call, at most $%s: %s answered in %d ms.", r.Worst, r.Model, r.Calls[0].LatencyMS)
}

// prefer puts a provider first in the configuration of the user, with the tier of the wanted model.
func (s *setupRun) prefer(ctx context.Context, used *modelhost.State) error {
	s.data.Provider = used.Ref
	tier := ""
	if model := s.o.add.Wish.Model; model != "" {
		var err error
		if tier, err = setup.Tier(used.Ref, used.Tiers, model); err != nil {
			return err
		}
	}
	change, err := modelsetup.Prefer(ctx, s.p, used, tier)
	if err != nil || change == nil {
		return err
	}
	if _, err := signing.WriteSettings(ctx, s.p, change); err != nil {
		return err
	}
	s.c.UI.Note("stored in %s (%s), signed", change.Ref, change.Path)
	return s.open(ctx)
}

// finish states what comes next, and asks the first question.
func (s *setupRun) finish(ctx context.Context, ready bool) error {
	if note := notInPath(s.c); note != "" {
		s.c.UI.Note("%s", note)
	}
	if !ready {
		return s.c.UI.Show(s.data, func() {
			s.c.UI.Out("No model is set up. rye setup can be repeated.")
		})
	}
	plan, err := explain.Thread(
		ctx,
		s.p,
		&threadhost.Options{
			Ref:    env.PromptDirective(),
			Params: map[string]any{"prompt": "x"},
			Held:   policy.Person(),
			Plan:   true,
		},
	)
	if err == nil && len(plan.Models) > 0 {
		s.data.Model = plan.Models[0].Model
		if plan.Models[0].Provider.Ref != s.data.Provider {
			s.c.UI.Warn(
				"threads of this project use %s of %s: its own config:agent/agent comes before yours",
				plan.Models[0].Model,
				plan.Models[0].Provider.Ref,
			)
		}
	}
	if s.o.asked {
		return nil
	}
	if s.o.add.Silent {
		return s.c.UI.Show(s.data, func() {
			s.c.UI.Out("Ready: rye \"What is here?\"")
		})
	}
	const first = "What is here?"
	text, err := s.c.Ask("First question, s skips [" + first + "]: ")
	if err != nil {
		return err
	}
	switch {
	case slices.Contains([]string{"s", "skip", "n", "no", "q"}, strings.ToLower(text)):
		s.c.UI.Out("Ready: rye \"%s\"", first)
		return nil
	case text == "":
		text = first
	}
	return watch.RunThread(
		ctx,
		s.c,
		s.p,
		primary.Call{Ref: env.PromptDirective(), Params: map[string]any{"prompt": text}, Held: policy.Person()},
		&watch.ThreadOptions{},
	)
}

// completion offers the completion of the shell.
func (s *setupRun) completion() error {
	c := s.c
	shell, file := setup.CompletionFile(c.Getenv("SHELL"), s.e.Home(), c.Getenv)
	if shell == "" {
		return nil
	}
	script, err := cli.CompletionScript(shell)
	if err != nil {
		return diag.New(diag.Internal, "reading the completion of %s: %w", shell, err)
	}
	if file == "" {
		c.UI.Note("completion for %s: rye completion %s --help", shell, shell)
		return nil
	}
	if installed(file, script) {
		return nil
	}
	yes, err := c.Confirm("Install completion for " + shell + " as " + file + "?")
	if err != nil || !yes {
		return err
	}
	if err := install(file, script); err != nil {
		return err
	}
	s.data.Completion = filepath.ToSlash(file)
	c.UI.Note("completion works in the next %s", shell)
	return nil
}

package prepare

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/directive"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/provider"
	"github.com/ryeos/rye/threads/steps"
)

// services returns the models of a thread: the one that the caller or the directive
// asks for, then its fallbacks.
func services(
	ctx context.Context,
	p *project.Project,
	m directive.Model,
	o *Request,
) ([]*threads.Service, error) {
	s, err := p.Resolver.Config(ctx, steps.AgentConfig)
	if err != nil {
		return nil, err
	}
	cfg := tree.NewReader(&tree.Doc{Root: s.Root}, diag.ConfigError)
	if o.Model != "" {
		if o.Model != m.ID {
			m.Provider = "" // it was chosen for the directive's model
		}
		m.ID = o.Model
		m.Tier = ""
	}
	if o.Provider != "" {
		m.Provider = o.Provider
	}
	if m.ID == "" && m.Tier == "" {
		m.Tier = cfg.Text("default_tier")
	}
	names := cfg.Texts("providers", nil)
	if o.Model != "" && m.Provider == "" {
		if names, err = withModel(ctx, p, names, m.ID); err != nil {
			return nil, err
		}
	}
	first, err := service(ctx, p, m.Provider, names, m.ID, m.Tier)
	if err != nil {
		return nil, err
	}
	out := []*threads.Service{first}
	if o.NoFallback {
		return out, nil
	}
	for _, f := range m.Fallback {
		other, err := service(ctx, p, f.Provider, names, f.Model, f.Tier)
		if err == nil &&
			!slices.ContainsFunc(out, func(s *threads.Service) bool {
				return s.Provider == other.Provider &&
					s.Model == other.Model
			}) {
			out = append(out, other)
		}
	}
	return out, nil
}

// withModel adds the providers that have a model to the providers of the configuration: a
// person who names a model chooses its provider, also one that is not in the order.
func withModel(
	ctx context.Context,
	p *project.Project,
	names []string,
	model string,
) ([]string, error) {
	all, err := modelhost.States(ctx, p)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(names)
	for _, s := range all {
		id := strings.TrimPrefix(s.Ref, "tool:")
		if slices.Contains(s.Models, model) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// service returns a model of a provider: of the one that is named, else of the first one
// that has it and can be used.
func service(
	ctx context.Context,
	p *project.Project,
	named string,
	names []string,
	model, tier string,
) (*threads.Service, error) {
	if named != "" {
		f, err := modelhost.Named(ctx, p, named)
		if err != nil {
			return nil, err
		}
		if f.Why != nil {
			return nil, f.Why
		}
		return serviceOf(ctx, p, f, model, tier)
	}
	var whys []string
	var first error
	for _, name := range names {
		f, err := modelhost.Find(ctx, p, name)
		if diag.CodeOf(err) == diag.ToolNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !offers(f, model, tier) {
			continue
		}
		if f.Why != nil {
			first = cmpErr(first, f.Why)
			missing, _ := diag.Typed(f.Why).Details["missing"].([]string)
			if len(missing) > 0 {
				whys = append(whys, f.Item.Ref.ID+" needs "+strings.Join(missing, ", "))
			} else {
				whys = append(whys, diag.Typed(f.Why).Error())
			}
			continue
		}
		return serviceOf(ctx, p, f, model, tier)
	}
	what := "the model " + model
	if model == "" {
		what = "a model of the tier " + tier
	}
	if first == nil {
		return nil, diag.New(diag.ConfigError, "finding %s: no provider of config:%s has it", what, steps.AgentConfig)
	}
	if diag.CodeOf(first) != diag.AuthRequired {
		return nil, first
	}
	return nil, diag.New(diag.AuthRequired, "finding %s: no provider can be used: %s", what, strings.Join(whys, "; ")).
		WithReason("no_provider")
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func offers(f *modelhost.Provider, model, tier string) bool {
	if model != "" {
		return f.Config.Models[model] != nil
	}
	return f.Config.Tiers[tier] != ""
}

// serviceOf returns one model of a provider.
func serviceOf(
	ctx context.Context,
	p *project.Project,
	f *modelhost.Provider,
	model, tier string,
) (*threads.Service, error) {
	c := f.Config
	if model == "" {
		if model = c.Tiers[tier]; model == "" {
			return nil, diag.New(diag.ConfigError, "using %s: it has no model of the tier %q", f.Item.Ref, tier)
		}
	}
	m, err := c.Model(model)
	if err != nil {
		return nil, err
	}
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, err
	}
	if !a.AllowsModel(model) {
		return nil, diag.New(diag.PolicyDenied, "using the model %s: models of config:%s does not permit it", model, policy.AllowanceID)
	}
	if c.Billing != "subscription" && (m.Prices.Input < 0 || m.Prices.Output < 0) {
		return nil, diag.New(diag.ConfigError, "using the model %s of %s: it has no prices, so its spend cannot be limited; add prices: {input: \"0\", output: \"0\"} if it costs nothing", model, f.Item.Ref)
	}
	return &threads.Service{
		Provider:  f.Item.Ref,
		Digest:    f.Item.Digest,
		Model:     model,
		Tier:      tier,
		Window:    m.Window,
		MaxOutput: m.MaxOutput,
		WorstCase: func(req *message.Request, previous *threads.Previous) (threads.Estimate, error) {
			var prev *provider.Previous
			if previous != nil {
				prev = &provider.Previous{Usage: previous.Usage, Bytes: previous.Bytes, Media: previous.Media}
			}
			r, err := c.WorstCase(*req, prev)
			return threads.Estimate{
				Input:  r.Input,
				Output: r.Output,
				Bytes:  r.Bytes,
				Media:  r.Media,
				Cost:   policy.USD(r.Amount),
			}, err
		},
		Inputs: c.Inputs(m),
		CheckMedia: func(b *message.Block) error {
			return c.CheckMedia(m, b)
		},
		MediaTokens: m.MediaTokens,
		Cost: func(model string, u message.Usage) (policy.USD, bool) {
			n, assumed := c.Cost(model, u)
			return policy.USD(n), assumed || u.Assumed > 0 || u.Raised > 0
		},
	}, nil
}

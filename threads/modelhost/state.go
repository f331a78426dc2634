package modelhost

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/credentials"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads/provider"
)

// Dir is the directory of the ids that can be named by their last part.
const Dir = "rye/agent/providers/"

// KeyState is where one key of a provider comes from.
type KeyState struct {
	Name   string `json:"name"`
	Source string `json:"source,omitempty"` // "" if it is missing
	Short  bool   `json:"short,omitempty"`  // logs show it
}

// State is a provider item and whether it can be used here.
type State struct {
	Ref     string            `json:"ref"`
	Dialect string            `json:"dialect,omitempty"`
	Billing string            `json:"billing,omitempty"`
	Tiers   map[string]string `json:"tiers"`
	Models  []string          `json:"models"`
	Keys    []KeyState        `json:"keys"`
	Space   string            `json:"space"`
	Signer  string            `json:"signer"`
	Trust   string            `json:"trust"`
	Usable  bool              `json:"usable"`
	Tested  bool              `json:"tested"`        // set by modelsetup.MarkTested
	Why     string            `json:"why,omitempty"` // it is not usable
	Code    diag.Code         `json:"code,omitempty"`
	Answers *bool             `json:"answers,omitempty"` // nil if it was not asked; see Ask
	State   string            `json:"state"`             // in two or three words; see Describe

	Item    *resolve.Item    `json:"-"`
	Config  *provider.Config `json:"-"`
	refusal error            // nil if it is usable
}

// States returns every provider item that a ref finds, in the order of their ids.
func States(ctx context.Context, p *project.Project) ([]*State, error) {
	entries, err := p.Resolver.All(ctx, item.Tool)
	if err != nil {
		return nil, err
	}
	var out []*State
	for _, e := range entries {
		if e.Shadow {
			continue
		}
		it, err := p.Resolver.Open(ctx, e)
		if err != nil || it.Support() || it.Meta.ToolType != exec.ProviderType {
			continue // an item that is not readable has no type; rye verify reports it
		}
		s, err := providerState(ctx, p, it)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// StateOf returns the provider item with an id, or the one of rye/agent/providers
// with that last part.
func StateOf(ctx context.Context, p *project.Project, name string) (*State, error) {
	all, err := States(ctx, p)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, s := range all {
		id := strings.TrimPrefix(s.Ref, "tool:")
		if id == strings.TrimPrefix(name, "tool:") || id == Dir+name {
			return s, nil
		}
		known = append(known, strings.TrimPrefix(id, Dir))
	}
	missing := diag.New(diag.ToolNotFound, "finding the provider %q: no space has a provider with that id", name).
		WithReason("no_provider_item").WithDetail("known", known)
	if near := suggest.Nearest(name, known); near != "" {
		missing = missing.WithReason("nearest").WithDetail("nearest", near)
	}
	return nil, missing
}

// askWithin bounds the question to a service whether it is there.
const askWithin = 2 * time.Second

// Ask asks the services of the usable providers at once whether they are there,
// and sets Answers. No key is sent.
// Services are asked without a key, all at once and for at most two seconds. Any response of the
// host is an answer.
func Ask(ctx context.Context, p *project.Project, all []*State) {
	within, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var asked sync.WaitGroup
	for _, s := range all {
		if !s.Usable || s.Config.Program != nil {
			continue
		}
		asked.Go(func() {
			answers := p.Executor.Reach(within, s.Item, policy.Person()) == nil
			s.Answers = &answers
		})
	}
	asked.Wait()
}

// Describe sets State of providers.
func Describe(all []*State) {
	for _, s := range all {
		s.State = s.Status()
		// The items of rye are tested with the services that they name.
		if s.Usable &&
			!s.Tested &&
			s.Space != string(space.System) &&
			!strings.HasPrefix(s.Space, string(space.System)+":") {
			s.State += ", not tested"
		}
	}
}

// Status returns the state of a provider in two or three words.
func (s *State) Status() string {
	var why *diag.Error
	errors.As(s.refusal, &why)
	switch {
	case s.Usable && s.Answers != nil && *s.Answers:
		return "answers"
	case s.Usable && s.Answers != nil:
		return "no answer"
	case s.Usable && s.Config.Program != nil:
		return "installed"
	case s.Usable:
		return "not asked"
	case why != nil && why.Reason == "provider_key":
		return "key missing"
	case why != nil && why.Reason == "no_program":
		return "not installed"
	case s.Code == diag.PolicyDenied:
		return "not permitted"
	case s.Config == nil && s.Item.Verdict.OK():
		return "broken"
	case !s.Item.Verdict.OK():
		return "not trusted"
	}
	return "not usable"
}

func providerState(ctx context.Context, p *project.Project, it *resolve.Item) (*State, error) {
	s := &State{
		Ref:    it.Ref.String(),
		Tiers:  map[string]string{},
		Models: []string{},
		Keys:   []KeyState{},
		Space:  it.Root.Label(),
		Signer: cmp.Or(
			it.Verdict.Owner,
			it.Verdict.Signer.Short(),
		),
		Trust: it.Verdict.Word(),
		Item:  it,
	}
	var err error
	if s.Config, err = Priced(ctx, p, it); err != nil {
		s.refuse(err)
		return s, nil
	}
	s.Dialect, s.Billing, s.Tiers, s.Models = s.Config.Dialect, s.Config.Billing, s.Config.Tiers, slices.Sorted(maps.Keys(s.Config.Models))
	if s.Tiers == nil {
		s.Tiers = map[string]string{}
	}
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, err
	}
	missing, err := s.findKeys(p.Env.Keys())
	switch {
	case it.Usable() != nil:
		s.refuse(it.Usable())
	case len(s.Config.Keys) > 0 && p.Resolver.Provider(it, "passing keys to "+s.Ref) != nil:
		s.refuse(p.Resolver.Provider(it, "passing keys to "+s.Ref))
	case s.Config.Program != nil && p.Resolver.Provider(it, "passing your login to "+s.Ref) != nil:
		s.refuse(p.Resolver.Provider(it, "passing your login to "+s.Ref))
	case notInstalled(p, s.Config) != "":
		s.refuse(diag.New(diag.AuthRequired, "%s is not installed, or not in the PATH", notInstalled(p, s.Config)).
			WithReason("no_program"))
	case !a.AllowsProvider(it.Ref.ID):
		s.refuse(diag.New(diag.PolicyDenied, "providers of config:%s does not permit it", policy.AllowanceID))
	case !slices.ContainsFunc(s.Models, a.AllowsModel):
		s.refuse(diag.New(diag.PolicyDenied, "models of config:%s permits none of its models", policy.AllowanceID))
	case err != nil:
		s.refuse(err)
	case len(missing) > 0:
		s.refuse(diag.New(diag.AuthRequired, "%s is not set", strings.Join(missing, ", ")).
			WithReason("provider_key").
			WithDetail("provider", strings.TrimPrefix(strings.TrimPrefix(s.Ref, "tool:"), Dir)))
	default:
		s.Usable = true
	}
	return s, nil
}

func (s *State) refuse(err error) {
	s.Code, s.Why, s.refusal = diag.CodeOf(err), err.Error(), err
}

// Check returns why the provider cannot be used, nil if it can.
func (s *State) Check(doing string) error {
	if s.refusal == nil {
		return nil
	}
	return diag.Doing(doing+" "+s.Ref, s.refusal)
}

// findKeys sets where the keys come from, and returns the missing ones.
func (s *State) findKeys(k credentials.Keys) (missing []string, err error) {
	found, err := k.Find(s.Config.Keys...)
	for _, name := range s.Config.Keys {
		short := found[name].Value != "" && credentials.Short(found[name].Value)
		s.Keys = append(s.Keys, KeyState{name, found[name].Source, short})
		if found[name].Source == "" {
			missing = append(missing, name)
		}
	}
	return missing, err
}

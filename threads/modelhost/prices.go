package modelhost

import (
	"context"
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/provider"
)

// PriceWarnings returns which prices of the models of a thread are old.
func PriceWarnings(ctx context.Context, p *project.Project, services []*threads.Service) ([]string, error) {
	age, err := PricesAge(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range services {
		f, err := Find(ctx, p, s.Provider.ID)
		if err != nil {
			return nil, err
		}
		m := f.Config.Models[s.Model]
		problem := priceProblem(f.Config, m, p.Env.Now(), age)
		if problem != "" && m.PricesAs != "" {
			out = append(out, s.Model+" of "+s.Provider.String()+": "+problem)
		}
	}
	return out, nil
}

// priceSettings returns config:agent/prices as it was when it was read first: one thread needs it
// several times.
func priceSettings(ctx context.Context, p *project.Project) (*resolve.Settings, error) {
	return p.PriceSettings.Get(ctx, struct{}{}, func() (*resolve.Settings, error) {
		return p.Resolver.Config(ctx, "agent/prices")
	})
}

// Priced parses a provider item and sets the prices of config:agent/prices. The
// config is nil exactly if the error is not nil.
func Priced(ctx context.Context, p *project.Project, it *resolve.Item) (*provider.Config, error) {
	c, found := provider.Parse(
		it.Ref.ID,
		&tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos},
	)
	if c == nil {
		return nil, diag.FromFindings(
			"reading the provider "+it.Ref.String(),
			diag.WithPath(found, it.Path()),
		)
	}
	s, err := priceSettings(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, layer := range s.Layers {
		r := tree.NewReader(
			&tree.Doc{Root: layer.Meta.Fields, Pos: layer.Meta.Pos},
			diag.ConfigError,
		)
		entries := r.Map("providers")
		if entries.Has(c.ID) {
			// Only the user decides that a service costs less than its item states.
			c.Reprice(entries.Map(c.ID), layer.Root.Space != space.Project)
		}
		err := diag.FromFindings(
			"reading "+s.Ref.String(),
			diag.WithPath(r.Findings(), layer.Path()),
		)
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// PricesAge is the age at which prices are reported as old.
func PricesAge(ctx context.Context, p *project.Project) (time.Duration, error) {
	s, err := priceSettings(ctx, p)
	if err != nil {
		return 0, err
	}
	days := tree.NewReader(
		&tree.Doc{Root: s.Root},
		diag.ConfigError,
	).Int("max_age_days", 90, 1, 36_500)
	return time.Duration(days) * 24 * time.Hour, nil
}

// ModelPrices are the prices of one model, in USD for a million tokens.
type ModelPrices struct {
	Provider string            `json:"provider"`
	Model    string            `json:"model"`
	AsOf     string            `json:"as_of,omitempty"`
	Source   string            `json:"source,omitempty"`
	Prices   map[string]string `json:"prices"`
	Above    []PricesAbove     `json:"above,omitempty"`
	Requests map[string]string `json:"requests,omitempty"` // USD for one
	Problem  string            `json:"problem,omitempty"`
}

// PricesAbove are the prices of a call with more input tokens than a number.
type PricesAbove struct {
	InputTokens int64             `json:"input_tokens"`
	Prices      map[string]string `json:"prices"`
}

// Prices returns the prices of every model. Problem is set where a price is missing, or
// is old.
func Prices(ctx context.Context, p *project.Project) ([]ModelPrices, error) {
	all, err := States(ctx, p)
	if err != nil {
		return nil, err
	}
	age, err := PricesAge(ctx, p)
	out := []ModelPrices{}
	for _, s := range all {
		if s.Config == nil {
			continue
		}
		for _, id := range s.Models {
			out = append(out, PricesOf(
				s.Config,
				s.Config.Models[id],
				p.Env.Now(),
				age,
			))
		}
	}
	return out, err
}

// PricesOf returns the prices of a model. Problem is set as in Prices.
func PricesOf(c *provider.Config, m *provider.Model, now time.Time, age time.Duration) ModelPrices {
	out := ModelPrices{
		Provider: c.ID,
		Model:    m.ID,
		AsOf:     m.PricesAs,
		Source:   m.PricesURL,
		Prices:   priceTexts(m.Prices),
		Problem:  priceProblem(c, m, now, age),
	}
	for _, a := range m.Above {
		out.Above = append(out.Above, PricesAbove{a.Input, priceTexts(a.Prices)})
	}
	for name, pico := range m.Requests {
		if out.Requests == nil {
			out.Requests = map[string]string{}
		}
		out.Requests[name] = policy.USD(pico / 1000).String()
	}
	return out
}

// priceProblem returns the problem of the prices of a model, "" for nothing.
func priceProblem(c *provider.Config, m *provider.Model, now time.Time, age time.Duration) string {
	asOf, err := time.Parse(time.DateOnly, m.PricesAs)
	switch {
	case c.Billing == "subscription":
	case m.Prices.Input < 0 || m.Prices.Output < 0:
		return "it has no prices, so its spend cannot be limited"
	case m.Prices.Input == 0 && m.Prices.Output == 0:
	case err != nil:
		return "the prices have no date"
	case now.Sub(asOf) > age:
		return "the prices are older than " + daysOf(age)
	}
	return ""
}

func daysOf(d time.Duration) string {
	return fmt.Sprintf("%d days", int64(d/(24*time.Hour)))
}

// priceTexts renders the prices that are declared. A price in pico-USD for a token is
// one in millionths of a USD for a million tokens.
func priceTexts(p provider.Prices) map[string]string {
	out := map[string]string{}
	for name, pico := range map[string]int64{"input": p.Input, "cache_read": p.CacheRead, "cache_write_5m": p.CacheWrite5m, "cache_write_1h": p.CacheWrite1h, "output": p.Output} {
		if pico >= 0 {
			out[name] = policy.USD(pico * 1000).String()
		}
	}
	return out
}

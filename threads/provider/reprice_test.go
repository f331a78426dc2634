package provider

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/message"
)

// repriced returns the cost of a million tokens of each kind after a layer of
// config:agent/prices, in USD, for a model with "above" at 10 tokens.
func repriced(t *testing.T, layer string, lower bool, tokens int64) (int64, *Model, string) {
	t.Helper()
	c := mustParse(t, `
provider:
  dialect: openai_chat
  prices_as_of: "2026-01-01"
  models:
    m: {window: 100, max_output: 10, prices: {input: "2", cache_read: "1", output: "4"}, above: [{input_tokens: 5000, output: "8"}]}
`)
	doc, found := yamlx.Parse([]byte(layer))
	if doc == nil {
		t.Fatal(found)
	}
	r := tree.NewReader(doc, diag.ConfigError)
	c.Reprice(r, lower)
	var errs []string
	for _, f := range r.Findings() {
		errs = append(errs, f.Message)
	}
	cost, _ := c.Cost("m", message.Usage{Input: tokens, CacheRead: tokens, Output: tokens})
	return cost, c.Models["m"], strings.Join(errs, "; ")
}

// A layer of the user replaces the prices, one of a project raises them: each price by
// itself, an undeclared one from the dearest of the input.
func TestReprice(t *testing.T) {
	for _, c := range []struct {
		prices string
		lower  bool
		tokens int64
		want   int64 // nano-USD
	}{
		{`{input: "1", output: "1"}`, true, 1000, 3_000_000},               // cache_read is undeclared: 1
		{`{input: "1", output: "1"}`, true, 6000, 18_000_000},              // above of the item does not apply
		{`{input: "1", output: "1"}`, false, 1000, 7_000_000},              // nothing is lower
		{`{input: "3", output: "1"}`, false, 1000, 10_000_000},             // 3, its cache_read 3, 4
		{`{input: "1", output: "9"}`, false, 6000, (2 + 1 + 9) * 6000_000}, // above 8 is raised to 9
		{`{input: "0", output: "0"}`, false, 6000, (2 + 1 + 8) * 6000_000},
	} {
		got, m, errs := repriced(t, `{as_of: "2026-11-01", source: s, models: {m: {prices: `+c.prices+`}}}`, c.lower, c.tokens)
		if got != c.want || errs != "" || m.PricesAs != "2026-11-01" || m.PricesURL != "s" {
			t.Errorf("%s, lower %v: %d, want %d; %s %s %s", c.prices, c.lower, got, c.want, errs, m.PricesAs, m.PricesURL)
		}
	}
	for layer, want := range map[string]string{
		`{as_of: soon, models: {m: {prices: {input: "1", output: "1"}}}}`:                                           "as_of must be a date",
		`{models: {m: {prices: {input: "1", output: "1"}}}}`:                                                        "as_of",
		`{as_of: "2026-11-01", models: {m: {prices: {input: 1, output: "1"}}}}`:                                     "must be a price",
		`{as_of: "2026-11-01", models: {m: {prices: {input: "1", output: "1"}, above: [{input_tokens: 1}]}}}`:       "above can be set by your own",
		`{as_of: "2026-11-01", models: {m: {prices: {input: "1", output: "1"}, requests: {search: "0"}}}}`:          "requests can be set by your own",
		`{as_of: "2026-11-01", models: {other: {prices: {input: "x", output: "1"}}}}`:                               "must be a price",
		`{as_of: "2026-11-01", models: {m: {price: {input: "1", output: "1"}, prices: {input: "1", output: "1"}}}}`: "price",
	} {
		if _, _, errs := repriced(t, layer, false, 1); !strings.Contains(errs, want) {
			t.Errorf("%s: %q, want %q", layer, errs, want)
		}
	}
}

package threads

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/provider"
	"github.com/ryeos/rye/threads/steps"
)

const (
	fillWindow = 400_000 // tokens that a thread with the default limits can fill
	fillStart  = 8_000   // tokens of the system text, the tools and the first message
	fillResult = 10_000  // tokens of the result that each turn adds
	fillOutput = 500     // tokens of each answer
)

// TestDefaultsFillWindow: with the prices of its item, a thread of each shipped hosted model fills
// a window of 400,000 with results of 10,000 tokens before a default limit ends it. The
// conversation is never shortened, and what was sent before is read from the cache.
func TestDefaultsFillWindow(t *testing.T) {
	defaults := steps.ReadDefaults(shippedReader(t, "config/agent/agent.yaml"))
	allowance := shippedReader(t, "config/agent/allowance.yaml")
	ceiling := Limits{
		Turns: allowance.Map("limits").Int("turns", 0, 0, 1_000), Tokens: allowance.Map("limits").Int("tokens", 0, 0, 100_000_000),
		Spend: shippedUSD(t, allowance.Map("limits"), "spend"),
	}
	limits := Limits{Turns: defaults.Limits.Turns, Tokens: defaults.Limits.Tokens, Spend: policy.USD(defaults.Limits.Spend)}
	if limits.Turns > ceiling.Turns || limits.Tokens > ceiling.Tokens || limits.Spend > ceiling.Spend {
		t.Errorf("the default limits %+v are above those of the allowance %+v", limits, ceiling)
	}
	if day := shippedUSD(t, allowance.Map("spend"), "per_day"); day < 2*limits.Spend || day < ceiling.Spend {
		t.Errorf("a day has %s, a thread %s and at most %s", day, limits.Spend, ceiling.Spend)
	}
	for _, c := range shippedHosted(t) {
		for _, m := range c.Models {
			fillsWindow(t, c, m, limits, defaults.MaxOutput)
		}
	}
}

// fillsWindow runs the turns of a thread in figures until the next result does not fit.
func fillsWindow(t *testing.T, c *provider.Config, m *provider.Model, limits Limits, maxOutput int64) {
	req := message.Request{Model: m.ID, MaxOutput: maxOutput, Messages: []message.Message{{Role: message.User, Blocks: []message.Block{{Type: message.Text, Text: "Begin."}}}}}
	first, err := c.WorstCase(req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var n newTokens
	var spent policy.USD
	window, sent := min(m.Window, fillWindow), int64(0)
	turns := int64(0)
	for input := int64(fillStart); input+fillOutput <= window; input += fillOutput + fillResult {
		// The estimate of what is new is half of its bytes, and a token of a result has four.
		e, err := c.Exact(req, first, sent+2*(input-sent))
		if err != nil {
			t.Fatal(err)
		}
		tokens := n.next(Estimate{Input: e.Input, Output: e.Output}, false)
		turns++
		if turns > limits.Turns || n.used+tokens > limits.Tokens || spent+policy.USD(e.Amount) > limits.Spend {
			t.Errorf("%s, %s: turn %d with %d tokens of %d does not fit: %d and %d new tokens, %s and %s", c.ID, m.ID, turns, input, window, n.used, tokens, spent, policy.USD(e.Amount))
			return
		}
		usage := message.Usage{CacheRead: sent, Output: fillOutput}
		if m.Cache.Marks > 0 {
			usage.CacheWrite5m = input - sent
		} else {
			usage.Input = input - sent
		}
		cost, _ := c.Cost(m.ID, usage)
		n.add(usage, false)
		spent += policy.USD(cost)
		sent = input + fillOutput
	}
	if turns < 30 && window == fillWindow {
		t.Errorf("%s, %s: %d turns fill no window of %d", c.ID, m.ID, turns, window)
	}
	t.Logf("%s, %s: %d turns, %d new tokens, %s", c.ID, m.ID, turns, n.used, spent)
}

// shippedHosted returns the providers of the system whose service is paid for each token.
func shippedHosted(t *testing.T) []*provider.Config {
	const dir = ".ai/tools/rye/agent/providers"
	files, err := fs.ReadDir(stdlib.FS(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var hosted []*provider.Config
	wide := 0
	for _, f := range files {
		id := "rye/agent/providers/" + strings.TrimSuffix(f.Name(), path.Ext(f.Name()))
		c, findings := provider.Parse(id, shippedDoc(t, path.Join("tools/rye/agent/providers", f.Name())))
		if c == nil {
			t.Fatal(findings)
		}
		if len(c.Keys) == 0 {
			continue
		}
		hosted = append(hosted, c)
		for _, m := range c.Models {
			if m.Window >= fillWindow {
				wide++
			}
		}
	}
	if len(hosted) < 5 || wide < 8 {
		t.Fatalf("%d hosted providers, %d models with a window of %d", len(hosted), wide, fillWindow)
	}
	return hosted
}

func shippedDoc(t *testing.T, name string) *tree.Doc {
	t.Helper()
	b, err := fs.ReadFile(stdlib.FS(), ".ai/"+name)
	if err != nil {
		t.Fatal(err)
	}
	doc, findings := yamlx.ParseItem(b)
	if doc == nil {
		t.Fatal(findings)
	}
	return doc
}

func shippedReader(t *testing.T, name string) *tree.Reader {
	t.Helper()
	return tree.NewReader(shippedDoc(t, name), diag.ConfigError)
}

func shippedUSD(t *testing.T, r *tree.Reader, name string) policy.USD {
	t.Helper()
	usd, err := policy.ParseUSD(r.Text(name))
	if err != nil {
		t.Fatal(err)
	}
	return usd
}

package provider

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/message"
)

const claude = `
config: {retry: {max_attempts: 1}, body: "{request}", mode: stream, framing: sse}
provider:
  dialect: anthropic_messages
  keys: [KEY]
  tiers: {general: sonnet, fast: haiku}
  count_tokens: {url: "https://api.test/count"}
  cache: {marks: 4, ttl: 5m}
  reasoning: {default: none, style: budget, budgets: {low: 4096, medium: 10240, high: 32768}}
  prices_as_of: "2026-11-01"
  models:
    sonnet:
      names: [sonnet-2]
      window: 200000
      max_output: 64000
      input: [text, image, pdf]
      reasoning: true
      prices: {input: "3", cache_read: "0.30", cache_write_5m: "3.75", cache_write_1h: "6", output: "15"}
      above: [{input_tokens: 200000, input: "6", output: "22.50"}]
      requests: {web_search: "0.01"}
    haiku: {window: 200000, max_output: 64000, prices: {input: "1", output: "5"}}
`

const chat = `
provider:
  dialect: openai_chat
  tools: {parallel: true}
  models:
    plain: {window: 32000, max_output: 8192, input: [text, image], prices: {input: "0.5", cache_read: "0.25", output: "2"}}
    quirky:
      window: 32000
      max_output: 8192
      reasoning: {style: effort, default: low, field: reasoning.effort}
      quirks: [max_completion_tokens, reasoning_content_echo, tool_ids_9, developer_role]
      prices: {input: "0", output: "0"}
`

const responses = `
provider:
  dialect: openai_responses
  reasoning: {default: none, style: effort}
  models:
    think:
      window: 32000
      max_output: 8192
      input: [text, image, pdf]
      reasoning: true
      prices: {input: "0.5", cache_read: "0.25", cache_write_5m: "0.625", output: "2"}
    other: {window: 32000, max_output: 8192, reasoning: true, prices: {input: "0", output: "0"}}
`

const gemini = `
provider:
  dialect: gemini
  reasoning: {default: none, style: effort}
  models:
    flash:
      window: 32000
      max_output: 8192
      input: [text, image, pdf]
      reasoning: true
      prices: {input: "0.5", cache_read: "0.05", output: "3"}
    other: {window: 32000, max_output: 8192, reasoning: {style: budget, budgets: {low: 1024, medium: 2048, high: 4096}}, prices: {input: "0", output: "0"}}
`

const ollama = `
provider:
  dialect: ollama_chat
  reasoning: {default: none, style: effort}
  models:
    llama: {window: 32000, max_output: 8192, input: [text, image], reasoning: true, prices: {input: "0.5", output: "2"}}
    other: {window: 32000, max_output: 8192, prices: {input: "0", output: "0"}}
`

func mustParse(t testing.TB, text string) *Config {
	t.Helper()
	doc, fs := yamlx.Parse([]byte(text))
	if doc == nil {
		t.Fatal(fs)
	}
	c, fs := Parse("test/providers/a", doc)
	if c == nil {
		t.Fatal(fs)
	}
	return c
}

// The figures are those of the specification, calculated by hand.
func TestCostByHand(t *testing.T) {
	c := mustParse(t, claude)
	for name, tc := range map[string]struct {
		model   string
		usage   message.Usage
		want    int64
		assumed bool
	}{
		"every counter":  {"sonnet", message.Usage{Input: 1200, CacheRead: 10000, CacheWrite5m: 2000, Output: 850}, 26_850_000, false},
		"another name":   {"sonnet-2", message.Usage{Input: 1200, CacheRead: 10000, CacheWrite5m: 2000, Output: 850}, 26_850_000, false},
		"at threshold":   {"sonnet", message.Usage{Input: 200000, Output: 1}, 600_015_000, false},
		"above":          {"sonnet", message.Usage{Input: 190000, CacheRead: 10001, Output: 1}, 190000*6000 + 10001*300 + 22500, false},
		"one hour":       {"sonnet", message.Usage{CacheWrite1h: 10}, 60_000, false},
		"no cache price": {"haiku", message.Usage{CacheRead: 1, CacheWrite5m: 1, CacheWrite1h: 1}, 3000, false},
		"requests":       {"sonnet", message.Usage{Requests: map[string]int64{"web_search": 3, "other": 1}}, 30_000_000, false},
		"unknown model":  {"opus", message.Usage{Input: 10, Output: 1}, 45_000, true},
		"by model": {"sonnet", message.Usage{Input: 999, ByModel: []message.ModelUsage{
			{Model: "sonnet", Usage: message.Usage{Input: 10}}, {Model: "haiku", Usage: message.Usage{Output: 2}}}}, 40_000, false},
		"negative":  {"sonnet", message.Usage{Input: -5}, 0, false},
		"saturated": {"sonnet", message.Usage{Input: 1 << 62, Output: 1 << 62}, maxCall, false},
	} {
		if got, assumed := c.Cost(tc.model, tc.usage); got != tc.want || assumed != tc.assumed {
			t.Errorf("%s: %d, %v; want %d, %v", name, got, assumed, tc.want, tc.assumed)
		}
	}
	// Half of a nano-USD is rounded up, once for the call.
	small := mustParse(t, strings.Replace(chat, `input: "0.5"`, `input: "0.000001"`, 1))
	if got, _ := small.Cost("plain", message.Usage{Input: 1}); got != 1 {
		t.Errorf("rounded to %d", got)
	}
	free := mustParse(t, strings.Replace(chat, "provider:", "provider:\n  billing: subscription", 1))
	if got, assumed := free.Cost("plain", message.Usage{Input: 1e9}); got != 0 || assumed {
		t.Errorf("a subscription cost %d", got)
	}
}

func TestReservationByHand(t *testing.T) {
	c := mustParse(t, claude)
	req := message.Request{Model: "sonnet", MaxOutput: 8192, Messages: []message.Message{
		{Role: message.User, Blocks: []message.Block{message.TextBlock(strings.Repeat("x", 9000))}},
	}}
	first, err := c.WorstCase(req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.Input != (first.Bytes+1)/2 || first.Bytes < 9000 {
		t.Errorf("without a call before: %+v", first)
	}
	r, err := c.WorstCase(req, &Previous{Usage: message.Usage{Input: 10_500, Output: 500}, Bytes: first.Bytes - 4400})
	if err != nil || r.Input != 13_200 || r.Output != 8192 || r.Amount != 172_380_000 {
		t.Errorf("%+v, %v", r, err)
	}
	exact, err := c.Exact(req, r, 1000)
	if err != nil || exact.Amount != 1000*3750+122_880_000 {
		t.Errorf("%+v, %v", exact, err)
	}
	// Reasoning is part of the output.
	req.Effort = "low"
	if r, _ := c.WorstCase(req, nil); r.Output != 8192+4096 {
		t.Errorf("with reasoning: %+v", r)
	}
	// An image counts as its tokens, not as its bytes.
	req.Messages[0].Blocks = append(req.Messages[0].Blocks, message.Block{Type: message.Image, MediaType: "image/png", Data: make([]byte, 1<<20)})
	if r, _ := c.WorstCase(req, nil); r.Input > first.Input+10_000 || r.Input < first.Input+8192 {
		t.Errorf("with an image: %+v", r)
	}
	if _, err := c.WorstCase(message.Request{Model: "sonet"}, nil); err == nil || !strings.Contains(err.Error(), `no model "sonet"`) {
		t.Error(err)
	}
}

func TestParseFindings(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"key":           {"dialect: anth", "dialekt: anth", `unknown field "provider.dialekt"`},
		"no dialect":    {"  dialect: anthropic_messages\n", "", "provider.dialect is missing"},
		"dialect":       {"anthropic_messages", "anthropic", "provider.dialect must be anthropic_messages, openai_chat"},
		"price number":  {`{input: "1", output: "5"}`, `{input: 1, output: "5"}`, "provider.models.haiku.prices.input must be a price in USD as a text"},
		"price digits":  {`input: "1", output`, `input: "0.0000001", output`, "with at most 6 decimals"},
		"price missing": {`input: "1", output: "5"`, `input: "1"`, "provider.models.haiku.prices.output is missing"},
		"price key":     {`input: "1", output: "5"`, `input: "1", output: "5", cached: "1"`, `unknown field "provider.models.haiku.prices.cached"`},
		"window":        {"haiku: {window: 200000", "haiku: {window: 0", "provider.models.haiku.window must be"},
		"tier":          {"general: sonnet", "general: sonet", `provider.tiers.general names the model "sonet"`},
		"tier name":     {"general: sonnet", "genral: sonnet", `unknown field "provider.tiers.genral"`},
		"input":         {"[text, image, pdf]", "[text, video]", `provider.models.sonnet.input contains "video"`},
		"quirk":         {"  cache:", "  quirks: [no_don]\n  cache:", `provider.quirks contains "no_don"`},
		"marks":         {"marks: 4", "marks: 5", "provider.cache.marks must be a whole number from 0 to 4"},
		"ttl":           {"ttl: 5m", "ttl: 5min", "provider.cache.ttl must be 5m or 1h"},
		"budgets":       {", high: 32768", "", "provider.reasoning.budgets must have low, medium and high"},
		"date":          {`"2026-11-01"`, `"11/2026"`, "provider.prices_as_of must be a date"},
		"add":           {"  cache:", "  body: {add: {messages: []}}\n  cache:", "provider.body.add.messages cannot be set"},
		"drop":          {"  cache:", "  body: {drop: [max_tokens]}\n  cache:", "cannot be max_tokens"},
		"cache control": {"  cache:", "  body: {add: {cache_control: {type: ephemeral}}}\n  cache:", "cannot be set"},
		"schema mode":   {"  cache:", "  tools: {mode: schema, prompt: \"{tools}\"}\n  cache:", "schema needs the dialect openai_chat"},
		"text mode":     {"  cache:", "  tools: {mode: text}\n  cache:", "provider.tools.pattern is missing"},
		"pattern":       {"  cache:", "  tools: {mode: text, pattern: \"(\", prompt: \"{tools}\"}\n  cache:", "is not a regular expression"},
		"groups":        {"  cache:", "  tools: {mode: text, pattern: \"x\", prompt: \"{tools}\"}\n  cache:", "needs the groups"},
		"prompt":        {"  cache:", "  tools: {mode: text, pattern: \"(?P<name>a)(?P<arguments>b)\", prompt: \"x\"}\n  cache:", "must contain {tools}"},
		"retry":         {"max_attempts: 1", "max_attempts: 2", "config.retry.max_attempts must be 1"},
		"body":          {`body: "{request}"`, `body: "{prompt}"`, `config.body must be "{request}"`},
		"redirects":     {"mode: stream", "mode: stream, redirects: 3", "config.redirects must be 0"},
		"billing":       {"  cache:", "  billing: free\n  cache:", "provider.billing must be metered or subscription"},
		"no models":     {"provider:\n  dialect", "provider:\n  models: {}\n  x-dialect", `provider.models has no model`},
	} {
		text := strings.Replace(claude, tc.old, tc.new, 1)
		if name == "no models" {
			text = "provider: {dialect: openai_chat, models: {}}"
		}
		if text == claude {
			t.Fatalf("%s: nothing was replaced", name)
		}
		doc, fs := yamlx.Parse([]byte(text))
		if doc == nil {
			t.Fatal(name, fs)
		}
		c, fs := Parse("a/b", doc)
		var all []string
		for _, f := range fs {
			all = append(all, f.String())
			if f.Line == 0 {
				t.Errorf("%s: %s has no line", name, f)
			}
		}
		if c != nil || !strings.Contains(strings.Join(all, "\n"), tc.want) {
			t.Errorf("%s: %s\nwant %s", name, strings.Join(all, "\n"), tc.want)
		}
	}
}

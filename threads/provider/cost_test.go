package provider

import (
	"os"
	"testing"
)

// TestCostOfStreams: the cost of each stream is the figure that a person calculates from its
// counts and the prices of the item, in nano-USD. A price in USD for a million tokens is a
// thousand times as many nano-USD for a token: 2 is 2,000.
func TestCostOfStreams(t *testing.T) {
	recorded := func(name string) (*Config, string, string) {
		c := shipped(t, name)
		b, err := os.ReadFile("testdata/forms/" + name + ".sse")
		if err != nil {
			t.Fatal(err)
		}
		return c, c.Tiers["general"], string(b)
	}
	written := func(item, model, stream string) func(string) (*Config, string, string) {
		return func(string) (*Config, string, string) { return mustParse(t, item), model, stream }
	}
	for _, tc := range []struct {
		name      string
		stream    func(string) (*Config, string, string)
		want      int64
		reasoning int64 // tokens, which are part of the output
	}{
		// 176 uncached at 2, 1,024 from the cache at 0.10, 40 written at 10
		{"anthropic", recorded, 176*2_000 + 1_024*100 + 40*10_000, 0},
		// 1,200 at 3, 10,000 from the cache at 0.30, 2,000 into it at 3.75, 850 at 15, and two searches at 0.01
		{"anthropic_messages", written(claude, "sonnet", anthropicSample()), 1_200*3_000 + 10_000*300 + 2_000*3_750 + 850*15_000 + 2*10_000_000, 0},
		// prompt_tokens 1,200 with 1,024 cached, by the model that answered, gpt-5-mini: 176 at 0.25, 1,024 at 0.025; 40
		// at 2, of which 16 reasoned
		{"openai_chat", recorded, 176*250 + 1_024*25 + 40*2_000, 16},
		// 120 with 100 cached: 20 at 0.5, 100 at 0.25; 30 at 2, of which 10 reasoned
		{"openai_chat, written", written(chat, "plain", chatSample()), 20*500 + 100*250 + 30*2_000, 10},
		// input_tokens 1,200 with 1,024 cached, as above
		{"openai", recorded, 176*250 + 1_024*25 + 40*2_000, 16},
		// 130 with 100 read from the cache and 8 written to it: 22 at 0.5, 100 at 0.25, 8 at 0.625; 30 at 2; the search has no price
		{"openai_responses", written(responses, "think", responsesSample()), 22*500 + 100*250 + 8*625 + 30*2_000, 10},
		// promptTokenCount 1,200 with 1,024 cached at 0.75 and 0.075; 24 candidates and 16 thoughts at 3.75
		{"gemini", recorded, 176*750 + 1_024*75 + (24+16)*3_750, 16},
		// 120 and 4 for tools, 100 cached: 24 at 0.5, 100 at 0.05; 20 and 10 thoughts at 3
		{"gemini, written", written(gemini, "flash", geminiSample()), 24*500 + 100*50 + (20+10)*3_000, 10},
		// prompt_eval_count and eval_count at 0.5 and 2; the service counts no thoughts
		{"ollama_chat", written(ollama, "llama", ollamaSample()), 120*500 + 30*2_000, 0},
		// meta.in 120 with 100 from the cache at 0.5 and 0.25; 30 and 10 thoughts, counted apart, at 2
		{"mapped", written(mapped, "m", mappedSample()), 20*500 + 100*250 + (30+10)*2_000, 10},
		// 1,200 at 0.25 and 40 at 2: 0.00038 USD, as the service states it in the usage
		{"openrouter", recorded, 1_200*250 + 40*2_000, 16},
		{"vllm", recorded, 0, 0},
		{"llama_cpp", recorded, 0, 0},
		{"ollama", recorded, 0, 0},
	} {
		c, model, stream := tc.stream(tc.name)
		r, err := fed(c, stream).Call(t.Context(), ask(model), nil)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		cost, assumed := c.Cost(r.Model, r.Usage)
		if cost != tc.want || assumed || r.Usage.Assumed != 0 || r.Usage.Reasoning != tc.reasoning {
			t.Errorf("%s: %d nano-USD, want %d; assumed %v, usage %+v", tc.name, cost, tc.want, assumed, r.Usage)
		}
	}
}

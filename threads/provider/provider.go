// Package provider calls models over HTTP. A provider item names a dialect and has
// addresses, models, prices and deviations as data. The package parses the item,
// encodes a request in the dialect, reads the stream, proves that it is complete,
// and calculates what a call cost or can cost at most.
//
// A call is exactly one attempt: package threads and its steps decide about the
// next one. Probe is a call that also returns, as a list of Oddity, how the service
// deviates from its dialect: a test of a new provider writes the quirks of its item by
// it. The package reserves no money, keeps no key and writes no file.
package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/threads/message"
)

// The dialects.
const (
	Anthropic = "anthropic_messages"
	Chat      = "openai_chat"
	Responses = "openai_responses"
	Gemini    = "gemini"
	Ollama    = "ollama_chat"
	Mapped    = "mapped"     // the item describes the request and the stream
	ClaudeCLI = "claude_cli" // the program claude
	CodexCLI  = "codex_cli"  // the program codex
)

// Config is a parsed provider item. It is not changed after Parse, except for Send.
type Config struct {
	ID       string // of the item
	Dialect  string
	Keys     []string // variables without whose values the provider is not usable
	Tiers    map[string]string
	Models   map[string]*Model
	Tools    Tools
	Body     Body
	Billing  string                  // metered or subscription
	URL      string                  // template of an address that names the model as {model}; "" without it
	CountURL string                  // template of the address that counts the tokens of a request; "" without one
	Ends     map[string]message.Stop // what words of the service mean that rye does not know

	mapping *mapping // of the dialect mapped
	Program *Program // of the dialects of programs; nil for services

	// Send sends an encoded request; url is "" for the address of the item. Call and
	// CountTokens require it.
	Send func(ctx context.Context, url string, body []byte) (*httpstep.Reply, error)
}

// Model describes one model of a provider.
type Model struct {
	ID         string
	Names      []string // other names by which the service calls the model in responses
	Window     int64    // tokens
	MaxOutput  int64    // tokens
	MinOutput  int64    // tokens; the service refuses a lower maximum
	Input      []string // text, image, audio, pdf
	Reasons    bool
	CallsTools bool
	Prices     Prices
	Above      []Above
	Requests   map[string]int64 // price of one request of a service's tool, in pico-USD
	PricesAs   string           // date of the prices, "" if the item has none
	PricesURL  string           // where the prices are published
	Images     Images
	Reasoning  Reasoning
	Cache      Cache
	Quirks     map[string]bool
}

// Accepts reports whether the model takes a kind of input.
func (m *Model) Accepts(kind string) bool {
	return slices.Contains(m.Input, kind)
}

// Images states what images and files of a request count, and how long they may be.
type Images struct {
	PixelsPerToken int64
	MaxTokens      int64 // of one image
	PageTokens     int64 // of one page of a PDF file
	MaxBytes       int64 // of one image
}

// Tools states how a model gets to know tools.
type Tools struct {
	Mode     string // native, text or schema
	Parallel bool
	Strict   bool
	Pattern  string // of mode text
	Prompt   string // of modes text and schema; {tools} is replaced by the definitions
}

// Cache are the marks that a request may have for the cache of the service.
type Cache struct {
	Marks     int
	TTL       string // 5m or 1h
	MinTokens int64
	Field     string // of the body, for the key of a conversation; "" sends none
}

// Reasoning states how effort is written.
type Reasoning struct {
	Default string // effort
	Style   string // none, budget, effort or adaptive
	Budgets map[string]int64
	Field   string // dotted path
}

// Body are changes of the encoded request at its top level.
type Body struct {
	Add  map[string]any
	Drop []string
}

// Model returns a model by its exact id.
func (c *Config) Model(id string) (*Model, error) {
	if m := c.Models[id]; m != nil {
		return m, nil
	}
	known := slices.Sorted(maps.Keys(c.Models))
	e := diag.New(diag.ConfigError, "calling %s: it has no model %q", c.ID, id).WithDetail("models", known)
	if near := suggest.Nearest(id, known); near != "" {
		e.WithReason("nearest").WithDetail("nearest", near)
	}
	return nil, e
}

// Missing returns the keys of the provider that an environment does not have.
func (c *Config) Missing(env map[string]string) []string {
	return slices.DeleteFunc(
		slices.Clone(c.Keys),
		func(name string) bool { return env[name] != "" },
	)
}

// effort returns the effort of a request and its budget of tokens, which is in
// addition to the output.
func (m *Model) effort(req message.Request) (level string, budget int64) {
	level = req.Effort
	if level == "" {
		level = m.Reasoning.Default
	}
	if !m.Reasons || m.Reasoning.Style == "none" || level == "none" {
		return "none", 0
	}
	if m.Reasoning.Style == "budget" {
		budget = m.Reasoning.Budgets[level]
	}
	return level, budget
}

// statedEffort returns the effort of a request and whether the request names it: a
// model that does not reason takes none.
func (m *Model) statedEffort(req message.Request) (level string, stated bool) {
	level, _ = m.effort(req)
	return level, m.Reasons &&
		m.Reasoning.Style == "effort" &&
		(level != "none" || req.Effort == "none")
}

// output returns the largest number of output tokens that a request permits, with
// those for reasoning, and the part that is for reasoning.
func (m *Model) output(req message.Request) (total, budget int64) {
	_, budget = m.effort(req)
	total = req.MaxOutput
	if total <= 0 || total > m.MaxOutput {
		total = m.MaxOutput
	}
	total = max(total, m.MinOutput)
	answer := total
	total = min(answer+budget, m.MaxOutput)
	return total, min(budget, max(total-answer, total/2)) // an answer needs tokens as well
}

// Package models adds services of models: it finds out by asking which dialect a
// service speaks, which models it has and how it deviates from the dialect, writes the
// provider item that describes this, and states in plain words what a service does
// wrong.
//
// It signs nothing, keeps no key and books no money: its callers do. It does not call
// models for threads.
package models

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/credentials"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/provider"
)

// Wish is what a person asks for. Values that are zero are found out.
type Wish struct {
	ID, URL                 string // required
	Dialect, Model          string
	Window, MaxOutput       int64  // tokens
	InputPrice, OutputPrice string // USD for a million tokens
	Key                     string // the variable with the key, "" if the service needs none
}

// Check returns the errors of a wish before the service is asked.
func (w *Wish) Check() error {
	ref, err := item.ParseRef(w.ID, item.Tool)
	if err != nil || ref.Kind != item.Tool {
		return diag.New(diag.Usage, "adding a provider: %q is not an id of a tool, such as acme/vllm", w.ID)
	}
	if w.Key != "" && !credentials.IsName(w.Key) {
		return diag.New(diag.Usage, "adding the provider %s: %q is not the name of a variable", ref.ID, w.Key)
	}
	if w.Dialect == provider.Mapped {
		return diag.New(diag.Usage, "adding the provider %s: an item with the dialect mapped describes the request and the stream of a service: it is written by hand, as docs/reference/format/provider.md describes, and signed with rye sign", ref.ID)
	}
	if w.Dialect != "" && !slices.Contains(Dialects(), w.Dialect) {
		return diag.New(
			diag.Usage,
			"adding the provider %s: the dialect %q is not one of %s",
			ref.ID,
			w.Dialect,
			strings.Join(Dialects(), ", "),
		)
	}
	if strings.ContainsFunc(w.Model, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return diag.New(diag.Usage, "adding the provider %s: the name of the model %q has a control character", ref.ID, w.Model)
	}
	if (w.InputPrice == "") != (w.OutputPrice == "") {
		return diag.New(diag.Usage, "adding the provider %s: give --input-price and --output-price, or neither", ref.ID)
	}
	_, err = ParseAddress(w.URL)
	return err
}

// Dialects are those in which a service can be added.
func Dialects() []string {
	return []string{provider.Chat, provider.Responses, provider.Anthropic, provider.Gemini, provider.Ollama}
}

// Item is a provider item with one model.
type Item struct {
	ID       string    `json:"id"`
	URL      string    `json:"url"`
	Dialect  string    `json:"dialect"`
	Private  string    `json:"private,omitempty"` // the host, if it is not public
	Model    Model     `json:"model"`
	Key      string    `json:"key,omitempty"`          // the variable, "" without a key
	AsHeader string    `json:"key_header,omitempty"`   // with the key; "" is Authorization: Bearer
	Software string    `json:"software,omitempty"`     // the server, if it is known
	Quirks   []string  `json:"quirks,omitempty"`       // deviations from the dialect
	AddUsage bool      `json:"counts"`                 // stream_options asks for counts
	Drop     []string  `json:"drop,omitempty"`         // fields of the request that the service refuses
	Tools    string    `json:"tools,omitempty"`        // schema or text; "" is the service's own
	Checked  string    `json:"price_source,omitempty"` // where the prices are from
	Day      time.Time `json:"-"`                      // of the prices
	Rules    *Rules    `json:"-"`
}

// quoted renders a text as JSON, which is YAML too.
func quoted(s string) string {
	b, _ := jsonx.Marshal(s) // a text has no error
	return string(b)
}

func quotedList(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quoted(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// Text renders the item.
func (it *Item) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
	}
	ref := item.Ref{Kind: item.Tool, ID: it.ID}
	line("version: \"1.0.0\"\ntool_type: provider\nexecutor_id: rye/core/primitives/http_client")
	if c := ref.Category(); c != "" {
		line("category: %s", quoted(c))
	}
	host, _, _ := strings.Cut(
		strings.TrimPrefix(strings.TrimPrefix(it.URL, "https://"), "http://"),
		"/",
	)
	by := ""
	if it.Software != "" {
		by = ", by " + it.Software
	}
	line("description: %s", quoted("Models of "+host+by+"."))
	if it.Key != "" {
		line("env_config: {pass: [%s]}", it.Key)
	}
	line("config:\n  method: POST\n  url: %s", quoted(it.URL))
	switch {
	case it.Key != "" && it.AsHeader != "":
		line("  auth: {type: api_key, header: %s, key: \"${%s}\"}", it.AsHeader, it.Key)
	case it.Key != "":
		line("  auth: {type: bearer, token: \"${%s}\"}", it.Key)
	}
	if it.Dialect == provider.Anthropic {
		line("  headers: {anthropic-version: \"2023-06-01\"}")
	}
	framing := "sse"
	if it.Dialect == provider.Ollama {
		framing = "jsonl"
	}
	line("  body: \"{request}\"\n  mode: stream\n  framing: %s\n  sinks: [\"null\"]\n  redirects: 0\n  max_bytes: 67108864\n  timeout: 1800\n  idle_timeout: 300", framing)
	if it.Private != "" {
		line("  allow_private: [%s]", quoted(it.Private))
	}
	line("provider:\n  dialect: %s", it.Dialect)
	if it.Key != "" {
		line("  keys: [%s]", it.Key)
	}
	line("  tiers: {fast: %s, general: %[1]s}", quoted(it.Model.ID))
	it.writeTools(line)
	it.writeBody(line)
	if len(it.Quirks) > 0 {
		line("  quirks: %s", quotedList(it.Quirks))
	}
	line("  prices_as_of: %s", quoted(it.Day.UTC().Format(time.DateOnly)))
	if it.Checked != "" {
		line("  prices_source: %s", quoted(it.Checked))
	}
	line("  models:\n    %s:", quoted(it.Model.ID))
	it.Model.write(line)
	return b.String()
}

func (it *Item) writeTools(line func(string, ...any)) {
	switch it.Tools {
	case toolsSchema:
		line("  tools:\n    mode: schema\n    prompt: %s", quoted(it.Rules.schemaPrompt))
	case toolsText:
		line("  tools:\n    mode: text\n    pattern: %s\n    prompt: %s", quoted(it.Rules.textPattern), quoted(it.Rules.textPrompt))
	}
}

func (it *Item) writeBody(line func(string, ...any)) {
	var parts []string
	if it.AddUsage {
		parts = append(parts, "add: {stream_options: {include_usage: true}}")
	}
	if len(it.Drop) > 0 {
		parts = append(parts, "drop: "+quotedList(it.Drop))
	}
	if len(parts) > 0 {
		line("  body: {%s}", strings.Join(parts, ", "))
	}
}

// The ways in which a model calls tools; "" is the service's own.
const (
	toolsNative = ""
	toolsSchema = "schema"
	toolsText   = "text"
)

// Model is a model as a service describes it. Zero values are not stated.
type Model struct {
	ID         string   `json:"id"`
	Window     int64    `json:"window,omitempty"`
	MaxOutput  int64    `json:"max_output,omitempty"`
	Images     bool     `json:"images,omitempty"`
	Input      string   `json:"input_price,omitempty"` // USD for a million tokens
	CacheRead  string   `json:"cache_read_price,omitempty"`
	Output     string   `json:"output_price,omitempty"`
	NoTools    bool     `json:"no_tools,omitempty"` // the service states that it calls none
	Chats      bool     `json:"-"`                  // it answers to messages, as far as the service states
	Names      []string `json:"-"`                  // other names of it
	ownedBy    string
	trainedFor int64 // the window of the training, which a server may not have
}

func (m *Model) write(line func(string, ...any)) {
	inputs := "[text]"
	if m.Images {
		inputs = "[text, image]"
	}
	line("      window: %d\n      max_output: %d\n      input: %s", m.Window, m.MaxOutput, inputs)
	if m.NoTools {
		line("      tools: false")
	}
	if len(m.Names) > 0 {
		line("      names: %s", quotedList(m.Names))
	}
	cache := ""
	if m.CacheRead != "" {
		cache = ", cache_read: " + quoted(m.CacheRead)
	}
	line("      prices: {input: %s%s, output: %s}", quoted(m.Input), cache, quoted(m.Output))
}

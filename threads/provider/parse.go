package provider

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/media"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/threads/message"
)

// The words of an item.
func dialects() []string {
	return []string{Anthropic, Chat, Responses, Gemini, Ollama, Mapped, ClaudeCLI, CodexCLI}
}
func tiers() []string {
	return []string{"fast", "general", "high", "max"}
}
func efforts() []string {
	return []string{"none", "low", "medium", "high"}
}
func inputs() []string {
	return []string{"text", "image", "audio", "pdf"}
}

// The quirks: deviations of services from the description of a dialect.
const (
	maxCompletionTokens = "max_completion_tokens"  // the output maximum has this name
	noDone              = "no_done"                // a stream ends without [DONE]
	noUsage             = "no_usage"               // the counts of responses are missing or wrong: they are estimated
	reasoningEcho       = "reasoning_content_echo" // reasoning_content is sent back
	systemAsUser        = "system_as_user"         // the role system is refused
	toolIDs9            = "tool_ids_9"             // ids of calls have 9 letters or digits
	noParallel          = "no_parallel"            // the field parallel_tool_calls is refused
	developerRole       = "developer_role"         // the role of the system text is developer
	noFinish            = "no_finish"              // a stream ends with [DONE] and without a reason
	emptyArguments      = "empty_arguments"        // a call without arguments has an empty text
	noStream            = "no_stream"              // streams are refused: the answer is asked for as one document
)

func quirks() []string {
	return []string{maxCompletionTokens, noDone, noUsage, reasoningEcho, systemAsUser, toolIDs9, noParallel, developerRole, noFinish, emptyArguments, noStream}
}

// Parse parses a provider item: its top-level keys with their positions. The Config
// is nil exactly if a finding is an error.
func Parse(id string, doc *tree.Doc) (*Config, []diag.Finding) {
	top := tree.NewReader(doc, diag.ConfigError)
	top.Require("provider")
	r := top.Map("provider")
	r.Only("dialect", "keys", "tiers", "models", "count_tokens", "tools", "cache", "reasoning", "body", "quirks", "images",
		"billing", "prices_as_of", "prices_source", "request", "stream", "templates", "program", "args", "ends")
	r.Require("dialect", "models")
	c := &Config{
		ID:      id,
		Dialect: r.Enum("dialect", "", dialects()...),
		Keys:    r.Texts("keys", nil),
		Tiers:   r.TextMap("tiers"),
		Billing: r.Enum("billing", "metered", "metered", "subscription"),
	}
	if r.Has("count_tokens") {
		count := r.Map("count_tokens")
		count.Only("url")
		count.Require("url")
		c.CountURL = count.Text("url")
		if c.Dialect != Anthropic {
			r.Reject("count_tokens", "is not part of the dialect %s", c.Dialect)
		}
	}
	c.Tools = readTools(r.Map("tools"), c.Dialect)
	c.Ends = readEnds(r.Map("ends"))
	c.Body = readBody(r.Map("body"))
	all := Model{
		PricesAs:  readDate(r, "prices_as_of"),
		PricesURL: r.Text("prices_source"),
		Cache:     readCache(r.Map("cache"), Cache{TTL: "5m"}),
		Quirks:    readQuirks(r, nil),
	}
	all.Images = readImages(r.Map("images"), Images{
		PixelsPerToken: 750,
		MaxTokens:      defaultImageTokens,
		PageTokens:     3000,
		MaxBytes:       media.MaxPrepared,
	})
	all.Reasoning = readReasoning(
		r.Map("reasoning"),
		c.Dialect,
		Reasoning{Default: "none", Style: "none", Field: "reasoning_effort"},
	)
	c.Models = readModels(r.Map("models"), all, c.Dialect)
	c.checkTiers(r.Map("tiers"))
	config := top.Map("config")
	c.mapping = readMapping(r, config, c)
	if c.Program = readProgram(r, c); c.Program != nil {
		return c.parsed(top)
	}
	c.URL = checkRequest(config, c.Dialect, c.framing())
	return c.parsed(top)
}

// parsed returns the Config with the findings, or without it if one is an error.
func (c *Config) parsed(top *tree.Reader) (*Config, []diag.Finding) {
	if fs := top.Findings(); diag.Failed(fs) {
		return nil, fs
	}
	return c, top.Findings()
}

// checkTiers reports tiers that do not exist and tiers whose model is not described.
func (c *Config) checkTiers(r *tree.Reader) {
	r.Only(tiers()...)
	for _, tier := range slices.Sorted(maps.Keys(c.Tiers)) {
		if id := c.Tiers[tier]; c.Models[id] == nil {
			r.RejectNear(tier, id, slices.Sorted(maps.Keys(c.Models)), "names the model %q, which models does not describe", id)
		}
	}
}

// checkRequest reports settings of the request that a call of a model cannot have:
// one call is one attempt, and its body goes to the configured address only. It returns
// the address if that names the model.
func checkRequest(r *tree.Reader, dialect string, framing httpx.Framing) string {
	retry := r.Map("retry")
	if retry.Has("max_attempts") && retry.Int("max_attempts", 1, 1, math.MaxInt32) > 1 {
		retry.Reject("max_attempts", "must be 1: config:agent/error_classification states when a call of a model is repeated")
	}
	if r.Has("redirects") && r.Int("redirects", 0, 0, math.MaxInt32) > 0 {
		r.Reject("redirects", "must be 0: a request to a model follows no redirect")
	}
	for key, want := range map[string]string{"mode": "stream", "framing": string(framing), "body": "{request}"} {
		v, isText := r.Value(key).(string)
		if r.Has(key) && (!isText || v != want) {
			r.Reject(key, "must be %q in a provider with the dialect %s", want, dialect)
		}
	}
	address := r.Text("url")
	named := strings.Contains(r.Text("url"), "{model}")
	if dialect == Gemini && r.Has("url") && !named {
		r.Reject("url", "must contain {model} in the dialect %s, which names the model in the address", dialect)
	}
	if !named {
		return ""
	}
	return address
}

func readTools(r *tree.Reader, dialect string) Tools {
	r.Only("mode", "parallel", "strict", "pattern", "prompt")
	t := Tools{
		Mode:     r.Enum("mode", "native", "native", "text", "schema"),
		Parallel: r.Bool("parallel", true),
		Strict:   r.Bool("strict", false),
		Pattern:  r.Text("pattern"),
		Prompt:   r.Text("prompt"),
	}
	switch t.Mode {
	case "text":
		r.Require("pattern", "prompt")
		if re, err := regexp.Compile(t.Pattern); err != nil {
			r.Reject("pattern", "is not a regular expression (RE2): %v", err)
		} else if t.Pattern != "" &&
			(re.SubexpIndex("name") < 0 || re.SubexpIndex("arguments") < 0) {
			r.Reject("pattern", "needs the groups (?P<name>…) and (?P<arguments>…)")
		}
	case "schema":
		r.Require("prompt")
		if dialect != Chat {
			r.Reject("mode", "schema needs the dialect %s", Chat)
		}
	}
	if t.Mode != "native" &&
		t.Prompt != "" &&
		!strings.Contains(t.Prompt, "{tools}") {
		r.Reject("prompt", "must contain {tools}, which the definitions of the tools replace")
	}
	if t.Mode != "text" && r.Has("pattern") {
		r.Reject("pattern", "is for the mode text")
	}
	if t.Mode == "native" && r.Has("prompt") {
		r.Reject("prompt", "is for the modes text and schema")
	}
	return t
}

// readEnds reads what words of the service mean that rye does not know.
func readEnds(r *tree.Reader) map[string]message.Stop {
	known := []string{
		string(message.StopEnd),
		string(message.StopToolCalls),
		string(message.StopMaxOutput),
		string(message.StopRefusal),
		string(message.StopPause),
	}
	var out map[string]message.Stop
	for _, word := range r.Keys() {
		if out == nil {
			out = map[string]message.Stop{}
		}
		out[word] = message.Stop(r.Enum(word, "", known...))
	}
	return out
}

func readCache(r *tree.Reader, def Cache) Cache {
	r.Only("marks", "ttl", "min_tokens", "field")
	return Cache{
		Marks:     int(r.Int("marks", int64(def.Marks), 0, 4)),
		TTL:       r.Enum("ttl", def.TTL, "5m", "1h"),
		MinTokens: r.Int("min_tokens", def.MinTokens, 0, math.MaxInt32),
		Field:     cmp.Or(r.Text("field"), def.Field),
	}
}

func readReasoning(r *tree.Reader, dialect string, def Reasoning) Reasoning {
	r.Only("default", "style", "budgets", "field")
	out := Reasoning{
		Default: r.Enum("default", def.Default, efforts()...),
		Style:   r.Enum("style", def.Style, "none", "budget", "effort", "adaptive"),
		Field:   def.Field,
		Budgets: def.Budgets,
	}
	if r.Has("field") {
		out.Field = r.Text("field")
	}
	if r.Has("budgets") {
		b := r.Map("budgets")
		b.Only("low", "medium", "high")
		out.Budgets = map[string]int64{}
		for _, level := range b.Keys() {
			out.Budgets[level] = b.Int(level, 0, 1024, math.MaxInt32)
		}
	}
	switch {
	case dialect == Gemini && out.Style == "adaptive":
		r.Reject("style", "must be none, effort or budget in the dialect %s", dialect)
	case dialect != Anthropic && dialect != Gemini && (out.Style == "budget" || out.Style == "adaptive"):
		r.Reject("style", "must be none or effort in the dialect %s", dialect)
	case out.Style == "budget" && len(out.Budgets) < 3:
		r.Reject("budgets", "must have low, medium and high for the style budget")
	}
	return out
}

func readBody(r *tree.Reader) Body {
	r.Only("add", "drop")
	var b Body
	b.Drop = r.Texts("drop", nil)
	add := r.Map("add")
	for _, key := range add.Keys() {
		if b.Add == nil {
			b.Add = map[string]any{}
		}
		b.Add[key] = add.Value(key)
		if fixedField(key) {
			add.Reject(key, "cannot be set: rye writes it")
		}
	}
	for i, key := range b.Drop {
		if fixedField(key) {
			r.Reject("drop", "[%d] cannot be %s: rye writes it", i, key)
		}
	}
	return b
}

// fixedField reports whether a field of a request belongs to the codec: an item that
// changed it would make the record of the request wrong, or the reservation.
func fixedField(key string) bool {
	switch key {
	case "model", "messages", "system", "tools", "max_tokens", "max_completion_tokens", "stream", "n", "cache_control",
		"input", "instructions", "max_output_tokens",
		"contents", "systemInstruction", "generationConfig", "options":
		return true
	}
	return false
}

func readQuirks(r *tree.Reader, def map[string]bool) map[string]bool {
	if !r.Has("quirks") {
		return def
	}
	out := map[string]bool{}
	for _, q := range r.Texts("quirks", nil) {
		if !slices.Contains(quirks(), q) {
			r.RejectNear("quirks", q, quirks(), "contains %q: the quirks are %s", q, strings.Join(quirks(), ", "))
		}
		out[q] = true
	}
	return out
}

func readModels(r *tree.Reader, all Model, dialect string) map[string]*Model {
	out := map[string]*Model{}
	for _, id := range r.Keys() {
		m := r.Map(id)
		m.Only("names", "window", "max_output", "input", "reasoning", "tools", "prices", "above", "requests", "image_tokens", "images",
			"quirks", "cache", "prices_as_of", "prices_source")
		m.Require("window", "max_output", "prices")
		d := &Model{
			ID:         id,
			Names:      m.Texts("names", nil),
			Window:     m.Int("window", 1, 1, math.MaxInt32),
			MaxOutput:  m.Int("max_output", 1, 1, math.MaxInt32),
			Input:      m.Texts("input", nil),
			CallsTools: m.Bool("tools", true),
			PricesAs:   cmp.Or(readDate(m, "prices_as_of"), all.PricesAs),
			PricesURL:  cmp.Or(m.Text("prices_source"), all.PricesURL),
			Reasoning:  all.Reasoning,
			Cache:      readCache(m.Map("cache"), all.Cache),
			Quirks:     readQuirks(m, all.Quirks),
			Images:     readImages(m.Map("images"), all.Images),
		}
		if dialect == Responses {
			d.MinOutput = 16
		}
		if d.Input == nil {
			d.Input = []string{"text"}
		}
		for _, kind := range d.Input {
			if !slices.Contains(inputs(), kind) {
				m.RejectNear("input", kind, inputs(), "contains %q: the kinds are %s", kind, strings.Join(inputs(), ", "))
			}
		}
		// A mapping describes how this model differs from the others of the item.
		_, isMap := m.Value("reasoning").(map[string]any)
		if isMap {
			d.Reasons, d.Reasoning = true, readReasoning(m.Map("reasoning"), dialect, all.Reasoning)
		} else {
			d.Reasons = m.Bool("reasoning", false)
		}
		readPrices(m, d)
		out[id] = d
	}
	if len(out) == 0 && r.Self() != "" {
		r.RejectSelf("has no model")
	}
	return out
}

func readPrices(m *tree.Reader, d *Model) {
	d.Prices = readRates(m.Map("prices"), true)
	for _, a := range m.Maps("above") {
		a.Require("input_tokens")
		d.Above = append(d.Above, Above{Input: a.Int("input_tokens", 0, 1, math.MaxInt32), Prices: readRates(a, false, "input_tokens")})
	}
	requests := m.Map("requests")
	for _, name := range requests.Keys() {
		if d.Requests == nil {
			d.Requests = map[string]int64{}
		}
		d.Requests[name] = readPrice(requests, name) * 1_000_000 // of one request, not of a million
	}
	// The name of the key before there was images.
	images := m.Map("image_tokens")
	images.Only("per_pixels", "max")
	d.Images.PixelsPerToken = images.Int("per_pixels", d.Images.PixelsPerToken, 1, math.MaxInt32)
	d.Images.MaxTokens = images.Int("max", d.Images.MaxTokens, 1, math.MaxInt32)
}

func readImages(r *tree.Reader, def Images) Images {
	r.Only("pixels_per_token", "max_tokens", "page_tokens", "max_bytes")
	return Images{
		PixelsPerToken: r.Int("pixels_per_token", def.PixelsPerToken, 1, math.MaxInt32),
		MaxTokens:      r.Int("max_tokens", def.MaxTokens, 1, math.MaxInt32),
		PageTokens:     r.Int("page_tokens", def.PageTokens, 1, math.MaxInt32),
		MaxBytes:       r.Int("max_bytes", def.MaxBytes, 1, media.MaxImageBytes),
	}
}

// readRates reads the prices of the counters. others are keys that are not prices.
func readRates(r *tree.Reader, required bool, others ...string) Prices {
	r.Only(append([]string{"input", "cache_read", "cache_write_5m", "cache_write_1h", "output"}, others...)...)
	if required {
		r.Require("input", "output")
	}
	return Prices{
		readPrice(r, "input"), readPrice(r, "cache_read"), readPrice(r, "cache_write_5m"), readPrice(r, "cache_write_1h"), readPrice(r, "output"),
	}
}

// readPrice returns a price in millionths of a USD, -1 if it is absent or wrong.
func readPrice(r *tree.Reader, key string) int64 {
	if !r.Has(key) {
		return -1
	}
	s, isText := r.Value(key).(string)
	p, err := parsePrice(s)
	if !isText || err != nil {
		r.Reject(key, "must be a price in USD as a text, such as \"0.30\", with at most 6 decimals")
		return -1
	}
	return p
}

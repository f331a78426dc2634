package provider

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cond"
	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/tree"
)

// mapping describes a service of the dialect mapped: a template of its request, and where
// the parts of an answer are in an event of its stream.
// cache_is_input and reasoning_is_output have no default, because a wrong one is a wrong cost.
// body, quirks and cache are CONFIG_ERROR: request states everything that is sent.
type mapping struct {
	framing httpx.Framing
	request map[string]any
	message map[string]any // of one message in {messages}
	tool    map[string]any // of one tool in {tools}
	roles   map[string]string

	text, reasoning, model, failed dotpath.Path
	call                           callPaths
	usage                          map[string]dotpath.Path
	cacheApart, reasoningApart     bool // the input has no cached tokens, the output none for reasoning
	ended                          *cond.Cond
	stop                           dotpath.Path
	stops                          map[string][]string // words of the service, by the reason of rye
	keep                           map[string]dotpath.Path
}

// callPaths are where a call of a tool is. If list is set, it is where a list of calls is,
// and the others are paths of its elements.
type callPaths struct{ list, id, name, arguments dotpath.Path }

// The placeholders of the three templates. A text that is one placeholder becomes its
// value; a member without a value is left out.
func requestWords() []string {
	return []string{"model", "system", "messages", "transcript_text", "tools", "max_output", "temperature", "effort"}
}
func messageWords() []string {
	return []string{"role", "text"}
}
func toolWords() []string {
	return []string{"name", "description", "schema"}
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{[a-z_]+\}`)
})

// readMapping reads request and stream. Other dialects have neither.
func readMapping(r, config *tree.Reader, c *Config) *mapping {
	if c.Dialect != Mapped {
		for _, key := range []string{"request", "stream"} {
			if r.Has(key) {
				r.Reject(key, "is for the dialect %s: the dialect %s has a request and a stream of its own", Mapped, c.Dialect)
			}
		}
		return nil
	}
	r.Require("request", "stream")
	m := &mapping{framing: httpx.Framing(config.Enum(
		"framing",
		string(httpx.SSE),
		string(httpx.SSE),
		string(httpx.JSONLines),
	))}
	m.readRequest(r, c)
	m.readStream(r.Map("stream"))
	for _, key := range []string{"cache", "body", "quirks"} {
		if r.Has(key) {
			r.Reject(key, "is not part of the dialect %s: request states what is sent", Mapped)
		}
	}
	for id, model := range c.Models {
		if len(model.Input) != 1 || model.Input[0] != "text" {
			r.Map("models").Map(id).Reject("input", "must be [text] in the dialect %s", Mapped)
		}
	}
	return m
}

// readRequest reads the templates.
func (m *mapping) readRequest(r *tree.Reader, c *Config) {
	m.request, _ = r.Value("request").(map[string]any)
	r.Map("request") // another type is an error
	used := map[string]bool{}
	checkTemplate(r, "request", m.request, requestWords(), used)
	if !used["max_output"] {
		r.Reject("request", "must contain {max_output}: what a call can cost depends on it")
	}
	if !used["messages"] && !used["transcript_text"] {
		r.Reject("request", "must contain {messages} or {transcript_text}")
	}
	m.checkTools(r, c, used["tools"])
	tmpl := r.Map("templates")
	tmpl.Only("message", "tool", "roles")
	m.message = readTemplate(
		tmpl,
		"message",
		messageWords(),
		map[string]any{"role": "{role}", "content": "{text}"},
	)
	m.tool = readTemplate(tmpl, "tool", toolWords(), map[string]any{"name": "{name}", "description": "{description}", "parameters": "{schema}"})
	m.roles = map[string]string{"system": "system", "user": "user", "assistant": "assistant"}
	roles := tmpl.Map("roles")
	roles.Only("system", "user", "assistant")
	for _, key := range roles.Keys() {
		m.roles[key] = roles.Text(key)
	}
}

// checkTools reports models that would call tools that they do not know, or whose calls
// nothing reads.
func (m *mapping) checkTools(r *tree.Reader, c *Config, listed bool) {
	calls := false
	for _, model := range c.Models {
		calls = calls || model.CallsTools
	}
	switch {
	case c.Tools.Mode != "native" && listed:
		r.Reject("request", "cannot contain {tools} in the mode %s of tools: they are in the system text", c.Tools.Mode)
	case c.Tools.Mode == "native" && calls && !listed:
		r.Reject("request", "must contain {tools}; a service without calls of tools has tools: {mode: text, …}, or models with tools: false")
	case c.Tools.Mode == "native" && calls && !r.Map("stream").Has("call"):
		r.Map("stream").Reject("call", "is missing: it states where the name and the arguments of a call are")
	}
}

// readTemplate reads the form of one message or tool.
func readTemplate(
	r *tree.Reader,
	key string,
	words []string,
	def map[string]any,
) map[string]any {
	if !r.Has(key) {
		return def
	}
	r.Map(key)
	out, _ := r.Value(key).(map[string]any)
	used := map[string]bool{}
	checkTemplate(r, key, out, words, used)
	for _, word := range words {
		if !used[word] && word != "description" {
			r.Reject(key, "must contain {%s}", word)
		}
	}
	return out
}

// checkTemplate reports placeholders that do not exist, and those that are not a text but
// part of one.
func checkTemplate(r *tree.Reader, key string, v any, words []string, used map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			checkTemplate(r, key, v[k], words, used)
		}
	case []any:
		for _, e := range v {
			checkTemplate(r, key, e, words, used)
		}
	case string:
		for _, found := range placeholder().FindAllString(v, -1) {
			word := strings.Trim(found, "{}")
			used[word] = true
			if !slices.Contains(words, word) {
				r.RejectNear(key, word, words, "contains %s: the placeholders are {%s}", found, strings.Join(words, "}, {"))
			} else if found != v && slices.Contains([]string{"messages", "tools", "schema"}, word) {
				r.Reject(key, "contains %s within a text: it is a list or an object and must be a value of its own", found)
			}
		}
	}
}

// counters are the counters that usage can have.
func counters() []string {
	return []string{"input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning"}
}

func (m *mapping) readStream(r *tree.Reader) {
	r.Only("text", "reasoning", "call", "usage", "model", "error", "end", "stop", "keep")
	r.Require("text", "end")
	m.text, m.reasoning, m.model = readPath(r, "text"), readPath(r, "reasoning"), readPath(r, "model")
	if r.Has("error") {
		failed := r.Map("error")
		failed.Only("path")
		failed.Require("path")
		m.failed = readPath(failed, "path")
	}
	if end := r.Value("end"); end != nil {
		compiled, findings := cond.Compile(
			r.Doc(),
			r.Path("end"),
			r.Name("end"),
			end,
			diag.ConfigError,
		)
		for _, f := range findings {
			r.Add(f)
		}
		m.ended = compiled
	}
	if r.Has("call") {
		call := r.Map("call")
		call.Only("list", "id", "name", "arguments")
		call.Require("name", "arguments")
		m.call = callPaths{readPath(call, "list"), readPath(call, "id"), readPath(call, "name"), readPath(call, "arguments")}
	}
	m.readUsage(r.Map("usage"))
	if r.Has("stop") {
		stop := r.Map("stop")
		stop.Only("path", "max_output", "refusal", "end")
		stop.Require("path")
		m.stop = readPath(stop, "path")
		m.stops = map[string][]string{"max_output": stop.Texts("max_output", nil), "refusal": stop.Texts("refusal", nil), "end": stop.Texts("end", nil)}
	}
	keep := r.Map("keep")
	for _, key := range keep.Keys() {
		if m.keep == nil {
			m.keep = map[string]dotpath.Path{}
		}
		m.keep[key] = readPath(keep, key)
		if _, fixed := m.message[key]; fixed {
			keep.Reject(key, "is a member of each message: templates.message has it")
		}
	}
}

// readUsage reads where the counters are. Whether cached tokens are part of the input, and
// those for reasoning part of the output, differs between services and decides the cost:
// an item that has the counter states it.
func (m *mapping) readUsage(r *tree.Reader) {
	r.Only(append(counters(), "cache_is_input", "reasoning_is_output")...)
	if r.Self() != "" && len(r.Keys()) > 0 {
		r.Require("input", "output")
	}
	for _, key := range counters() {
		if r.Has(key) {
			if m.usage == nil {
				m.usage = map[string]dotpath.Path{}
			}
			m.usage[key] = readPath(r, key)
		}
	}
	for counter, flag := range map[string]string{"cache_read": "cache_is_input", "cache_write_5m": "cache_is_input", "cache_write_1h": "cache_is_input", "reasoning": "reasoning_is_output"} {
		if r.Has(counter) {
			r.Require(flag)
		}
	}
	m.cacheApart, m.reasoningApart = !r.Bool("cache_is_input", true), !r.Bool("reasoning_is_output", true)
}

func readPath(r *tree.Reader, key string) dotpath.Path {
	s := r.Text(key)
	if s == "" {
		return nil
	}
	p, err := dotpath.Parse(s)
	if err != nil {
		r.Reject(key, "%v", err)
	}
	return p
}

// find returns the value at a path as written, nil if it is absent or null.
func find(raw []byte, p dotpath.Path) []byte {
	if len(p) == 0 {
		return nil
	}
	for _, part := range p {
		if f, err := readFields(raw); err == nil {
			raw = f.get(part)
			continue
		}
		list := elements(raw)
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i >= len(list) {
			return nil
		}
		raw = list[i]
	}
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// framing returns the framing that divides the stream of an item into events.
func (c *Config) framing() httpx.Framing {
	if c.mapping != nil {
		return cmp.Or(c.mapping.framing, httpx.SSE)
	}
	return framing(c.Dialect)
}

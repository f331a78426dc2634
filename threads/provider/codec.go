package provider

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// shaped is a request in the form that the mode of the tools needs.
type shaped struct {
	message.Request
	offered []message.ToolDef // tools that the model knows, also from the system text
	format  []byte            // response_format of the mode schema, or nil
	turn    int               // number of the answer in the conversation, from 1
}

// decoder reads the events of one response.
type decoder interface {
	// event reads one event and returns the deltas that people may watch.
	event(httpx.Event) ([]message.Delta, error)
	// end returns the response, or an error if the stream did not prove that it is
	// complete.
	end() (message.Response, error)
	// seen returns the counters so far.
	seen() counts
}

// encode returns the body of a request.
func (c *Config) encode(req shaped, m *Model) ([]byte, error) {
	switch c.Dialect {
	case Chat:
		return c.encodeChat(req, m)
	case Responses:
		return c.encodeResponses(req, m)
	case Gemini:
		return c.encodeGemini(req, m)
	case Ollama:
		return c.encodeOllama(req, m)
	case Mapped:
		return c.encodeMapped(req, m)
	case ClaudeCLI, CodexCLI:
		return c.encodeProgram(req), nil
	}
	return c.encodeAnthropic(req, m)
}

// decoder returns the decoder of a response.
func (c *Config) decoder(req shaped, m *Model, odd *oddities) decoder {
	origin := wire{dialect: c.Dialect, provider: c.ID, model: m.ID}
	objects := c.Dialect == Gemini || c.Dialect == Ollama
	called := calls{
		turn:        req.turn,
		objects:     objects,
		tools:       req.offered,
		emptyIsNone: m.Quirks[emptyArguments],
		odd:         odd,
	}
	switch c.Dialect {
	case Chat:
		return &chatStream{
			c:      c,
			origin: origin,
			quirks: m.Quirks,
			calls:  called,
		}
	case Responses:
		return &responsesStream{c: c, origin: origin, calls: called}
	case Gemini:
		return &geminiStream{c: c, origin: origin, calls: called}
	case Ollama:
		return &ollamaStream{c: c, origin: origin, calls: called}
	case Mapped:
		return &mappedStream{
			c:       c,
			mapping: c.mapping,
			origin:  origin,
			calls:   called,
		}
	case ClaudeCLI:
		return &claudeStream{origin: origin}
	case CodexCLI:
		return &codexStream{origin: origin}
	}
	return &anthropicStream{c: c, origin: origin, calls: called}
}

// doneMark is the last event of many services.
const doneMark = "[DONE]"

// framing returns the framing that divides the stream of a dialect into events.
func framing(dialect string) httpx.Framing {
	if dialect == Ollama {
		return httpx.JSONLines
	}
	return httpx.SSE
}

// wire states who wrote a block, and so who can read it.
type wire struct{ dialect, provider, model string }

// mark gives a block its bytes.
func (w wire) mark(b message.Block, raw []byte) message.Block {
	b.Dialect = w.dialect
	b.Provider = w.provider
	b.Model = w.model
	b.Raw = raw
	return b
}

// own returns the bytes of a block that this provider and model wrote, or nil: no
// other service can read them.
func (c *Config) own(b message.Block, m *Model) []byte {
	if len(b.Raw) == 0 ||
		b.Dialect != c.Dialect ||
		b.Model != m.ID ||
		b.Provider != "" && b.Provider != c.ID {
		return nil
	}
	return b.Raw
}

// body applies the changes of the item to the fields of a request.
func (c *Config) body(fs fields) []byte {
	for _, key := range c.Body.Drop {
		fs.set(key, nil)
	}
	for _, key := range sortedKeys(c.Body.Add) {
		fs.set(key, encoded(c.Body.Add[key]))
	}
	return object(ordered(fs)...)
}

// ordered puts what stays the same for a conversation before the messages, and what can
// change with each request after them. Services and proxies cache by the beginning of a
// request: a new message must change nothing before it.
func ordered(fs fields) fields {
	var stable, messages, limits fields
	for _, f := range fs {
		switch f.key {
		case "messages", "input", "contents":
			messages = append(messages, f)
		case "max_tokens", maxCompletionTokens, "max_output_tokens", "generationConfig", "options":
			limits = append(limits, f)
		default:
			stable = append(stable, f)
		}
	}
	return slices.Concat(stable, messages, limits)
}

// cacheKey returns the field for the key of a conversation, or one without a value.
func (c *Config) cacheKey(m *Model, req shaped) field {
	if m.Cache.Field == "" || req.CacheKey == "" {
		return field{}
	}
	return field{m.Cache.Field, encoded(req.CacheKey)}
}

// merged joins neighbouring messages of one role: the services answer to turns.
func merged(in []message.Message) []message.Message {
	var out []message.Message
	for _, m := range in {
		n := len(out)
		if n > 0 && out[n-1].Role == m.Role {
			out[n-1].Blocks = append(
				out[n-1].Blocks[:len(out[n-1].Blocks):len(out[n-1].Blocks)],
				m.Blocks...,
			)
			continue
		}
		out = append(out, m)
	}
	return out
}

// input returns the arguments of a call for a service that takes objects only.
func input(b message.Block) []byte {
	if len(b.Input) > 0 && json.Valid(b.Input) {
		return b.Input
	}
	return []byte("{}")
}

// written returns the arguments of a call as the model wrote them.
func written(b message.Block) string {
	if b.Input != nil {
		return string(b.Input)
	}
	return b.InvalidInput
}

// dataURL returns the content of an image or a file as an address.
func dataURL(b message.Block) string {
	return "data:" + b.MediaType + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
}

// tokens returns the counters of a service whose input includes what a cache gave or
// took, and whose output includes the reasoning.
func tokens(input, cached, written, output, reasoning int64) message.Usage {
	out := message.Usage{Input: max(input, 0), Output: max(output, 0), Reasoning: max(reasoning, 0)}
	out.CacheRead = min(max(cached, 0), out.Input)
	out.Input -= out.CacheRead
	out.CacheWrite5m = min(max(written, 0), out.Input)
	out.Input -= out.CacheWrite5m
	return out
}

// schemaOf returns the schema of a tool: the services require an object.
func schemaOf(t message.ToolDef) []byte {
	if len(t.Schema) == 0 || !json.Valid(t.Schema) {
		return []byte(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// callID returns an id for a call to which the service gave none.
func callID(turn, n int) string {
	return "call_" + strconv.Itoa(turn) + "_" + strconv.Itoa(n)
}

func malformed(format string, args ...any) error {
	return diag.New(diag.ParsingError, "reading the stream of the model: "+format, args...)
}

// incomplete is the error of a stream that ended early. A line of JSON that the end cuts off
// is not an event.
func incomplete(missing string) error {
	return diag.New(diag.ProviderError, "reading the stream of the model: it ended before %s", missing).WithReason(streamIncomplete)
}

const streamIncomplete = "stream_incomplete"

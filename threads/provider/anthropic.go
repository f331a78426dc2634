package provider

import (
	"encoding/base64"
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// encodeAnthropic writes the body of POST /v1/messages.
func (c *Config) encodeAnthropic(req shaped, m *Model) ([]byte, error) {
	e := &anthropicEncoder{c: c, m: m, req: req}
	e.messages = e.turns()
	e.system = e.contents(req.System)
	for _, t := range req.Tools {
		e.tools = append(e.tools, fields{{"name", encoded(t.Name)}, {"description", encoded(t.Description)}, {"input_schema", schemaOf(t)}})
	}
	e.marks()
	total, budget := m.output(req.Request)
	fs := fields{{"model", encoded(req.Model)}, {"max_tokens", encoded(total)}}
	if len(e.system) > 0 {
		fs = append(fs, field{"system", objects(e.system)})
	}
	var turns [][]byte
	for _, t := range e.messages {
		turns = append(turns, object(
			field{"role", encoded(t.role)},
			field{"content", objects(t.content)},
		))
	}
	fs = append(fs, field{"messages", list(turns)})
	if len(e.tools) > 0 {
		fs = append(fs, field{"tools", objects(e.tools)})
		if req.Serial || !c.Tools.Parallel {
			fs = append(fs, field{"tool_choice", []byte(`{"type":"auto","disable_parallel_tool_use":true}`)})
		}
	}
	thinks := false
	level, _ := m.effort(req.Request)
	if level != "none" {
		switch m.Reasoning.Style {
		case "budget":
			if budget < minBudget {
				break
			}
			fs = append(fs, field{"thinking", object(
				field{"type", encoded("enabled")},
				field{"budget_tokens", encoded(budget)},
			)})
			thinks = true
		case "adaptive":
			fs = append(
				fs,
				field{"thinking", []byte(`{"type":"adaptive"}`)},
				field{"output_config", object(field{"effort", encoded(level)})},
			)
			thinks = true
		case "effort":
			fs = append(fs, field{"output_config", object(field{"effort", encoded(level)})})
		}
	}
	// The service refuses a temperature next to reasoning.
	if req.Temperature != "" && !thinks {
		fs = append(fs, field{"temperature", []byte(req.Temperature)})
	}
	fs = append(fs, field{"stream", encoded(!m.Quirks[noStream])})
	return c.body(fs), nil
}

// minBudget is the smallest budget for reasoning that the service accepts.
const minBudget = 1024

type anthropicEncoder struct {
	c        *Config
	m        *Model
	req      shaped
	system   []fields
	tools    []fields
	messages []anthropicTurn
}

type anthropicTurn struct {
	role    string
	content []fields
}

func (e *anthropicEncoder) turns() []anthropicTurn {
	var out []anthropicTurn
	for _, m := range merged(e.req.Messages) {
		t := anthropicTurn{role: string(m.Role), content: e.contents(m.Blocks)}
		if len(t.content) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// contents returns the blocks that the service reads.
func (e *anthropicEncoder) contents(blocks []message.Block) []fields {
	var out []fields
	for _, b := range blocks {
		if f := e.content(b); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// verbatim is the key of a block that is sent as it is.
const verbatim = ""

func (e *anthropicEncoder) content(b message.Block) fields {
	if raw := e.c.own(b, e.m); raw != nil {
		return fields{{verbatim, raw}}
	}
	switch b.Type {
	case message.Text:
		if strings.TrimSpace(b.Text) == "" {
			return nil // refused by the service
		}
		return fields{{"type", encoded("text")}, {"text", encoded(b.Text)}}
	case message.ToolCall:
		return fields{
			{"type", encoded("tool_use")},
			{"id", encoded(b.ID)},
			{"name", encoded(b.Name)},
			{"input", input(b)},
		}
	case message.ToolResult:
		f := fields{{"type", encoded("tool_result")}, {"tool_use_id", encoded(b.CallID)}, {"content", objects(e.contents(b.Content))}}
		if b.IsError {
			f = append(f, field{"is_error", []byte("true")})
		}
		return f
	case message.Image, message.File:
		return e.data(b)
	}
	return nil // reasoning and blocks of another service
}

func (e *anthropicEncoder) data(b message.Block) fields {
	kind := "image"
	switch {
	case len(b.Data) == 0:
		return nil
	case b.MediaType == "application/pdf":
		kind = "document"
	case !strings.HasPrefix(b.MediaType, "image/"):
		return fields{{"type", encoded("text")}, {"text", encoded(string(b.Data))}}
	}
	source := object(field{"type", encoded("base64")}, field{"media_type", encoded(b.MediaType)},
		field{"data", encoded(base64.StdEncoding.EncodeToString(b.Data))})
	return fields{{"type", encoded(kind)}, {"source", source}}
}

// objects writes a list of blocks.
func objects(in []fields) []byte {
	out := make([][]byte, len(in))
	for i, f := range in {
		if len(f) == 1 && f[0].key == verbatim {
			out[i] = f[0].value
			continue
		}
		out[i] = object(f...)
	}
	return list(out)
}

// marks sets the marks for the cache of the service. The newest message is the most
// useful one, since it covers everything before it; the others are found again when
// the end of the conversation differs.
func (e *anthropicEncoder) marks() {
	left := e.m.Cache.Marks
	if left == 0 || e.size() < e.m.Cache.MinTokens*4 {
		return
	}
	mark := []byte(`{"type":"ephemeral"}`)
	if e.m.Cache.TTL == "1h" {
		mark = []byte(`{"type":"ephemeral","ttl":"1h"}`)
	}
	var first, last []fields
	if n := len(e.messages); n > 0 {
		last = e.messages[n-1].content
		if n > 1 {
			first = e.messages[0].content
		}
	}
	for _, blocks := range [][]fields{last, e.system, first, e.tools} {
		n := len(blocks)
		if left == 0 || n == 0 || blocks[n-1][0].key == verbatim {
			continue
		}
		blocks[n-1].set("cache_control", mark)
		left--
	}
}

// size returns roughly the bytes of the request.
func (e *anthropicEncoder) size() int64 {
	n := len(objects(e.system)) + len(objects(e.tools))
	for _, t := range e.messages {
		n += len(objects(t.content))
	}
	return int64(n)
}

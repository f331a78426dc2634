package provider

import (
	"encoding/base64"
	"slices"

	"github.com/ryeos/rye/threads/message"
)

// encodeOllama writes the body of POST /api/chat.
func (c *Config) encodeOllama(req shaped, m *Model) ([]byte, error) {
	e := &ollamaEncoder{c: c, m: m, names: map[string]string{}}
	if text := joined(req.System, "\n\n"); text != "" {
		e.add("system", field{"content", encoded(text)})
	}
	for _, msg := range merged(req.Messages) {
		if msg.Role == message.Assistant {
			e.assistant(msg.Blocks)
		} else {
			e.user(msg.Blocks)
		}
	}
	fs := fields{{"model", encoded(req.Model)}, {"messages", list(e.out)}}
	if len(req.Tools) > 0 {
		fs = append(fs, field{"tools", functions(req.Tools, false)})
	}
	if level, stated := m.statedEffort(req.Request); stated {
		think := encoded(level)
		if level == "none" {
			think = []byte("false")
		}
		fs = append(fs, field{"think", think})
	}
	total, _ := m.output(req.Request)
	// Without num_ctx the service cuts the conversation to a small window in silence.
	options := fields{{"num_predict", encoded(total)}, {"num_ctx", encoded(m.Window)}}
	if req.Temperature != "" && !slices.Contains(c.Body.Drop, "temperature") {
		options = append(options, field{"temperature", []byte(req.Temperature)})
	}
	return c.body(append(
		fs,
		field{"options", object(options...)},
		field{"stream", encoded(!m.Quirks[noStream])},
	)), nil
}

// ollamaEncoder writes messages. names are the functions of the calls so far: a result
// has no id.
type ollamaEncoder struct {
	c     *Config
	m     *Model
	names map[string]string
	out   [][]byte
}

func (e *ollamaEncoder) add(role string, fs ...field) {
	e.out = append(e.out, object(append(
		fields{{"role", encoded(role)}},
		fs...,
	)...))
}

// assistant writes an earlier answer, with the members that this model wrote.
func (e *ollamaEncoder) assistant(blocks []message.Block) {
	fs := fields{{"content", encoded(joined(blocks, ""))}}
	var calls [][]byte
	for _, b := range blocks {
		raw := e.c.own(b, e.m)
		switch {
		case b.Type == message.ToolCall:
			e.names[b.ID] = b.Name
			if raw == nil {
				raw = object(field{"function", object(
					field{"name", encoded(b.Name)},
					field{"arguments", input(b)},
				)})
			}
			calls = append(calls, raw)
		case raw != nil:
			fs.merge(raw)
		}
	}
	if len(calls) > 0 {
		fs = append(fs, field{"tool_calls", list(calls)})
	}
	if len(fs) > 1 || string(fs[0].value) != `""` {
		e.add("assistant", fs...)
	}
}

// user writes the results of tools, each a message of its own, and then the rest.
func (e *ollamaEncoder) user(blocks []message.Block) {
	var rest []message.Block
	for _, b := range blocks {
		if b.Type != message.ToolResult {
			rest = append(rest, b)
			continue
		}
		text, others := apart(b) // a result has texts only
		e.add(
			"tool",
			field{"content", encoded(text)},
			field{"tool_name", encoded(e.names[b.CallID])},
		)
		rest = append(rest, others...)
	}
	var images [][]byte
	var texts []message.Block
	for _, b := range rest {
		switch {
		case b.Type == message.Image && len(b.Data) > 0:
			images = append(images, encoded(base64.StdEncoding.EncodeToString(b.Data)))
		case b.Type == message.File && len(b.Data) > 0:
			texts = append(texts, message.TextBlock(string(b.Data)))
		default:
			texts = append(texts, b)
		}
	}
	fs := fields{{"content", encoded(joined(texts, "\n\n"))}}
	if len(images) > 0 {
		fs = append(fs, field{"images", list(images)})
	}
	if len(fs) > 1 || string(fs[0].value) != `""` {
		e.add("user", fs...)
	}
}

package provider

import (
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// encodeResponses writes the body of POST /v1/responses. The service keeps nothing:
// reasoning goes back to it in the encrypted form.
func (c *Config) encodeResponses(req shaped, m *Model) ([]byte, error) {
	e := &responsesEncoder{c: c, m: m}
	for _, msg := range merged(req.Messages) {
		if msg.Role == message.Assistant {
			e.assistant(msg.Blocks)
		} else {
			e.user(msg.Blocks)
		}
	}
	total, _ := m.output(req.Request)
	fs := fields{{"model", encoded(req.Model)}}
	if text := joined(req.System, "\n\n"); text != "" {
		fs = append(fs, field{"instructions", encoded(text)})
	}
	fs = append(
		fs,
		field{"input", list(e.out)},
		field{"max_output_tokens", encoded(total)},
		field{"store", []byte("false")},
	)
	if len(req.Tools) > 0 {
		var tools [][]byte
		for _, t := range req.Tools {
			// Without strict the service forces it.
			tools = append(tools, object(field{"type", encoded("function")}, field{"name", encoded(t.Name)},
				field{"description", encoded(t.Description)}, field{"parameters", schemaOf(t)}, field{"strict", encoded(c.Tools.Strict)}))
		}
		fs = append(fs, field{"tools", list(tools)})
		if (req.Serial || !c.Tools.Parallel) && !m.Quirks[noParallel] {
			fs = append(fs, field{"parallel_tool_calls", []byte("false")})
		}
	}
	if m.Reasons {
		fs = append(fs, field{"include", encoded([]string{"reasoning.encrypted_content"})})
	}
	if level, stated := m.statedEffort(req.Request); stated {
		fs = append(fs, field{"reasoning", object(field{"effort", encoded(level)})})
	}
	if req.Temperature != "" {
		fs = append(fs, field{"temperature", []byte(req.Temperature)})
	}
	fs = append(
		fs,
		c.cacheKey(m, req),
		field{"stream", encoded(!m.Quirks[noStream])},
	)
	return c.body(fs), nil
}

// responsesEncoder collects the items of the input.
type responsesEncoder struct {
	c   *Config
	m   *Model
	out [][]byte
}

// user writes the results of tools, each an item of its own, and then the rest.
func (e *responsesEncoder) user(blocks []message.Block) {
	var rest []message.Block
	for _, b := range blocks {
		if b.Type != message.ToolResult {
			rest = append(rest, b)
			continue
		}
		output := encoded(joined(b.Content, "\n"))
		if parts, plain := responsesParts(b.Content); !plain {
			output = list(parts)
		}
		e.out = append(e.out, object(
			field{"type", encoded("function_call_output")},
			field{"call_id", encoded(b.CallID)},
			field{"output", output},
		))
	}
	if parts, _ := responsesParts(rest); len(parts) > 0 {
		e.out = append(e.out, object(
			field{"role", encoded("user")},
			field{"content", list(parts)},
		))
	}
}

// responsesParts writes content and reports whether all of it is text.
func responsesParts(blocks []message.Block) (out [][]byte, plain bool) {
	plain = true
	for _, b := range blocks {
		switch {
		case b.Type == message.Text && b.Text != "":
			out = append(out, object(
				field{"type", encoded("input_text")},
				field{"text", encoded(b.Text)},
			))
		case len(b.Data) == 0:
		case b.Type == message.Image:
			plain = false
			out = append(out, object(
				field{"type", encoded("input_image")},
				field{"image_url", encoded(dataURL(b))},
				field{"detail", encoded("auto")},
			))
		case b.Type == message.File && b.MediaType == "application/pdf":
			plain = false
			out = append(out, object(
				field{"type", encoded("input_file")},
				field{"filename", encoded(b.Name)},
				field{"file_data", encoded(dataURL(b))},
			))
		case b.Type == message.File:
			plain = false
			out = append(out, object(
				field{"type", encoded("input_text")},
				field{"text", encoded(string(b.Data))},
			))
		}
	}
	return out, plain
}

// assistant writes the items of an earlier answer, items of this model as they came.
func (e *responsesEncoder) assistant(blocks []message.Block) {
	for _, b := range blocks {
		if raw := e.c.own(b, e.m); raw != nil {
			e.out = append(e.out, raw)
			continue
		}
		switch b.Type {
		case message.Text:
			if strings.TrimSpace(b.Text) != "" {
				e.out = append(e.out, object(
					field{"role", encoded("assistant")},
					field{"content", encoded(b.Text)},
				))
			}
		case message.ToolCall:
			e.out = append(e.out, object(field{"type", encoded("function_call")}, field{"call_id", encoded(b.ID)},
				field{"name", encoded(b.Name)}, field{"arguments", encoded(written(b))}))
		}
	}
}

package provider

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// encodeChat writes the body of POST /v1/chat/completions.
func (c *Config) encodeChat(req shaped, m *Model) ([]byte, error) {
	e := &chatEncoder{c: c, m: m}
	e.system(req.System)
	for _, msg := range merged(req.Messages) {
		if msg.Role == message.Assistant {
			e.assistant(msg.Blocks)
		} else {
			e.user(msg.Blocks)
		}
	}
	total, _ := m.output(req.Request)
	limit := "max_tokens"
	if m.Quirks[maxCompletionTokens] {
		limit = maxCompletionTokens
	}
	fs := fields{{"model", encoded(req.Model)}, {"messages", list(e.out)}, {limit, encoded(total)}}
	if len(req.Tools) > 0 {
		fs = append(fs, field{"tools", functions(req.Tools, c.Tools.Strict)})
		if (req.Serial || !c.Tools.Parallel) && !m.Quirks[noParallel] {
			fs = append(fs, field{"parallel_tool_calls", []byte("false")})
		}
	}
	if req.format != nil {
		fs = append(fs, field{"response_format", req.format})
	}
	if level, stated := m.statedEffort(req.Request); stated {
		name, rest, nested := strings.Cut(m.Reasoning.Field, ".")
		v := encoded(level)
		if nested {
			v = object(field{rest, v})
		}
		fs = append(fs, field{name, v})
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

type chatEncoder struct {
	c   *Config
	m   *Model
	out [][]byte
}

func (e *chatEncoder) add(role string, fs ...field) {
	e.out = append(e.out, object(append(
		fields{{"role", encoded(role)}},
		fs...,
	)...))
}

func (e *chatEncoder) system(blocks []message.Block) {
	text := joined(blocks, "\n\n")
	if text == "" {
		return
	}
	role := "system"
	switch {
	case e.m.Quirks[systemAsUser]:
		role = "user"
	case e.m.Quirks[developerRole]:
		role = "developer"
	}
	e.add(role, field{"content", encoded(text)})
}

func joined(blocks []message.Block, sep string) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == message.Text && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, sep)
}

// functions writes tools as the functions that a model may call.
func functions(defs []message.ToolDef, strict bool) []byte {
	out := make([][]byte, len(defs))
	for i, t := range defs {
		f := fields{{"name", encoded(t.Name)}, {"description", encoded(t.Description)}, {"parameters", schemaOf(t)}}
		if strict {
			f = append(f, field{"strict", []byte("true")})
		}
		out[i] = object(
			field{"type", encoded("function")},
			field{"function", object(f...)},
		)
	}
	return list(out)
}

// user writes the results of tools, each a message of its own, and then the rest.
func (e *chatEncoder) user(blocks []message.Block) {
	var rest []message.Block
	for _, b := range blocks {
		if b.Type != message.ToolResult {
			rest = append(rest, b)
			continue
		}
		// The role tool takes texts only.
		text, others := apart(b)
		e.add(
			"tool",
			field{"tool_call_id", encoded(e.id(b.CallID))},
			field{"content", encoded(text)},
		)
		rest = append(rest, others...)
	}
	if parts := e.parts(rest); parts != nil {
		e.add("user", field{"content", parts})
	}
}

// parts writes content: one text as a text, anything else as a list.
func (e *chatEncoder) parts(blocks []message.Block) []byte {
	var out [][]byte
	plain := ""
	texts := 0
	for _, b := range blocks {
		switch {
		case b.Type == message.Text && b.Text != "":
			plain = b.Text
			texts++
			out = append(out, object(
				field{"type", encoded("text")},
				field{"text", encoded(b.Text)},
			))
		case b.Type == message.Image && len(b.Data) > 0:
			out = append(out, object(field{"type", encoded("image_url")}, field{"image_url", object(field{"url", encoded(dataURL(b))})}))
		case b.Type == message.File && b.MediaType == "application/pdf" && len(b.Data) > 0:
			out = append(out, object(field{"type", encoded("file")},
				field{"file", object(
					field{"filename", encoded(b.Name)},
					field{"file_data", encoded(dataURL(b))},
				)}))
		case kindOf(b) == audioInput && len(b.Data) > 0:
			format := strings.TrimPrefix(b.MediaType, "audio/")
			if format == "mpeg" {
				format = "mp3"
			}
			out = append(out, object(field{"type", encoded("input_audio")},
				field{"input_audio", object(
					field{"data", encoded(base64.StdEncoding.EncodeToString(b.Data))},
					field{"format", encoded(format)},
				)}))
		case b.Type == message.File && len(b.Data) > 0:
			out = append(out, object(
				field{"type", encoded("text")},
				field{"text", encoded(string(b.Data))},
			))
		}
	}
	switch {
	case len(out) == 0:
		return nil
	case len(out) == 1 && texts == 1:
		return encoded(plain)
	}
	return list(out)
}

func (e *chatEncoder) assistant(blocks []message.Block) {
	fs := fields{{"content", []byte("null")}}
	if text := joined(blocks, ""); text != "" {
		fs[0].value = encoded(text)
	}
	var calls [][]byte
	for _, b := range blocks {
		switch b.Type {
		case message.ToolCall:
			calls = append(calls, e.call(b))
		case message.Reasoning, message.Opaque:
			e.echo(b, &fs)
		}
	}
	if len(calls) > 0 {
		fs = append(fs, field{"tool_calls", list(calls)})
	}
	if len(calls) == 0 &&
		len(fs) == 1 &&
		string(fs[0].value) == "null" {
		return
	}
	e.add("assistant", fs...)
}

// call writes a call with its arguments as the model wrote them.
func (e *chatEncoder) call(b message.Block) []byte {
	if raw := e.c.own(b, e.m); raw != nil {
		return raw
	}
	return object(field{"id", encoded(e.id(b.ID))}, field{"type", encoded("function")},
		field{"function", object(field{"name", encoded(b.Name)}, field{"arguments", encoded(written(b))})})
}

// echo sends members of an earlier answer back to the model that wrote them.
// reasoning_content is refused by most services, so it needs the quirk.
func (e *chatEncoder) echo(b message.Block, fs *fields) {
	raw := e.c.own(b, e.m)
	if raw == nil || b.Type == message.Reasoning && !e.m.Quirks[reasoningEcho] {
		return
	}
	fs.merge(raw)
}

// id returns the id of a call as the service takes it.
func (e *chatEncoder) id(id string) string {
	if !e.m.Quirks[toolIDs9] || len(id) == 9 && alphanumeric(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}

func alphanumeric(s string) bool {
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

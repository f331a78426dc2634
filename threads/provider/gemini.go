package provider

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// encodeGemini writes the body of POST /v1beta/models/MODEL:streamGenerateContent.
func (c *Config) encodeGemini(req shaped, m *Model) ([]byte, error) {
	e := &geminiEncoder{c: c, m: m, calls: map[string]fields{}}
	var contents [][]byte
	for _, msg := range merged(req.Messages) {
		role := "user"
		parts := e.user
		if msg.Role == message.Assistant {
			role = "model"
			parts = e.model
		}
		if all := parts(msg.Blocks); len(all) > 0 {
			contents = append(contents, object(
				field{"role", encoded(role)},
				field{"parts", list(all)},
			))
		}
	}
	fs := fields{{"contents", list(contents)}}
	if text := joined(req.System, "\n\n"); text != "" {
		part := object(field{"text", encoded(text)})
		fs = append(fs, field{"systemInstruction", object(
			field{"role", encoded("user")},
			field{"parts", list([][]byte{part})},
		)})
	}
	if len(req.Tools) > 0 {
		var tools [][]byte
		for _, t := range req.Tools {
			tools = append(tools, object(field{"name", encoded(t.Name)}, field{"description", encoded(t.Description)},
				field{"parametersJsonSchema", geminiSchema(schemaOf(t))}))
		}
		fs = append(fs, field{"tools", list([][]byte{object(field{"functionDeclarations", list(tools)})})})
	}
	total, budget := m.output(req.Request)
	conf := fields{{"maxOutputTokens", encoded(total)}}
	if req.Temperature != "" && !slices.Contains(c.Body.Drop, "temperature") {
		conf = append(conf, field{"temperature", []byte(req.Temperature)})
	}
	if thinking := m.geminiThinking(req.Request, budget); thinking != nil {
		conf = append(conf, field{"thinkingConfig", thinking})
	}
	return c.body(append(fs, field{"generationConfig", object(conf...)})), nil
}

// geminiThinking returns how much a model is to think, nil if the request leaves it to
// the model.
func (m *Model) geminiThinking(req message.Request, budget int64) []byte {
	level, _ := m.effort(req)
	shown := field{"includeThoughts", []byte("true")}
	switch {
	case level == "none" && (req.Effort != "none" || m.Reasoning.Style != "budget" || !m.Reasons):
		return nil
	case level == "none":
		return object(field{"thinkingBudget", []byte("0")})
	case m.Reasoning.Style == "budget":
		return object(shown, field{"thinkingBudget", encoded(budget)})
	}
	return object(shown, field{"thinkingLevel", encoded(strings.ToUpper(level))})
}

// geminiEncoder writes parts. calls are the calls so far: a result names its function.
type geminiEncoder struct {
	c     *Config
	m     *Model
	calls map[string]fields
}

// model writes the parts of an earlier answer, parts of this model as they came: each
// can have a signature that the service requires.
func (e *geminiEncoder) model(blocks []message.Block) [][]byte {
	var out [][]byte
	for _, b := range blocks {
		raw := e.c.own(b, e.m)
		if b.Type == message.ToolCall {
			fs := fields{{"id", encoded(b.ID)}, {"name", encoded(b.Name)}}
			if part, err := readFields(raw); err == nil {
				call, _ := readFields(part.get("functionCall"))
				fs[0].value = call.get("id") // a call without an id has a result without one
			}
			e.calls[b.ID] = fs
			if raw == nil {
				raw = object(field{"functionCall", object(append(fs, field{"args", input(b)})...)})
			}
		}
		switch {
		case raw != nil:
			out = append(out, raw)
		case b.Type == message.Text && b.Text != "":
			out = append(out, object(field{"text", encoded(b.Text)}))
		}
	}
	return out
}

// user writes the results of tools and then the rest.
func (e *geminiEncoder) user(blocks []message.Block) [][]byte {
	var out, rest [][]byte
	for _, b := range blocks {
		if b.Type != message.ToolResult {
			rest = append(rest, geminiPart(b)...)
			continue
		}
		key := "output"
		if b.IsError {
			key = "error"
		}
		fs := e.calls[b.CallID]
		text, others := apart(b) // a response has texts only
		fs = append(
			fs[:len(fs):len(fs)],
			field{"response", object(field{key, encoded(text)})},
		)
		out = append(out, object(field{"functionResponse", object(fs...)}))
		for _, other := range others {
			rest = append(rest, geminiPart(other)...)
		}
	}
	return append(out, rest...)
}

// geminiPart returns the part of a block, or none.
func geminiPart(b message.Block) [][]byte {
	switch {
	case b.Type == message.Text && b.Text != "":
		return [][]byte{object(field{"text", encoded(b.Text)})}
	case len(b.Data) == 0:
		return nil
	case kindOf(b) == "":
		return [][]byte{object(field{"text", encoded(string(b.Data))})}
	}
	data := base64.StdEncoding.EncodeToString(b.Data)
	return [][]byte{object(field{"inlineData", object(
		field{"mimeType", encoded(b.MediaType)},
		field{"data", encoded(data)},
	)})}
}

// geminiSchema returns a schema with the keywords that the service accepts. rye checks
// the arguments of a call by the whole schema.
func geminiSchema(raw []byte) []byte {
	fs, err := readFields(raw)
	if err != nil {
		return raw // true or false
	}
	var out fields
	for _, f := range fs {
		switch f.key {
		case "$id", "$ref", "$anchor", "type", "format", "title", "description", "enum", "minItems", "maxItems", "minimum", "maximum", "required":
			out = append(out, f)
		case "const":
			out = append(out, field{"enum", list([][]byte{f.value})})
		case "items", "additionalProperties":
			out = append(out, field{f.key, geminiSchema(f.value)})
		case "prefixItems", "anyOf", "oneOf":
			var all [][]byte
			for _, inner := range elements(f.value) {
				all = append(all, geminiSchema(inner))
			}
			out = append(out, field{f.key, list(all)})
		case "properties", "$defs":
			members, err := readFields(f.value)
			if err != nil {
				continue
			}
			for i := range members {
				members[i].value = geminiSchema(members[i].value)
			}
			out = append(out, field{f.key, object(members...)})
		}
	}
	return object(out...)
}

package provider

import (
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// encodeMapped writes the request that the item describes.
func (c *Config) encodeMapped(req shaped, m *Model) ([]byte, error) {
	total, _ := m.output(req.Request)
	vals := map[string][]byte{
		"model": encoded(req.Model), "max_output": encoded(total), "system": given(joined(req.System, "\n\n")), "temperature": []byte(req.Temperature),
		"messages": list(c.mappedMessages(req, m)), "transcript_text": encoded(c.transcriptText(req)), "tools": c.mappedTools(req.Tools),
	}
	if level, stated := m.statedEffort(req.Request); stated {
		vals["effort"] = encoded(level)
	}
	return filled(c.mapping.request, vals), nil
}

// given returns a text as a value, nil if it is empty.
func given(s string) []byte {
	if s == "" {
		return nil
	}
	return encoded(s)
}

// filled writes a template. Values are put in once: a text that contains a placeholder
// stays as it is.
func filled(v any, vals map[string][]byte) []byte {
	switch v := v.(type) {
	case map[string]any:
		var out fields
		for _, key := range sortedKeys(v) {
			out = append(out, field{key, filled(v[key], vals)})
		}
		return object(out...)
	case []any:
		var out [][]byte
		for _, e := range v {
			if value := filled(e, vals); value != nil {
				out = append(out, value)
			}
		}
		return list(out)
	case string:
		if at := placeholder().FindString(v); at != v || v == "" {
			return encoded(placeholder().ReplaceAllStringFunc(v, func(word string) string {
				return plain(vals[strings.Trim(word, "{}")])
			}))
		}
		value := vals[strings.Trim(v, "{}")]
		if len(value) > 0 {
			return value
		}
		return nil
	}
	return encoded(v)
}

// plain returns a value as part of a text.
func plain(raw []byte) string {
	if len(raw) > 0 && raw[0] == '"' {
		return unquote(raw)
	}
	return string(raw)
}

// conversation returns the messages with the system text, unless the request has a place
// of its own for that.
func (c *Config) conversation(req shaped) []message.Message {
	text := joined(req.System, "\n\n")
	if text != "" && !names(c.mapping.request, "system") {
		return append(
			[]message.Message{{Role: "system", Blocks: []message.Block{message.TextBlock(text)}}},
			merged(req.Messages)...,
		)
	}
	return merged(req.Messages)
}

// names reports whether a template has the placeholder of a name.
func names(v any, word string) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if names(e, word) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if names(e, word) {
				return true
			}
		}
	case string:
		return strings.Contains(v, "{"+word+"}")
	}
	return false
}

// mappedMessages writes the conversation. A message of this model has the members that it
// had when it arrived.
func (c *Config) mappedMessages(req shaped, m *Model) [][]byte {
	var out [][]byte
	for _, msg := range c.conversation(req) {
		vals := map[string][]byte{"role": encoded(c.mapping.roles[string(msg.Role)]), "text": encoded(joined(msg.Blocks, "\n\n"))}
		written, err := readFields(filled(c.mapping.message, vals))
		if err != nil {
			continue // the template is an object
		}
		for _, b := range msg.Blocks {
			raw := c.own(b, m)
			if raw != nil && b.Type == message.Opaque {
				written.merge(raw)
			}
		}
		out = append(out, object(written...))
	}
	return out
}

// transcriptText writes the conversation as one text, which ends where the model continues.
func (c *Config) transcriptText(req shaped) string {
	var b strings.Builder
	for _, msg := range c.conversation(req) {
		b.WriteString(
			c.mapping.roles[string(msg.Role)] + ": " + joined(msg.Blocks, "\n\n") + "\n\n",
		)
	}
	return b.String() + c.mapping.roles["assistant"] + ":"
}

func (c *Config) mappedTools(defs []message.ToolDef) []byte {
	if len(defs) == 0 {
		return nil
	}
	var out [][]byte
	for _, t := range defs {
		vals := map[string][]byte{"name": encoded(t.Name), "description": encoded(t.Description), "schema": schemaOf(t)}
		out = append(out, filled(c.mapping.tool, vals))
	}
	return list(out)
}

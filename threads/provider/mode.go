package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/message"
)

// shape writes a request in the form that the mode of the tools needs. In the modes
// text and schema the model sees tools, calls and results as texts; in the dialect mapped
// calls and results are always texts.
func (c *Config) shape(req message.Request, m *Model) shaped {
	out := shaped{Request: req, offered: req.Tools, turn: 1}
	for _, msg := range req.Messages {
		if msg.Role == message.Assistant {
			out.turn++
		}
	}
	if !m.CallsTools {
		out.Tools = nil
	}
	if c.Tools.Mode == "native" && c.Dialect != Mapped {
		return out
	}
	out.Messages = nil
	for _, msg := range req.Messages {
		next := message.Message{Role: msg.Role}
		for _, b := range msg.Blocks {
			next.Blocks = append(next.Blocks, c.asText(b)...)
		}
		out.Messages = append(out.Messages, next)
	}
	if c.Tools.Mode == "native" {
		return out // the dialect mapped: the service gets to know tools, and reads calls as texts
	}
	if len(out.Tools) > 0 {
		text := strings.ReplaceAll(c.Tools.Prompt, "{tools}", definitions(out.Tools))
		out.System = append(slices.Clone(req.System), message.TextBlock(text))
		if c.Tools.Mode == "schema" {
			out.format = responseFormat(out.Tools)
		}
	}
	out.Tools = nil
	return out
}

// definitions writes tools as text: one line of JSON each.
func definitions(tools []message.ToolDef) string {
	var lines []string
	for _, t := range tools {
		lines = append(lines, string(object(field{"name", encoded(t.Name)}, field{"description", encoded(t.Description)},
			field{"arguments", schemaOf(t)})))
	}
	return strings.Join(lines, "\n")
}

// asText writes a call or a result as text, and leaves other blocks as they are.
func (c *Config) asText(b message.Block) []message.Block {
	switch b.Type {
	case message.ToolCall:
		// The model wrote the call as text; a call from another service did not.
		if b.Dialect == textDialect {
			return []message.Block{message.TextBlock(string(b.Raw))}
		}
		call := object(field{"call", object(
			field{"name", encoded(b.Name)},
			field{"arguments", input(b)},
		)})
		return []message.Block{message.TextBlock(string(call))}
	case message.ToolResult:
		result := object(
			field{"call_id", encoded(b.CallID)},
			field{"result", encoded(joined(b.Content, "\n"))},
		)
		if b.IsError {
			result = object(
				field{"call_id", encoded(b.CallID)},
				field{"error", encoded(joined(b.Content, "\n"))},
			)
		}
		out := []message.Block{message.TextBlock(string(result))}
		for _, inner := range b.Content {
			if inner.Type != message.Text {
				out = append(out, inner)
			}
		}
		return out
	}
	return []message.Block{b}
}

// textDialect marks calls that a model wrote as text.
const textDialect = "text"

// responseFormat is the form that an answer in the mode schema must have: a text, or
// one call with the arguments of its tool.
func responseFormat(tools []message.ToolDef) []byte {
	closed := func(name string, v []byte) []byte {
		return object(field{"type", encoded("object")}, field{"properties", object(field{name, v})},
			field{"required", encoded([]string{name})}, field{"additionalProperties", []byte("false")})
	}
	any := [][]byte{closed("say", object(field{"type", encoded("string")}))}
	for _, t := range tools {
		call := object(field{"type", encoded("object")},
			field{"properties", object(field{"name", object(field{"type", encoded("string")}, field{"enum", encoded([]string{t.Name})})},
				field{"arguments", schemaOf(t)})},
			field{"required", encoded([]string{"name", "arguments"})}, field{"additionalProperties", []byte("false")})
		any = append(any, closed("call", call))
	}
	return object(field{"type", encoded("json_schema")},
		field{"json_schema", object(field{"name", encoded("turn")}, field{"strict", []byte("true")},
			field{"schema", object(field{"anyOf", list(any)})})})
}

// unshape reads the calls that a model wrote as text.
func (c *Config) unshape(req shaped, offered []message.ToolDef, r *message.Response) error {
	if c.Tools.Mode == "native" || len(offered) == 0 {
		return nil
	}
	var out []message.Block
	n := 0
	for _, b := range r.Blocks {
		if b.Type != message.Text {
			out = append(out, b)
			continue
		}
		found, err := c.callsIn(b.Text, offered, func() string { n++; return callID(req.turn, n) })
		if err != nil {
			return err
		}
		out = append(out, found...)
	}
	r.Blocks = out
	if n > 0 && r.Stop == message.StopEnd {
		r.Stop = message.StopToolCalls
	}
	return nil
}

func (c *Config) callsIn(
	text string,
	offered []message.ToolDef,
	id func() string,
) ([]message.Block, error) {
	if c.Tools.Mode == "schema" {
		return schemaBlocks(text, offered, id), nil
	}
	re, err := regexp.Compile(c.Tools.Pattern)
	if err != nil {
		return nil, diag.New(diag.ConfigError, "reading calls: %w", err)
	}
	var out []message.Block
	at := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		before := text[at:m[0]]
		if strings.TrimSpace(before) != "" {
			out = append(out, message.TextBlock(before))
		}
		name := group(text, m, re.SubexpIndex("name"))
		args := group(text, m, re.SubexpIndex("arguments"))
		// The pattern found the end of the call, so nothing of it is missing.
		if args = strings.TrimSpace(args); args == "" {
			args = "{}"
		}
		b, err := withArguments(
			message.Block{Type: message.ToolCall, ID: id(), Name: strings.TrimSpace(name)},
			args,
			true,
		)
		if err != nil {
			b.InvalidInput = args
		}
		out = append(out, wire{dialect: textDialect}.mark(b, []byte(text[m[0]:m[1]])))
		at = m[1]
	}
	rest := text[at:]
	if strings.TrimSpace(rest) != "" || len(out) == 0 {
		out = append(out, message.TextBlock(rest))
	}
	return out, nil
}

func group(text string, m []int, i int) string {
	if i < 0 || m[2*i] < 0 {
		return ""
	}
	return text[m[2*i]:m[2*i+1]]
}

// schemaBlocks reads an answer in the mode schema. An answer in another form, such as
// one that the output maximum cut, is a text.
func schemaBlocks(text string, offered []message.ToolDef, id func() string) []message.Block {
	f, err := readFields([]byte(text))
	if err != nil {
		return []message.Block{message.TextBlock(text)}
	}
	if call, err := readFields(f.get("call")); err == nil {
		b := message.Block{
			Type:  message.ToolCall,
			ID:    id(),
			Name:  call.text("name"),
			Input: json.RawMessage(call.get("arguments")),
		}
		if b.Input == nil && noParameters(offered, b.Name) {
			b.Input = json.RawMessage("{}")
		}
		return []message.Block{wire{dialect: textDialect}.mark(b, []byte(text))}
	}
	if say := f.get("say"); say != nil {
		return []message.Block{message.TextBlock(unquote(say))}
	}
	return []message.Block{message.TextBlock(text)}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// checkTemperature returns an error for a temperature that is not a number from 0 to 2.
func checkTemperature(n json.Number) error {
	if n == "" {
		return nil
	}
	f, err := n.Float64()
	if err != nil ||
		!(f >= 0 && f <= 2) ||
		!json.Valid([]byte(n)) {
		return fmt.Errorf("temperature must be a number from 0 to 2, not %q", string(n))
	}
	return nil
}

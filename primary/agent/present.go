package agent

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/resulttext"
	"github.com/ryeos/rye/resolve"
)

// maxBlocks is the maximum length of the blocks of one reply together, in bytes.
const maxBlocks = 10 << 20

// presented is the result of a tool as a model reads it: every fact once.
type presented struct {
	data   map[string]any
	blocks []json.RawMessage // of MCP content that is not text
	whole  any               // the result as the tool returned it, for a tool that called this one
	// foreign states that it is the result of an MCP server.
	foreign bool
	// prepared states that rye has decoded its images.
	prepared bool
}

// present returns the result of a tool for a model.
func present(tool *resolve.Item, data any, interleaved bool) any {
	m, ok := data.(map[string]any)
	if !ok {
		return data
	}
	p := presented{whole: data, data: resulttext.Facts(m), foreign: isForeign(tool, m)}
	if !interleaved && isCommand(m) {
		delete(p.data, "output")
	}
	if p.foreign {
		p.prepared = m["prepared"] == true && tool.Meta.Fields["result_content"] == true
		delete(p.data, "isError")
		delete(p.data, "prepared")
		p.content(m["content"].([]any), m["structuredContent"])
	}
	return p
}

// isCommand reports whether output repeats stdout and stderr, as in the result of
// rye/bash/bash.
func isCommand(m map[string]any) bool {
	_, hasStdout := m["stdout"].(string)
	_, hasStderr := m["stderr"].(string)
	return hasStdout && hasStderr
}

// presentError removes from the details of a failed run what its message states
// and what the data repeats.
func presentError(tool *resolve.Item, err error) error {
	e := diag.Typed(err)
	data, ok := e.Details["data"].(map[string]any)
	if !ok {
		return err
	}
	short := *e
	short.Details = maps.Clone(e.Details)
	p, _ := present(tool, data, false).(presented)
	delete(p.data, "success")
	if text, _ := p.data["error"].(string); strings.Contains(e.Message, text) {
		delete(p.data, "error")
	}
	if reported, _ := p.data["error"].(map[string]any); len(reported) > 0 {
		if text, _ := reported["message"].(string); strings.Contains(e.Message, text) {
			delete(p.data, "error")
		}
	}
	if isForeign(tool, data) {
		p.forget(e.Message)
	}
	delete(short.Details, "data")
	if len(p.data) > 0 {
		short.Details["data"] = p.data
	}
	if short.Details["return_code"] != nil && p.data["exit_code"] != nil {
		delete(p.data, "exit_code")
	}
	return &short
}

// forget removes the texts of an MCP error that are in the message.
func (p *presented) forget(message string) {
	list, _ := p.data["content"].([]any)
	list = slices.DeleteFunc(slices.Clone(list), func(c any) bool {
		m, _ := c.(map[string]any)
		text, isText := m["text"].(string)
		return isText && m["type"] == "text" && strings.Contains(message, text)
	})
	if p.data["content"] = list; len(list) == 0 {
		delete(p.data, "content")
	}
}

// isForeign reports whether a result is that of an MCP server, or of a tool that declares the
// same form.
func isForeign(tool *resolve.Item, m map[string]any) bool {
	if tool == nil {
		return false
	}
	kind, _ := tool.Meta.Fields["tool_type"].(string)
	_, isList := m["content"].([]any)
	if tool.Meta.Fields["result_content"] == true {
		return isList
	}
	_, hasError := m["isError"].(bool)
	return isList && hasError && (kind == mcpclient.StubType || strings.HasPrefix(tool.Ref.ID, "rye/mcp/"))
}

// content sets data.content: text as it is, unless structured contains the same, and
// a header for each image, audio, resource and link, which becomes a block.
func (p *presented) content(content []any, structured any) {
	out := []any{}
	size := 0
	for _, c := range content {
		block, _ := c.(map[string]any)
		if text, ok := block["text"].(string); ok && block["type"] == "text" && structured != nil && repeats(text, structured) {
			continue
		}
		header, raw := blockOf(block)
		switch {
		case header == nil:
			out = append(out, c)
		case size+len(raw) > maxBlocks:
			header["problem"] = "too large to be passed on"
			out = append(out, header)
		default:
			size += len(raw)
			p.blocks = append(p.blocks, raw)
			header["block"] = int64(len(p.blocks)) // block 0 is the reply
			out = append(out, header)
		}
	}
	p.data["content"] = out
	if len(out) == 0 && structured != nil {
		delete(p.data, "content")
	}
}

// repeats reports whether a text contains the same as a structured result or, as
// some libraries write it, as its only member or an element of that list.
func repeats(text string, structured any) bool {
	same := []any{structured}
	if m, ok := structured.(map[string]any); ok && len(m) == 1 {
		for _, v := range m {
			list, _ := v.([]any)
			same = append(append(same, v), list...)
		}
	}
	v, fs := jsonx.ParseMessage([]byte(text))
	for _, s := range same {
		if s, isText := s.(string); isText && s == text {
			return true
		}
		if s, err := generic(s); err == nil && len(fs) == 0 && reflect.DeepEqual(v, s) {
			return true
		}
	}
	return false
}

// blockOf returns the header of a block of MCP content that clients understand, and
// the block itself; nil for text and for a block that they would refuse.
func blockOf(block map[string]any) (header map[string]any, raw json.RawMessage) {
	kind, _ := block["type"].(string)
	header = map[string]any{"type": kind}
	from := block
	switch kind {
	case "image", "audio":
		data, _ := block["data"].(string)
		if _, err := base64.StdEncoding.DecodeString(data); err != nil || !isText(block["mimeType"]) {
			return nil, nil
		}
	case "resource_link":
		if !isText(block["uri"]) || !isText(block["name"]) {
			return nil, nil
		}
	case "resource":
		from, _ = block["resource"].(map[string]any)
		blob, _ := from["blob"].(string)
		_, err := base64.StdEncoding.DecodeString(blob)
		_, hasText := from["text"].(string)
		if !isText(from["uri"]) || err != nil || hasText == (from["blob"] != nil) {
			return nil, nil
		}
	default:
		return nil, nil
	}
	for _, name := range []string{"uri", "name", "mimeType"} {
		if isText(from[name]) {
			header[name] = from[name]
		}
	}
	raw, err := jsonx.Marshal(block)
	if err != nil {
		return nil, nil
	}
	return header, raw
}

func isText(v any) bool {
	s, ok := v.(string)
	return ok && s != ""
}

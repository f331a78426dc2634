package agent

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/media"
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
	shown  any               // whole, with headers in place of the files in it
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
	p := presented{whole: data, shown: data, foreign: isForeign(tool, m)}
	if !p.foreign {
		size := 0
		p.shown = p.lift(data, &size)
		m, _ = p.shown.(map[string]any)
	}
	p.data = resulttext.Facts(m)
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
	text, _ := p.data["error"].(string)
	if strings.Contains(e.Message, text) {
		delete(p.data, "error")
	}
	reported, _ := p.data["error"].(map[string]any)
	if len(reported) > 0 {
		text, _ := reported["message"].(string)
		if strings.Contains(e.Message, text) {
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

// isForeign reports whether a result comes from an MCP server, or from a tool that declares the
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
	return isList &&
		hasError &&
		(kind == mcpclient.StubType || strings.HasPrefix(tool.Ref.ID, "rye/mcp/"))
}

// content sets data.content: text as it is, unless structured contains the same, and
// a header for each image, audio, resource and link, which becomes a block.
func (p *presented) content(content []any, structured any) {
	out := []any{}
	size := 0
	for _, c := range content {
		block, _ := c.(map[string]any)
		text, ok := block["text"].(string)
		if ok && block["type"] == "text" && structured != nil && repeats(text, structured) {
			continue
		}
		header, raw := blockOf(block)
		switch {
		case header == nil:
			out = append(out, c)
		case raw == nil:
			out = append(out, header)
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

// lift returns a value of a result with a header in place of each file in it: the output of a
// graph, or of a program, may be the result of another tool. The files become blocks.
func (p *presented) lift(v any, size *int) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = p.lift(v[i], size)
		}
		return out
	case map[string]any:
		if isFile(v) {
			header, raw := blockOf(v)
			switch {
			case raw == nil:
			case *size+len(raw) > maxBlocks:
				header["problem"] = "too large to be passed on"
			default:
				*size += len(raw)
				p.blocks = append(p.blocks, raw)
				header["block"] = int64(len(p.blocks))
			}
			return header
		}
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) { // the blocks have one order
			out[k] = p.lift(v[k], size)
		}
		return out
	}
	return v
}

// isFile reports whether an object is a block of MCP content with an image, a sound or a file that
// rye recognises. Data of a program that only look like one are not.
func isFile(block map[string]any) bool {
	kind, _ := block["type"].(string)
	text, _ := block["data"].(string)
	if kind == "resource" {
		from, _ := block["resource"].(map[string]any)
		text, _ = from["blob"].(string)
	} else if kind != "image" && kind != "audio" {
		return false
	}
	data, err := fileContent(text)
	return err == nil && media.Recognise(data) != ""
}

// repeats reports whether a text contains the same as a structured result or, as
// some libraries write it, as its only member or an element of that list.
func repeats(text string, structured any) bool {
	same := []any{structured}
	m, ok := structured.(map[string]any)
	if ok && len(m) == 1 {
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
		s, err := generic(s)
		if err == nil && len(fs) == 0 && reflect.DeepEqual(v, s) {
			return true
		}
	}
	return false
}

// blockOf returns the header of a block of MCP content that clients understand, and
// the block itself; nil for text and for a block that they would refuse. A file whose
// content cannot be read has a header with the problem alone: its base64 is not a text
// for a model.
func blockOf(block map[string]any) (header map[string]any, raw json.RawMessage) {
	kind, _ := block["type"].(string)
	header = map[string]any{"type": kind}
	from := block
	problem := ""
	switch kind {
	case "image", "audio":
		from, problem = withFile(block, "data")
		block = from
	case "resource_link":
		if !isText(block["uri"]) || !isText(block["name"]) {
			return nil, nil
		}
	case "resource":
		from, _ = block["resource"].(map[string]any)
		_, hasText := from["text"].(string)
		switch {
		case hasText && !isText(from["uri"]), !hasText && from["blob"] == nil:
			return nil, nil
		case hasText: // some servers send a blob, too
			from = maps.Clone(from)
			delete(from, "blob")
		case !isText(from["uri"]):
			problem = "it has no uri"
		default:
			from, problem = withFile(from, "blob")
		}
		block = maps.Clone(block)
		block["resource"] = from
	default:
		return unknownBlock(block), nil
	}
	for _, name := range []string{"uri", "name", "mimeType"} {
		if isText(from[name]) {
			header[name] = from[name]
		}
	}
	if problem != "" {
		header["problem"] = problem
		return header, nil
	}
	raw, err := jsonx.Marshal(block)
	if err != nil {
		return nil, nil
	}
	return header, raw
}

// withFile returns a block whose member key is the content of a file in standard base64,
// with the type that the content has. Servers send base64 without padding, in the
// alphabet for URLs and as a data URL, and a type that is missing or belongs to another file.
func withFile(block map[string]any, key string) (fixed map[string]any, problem string) {
	text, isString := block[key].(string)
	data, err := fileContent(text)
	if !isString || err != nil {
		return block, "its " + key + " is not base64"
	}
	if len(data) == 0 {
		return block, "its " + key + " is empty"
	}
	fixed = maps.Clone(block)
	fixed[key] = base64.StdEncoding.EncodeToString(data)
	switch kind := media.Recognise(data); {
	case kind != "":
		fixed["mimeType"] = kind
	case !isText(block["mimeType"]):
		fixed["mimeType"] = "application/octet-stream"
	}
	return fixed, ""
}

// fileContent decodes base64 in each form that has one meaning.
func fileContent(text string) ([]byte, error) {
	head, rest, isURL := strings.Cut(text, ";base64,")
	if isURL && strings.HasPrefix(head, "data:") {
		text = rest
	}
	text = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", " ", "").Replace(text)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

// unknownBlock returns the header of a block of an unknown type with a file, and nil for one
// that has none: it is data like any other.
func unknownBlock(block map[string]any) map[string]any {
	const maxText = 256 // bytes: longer ones are files
	for _, key := range []string{"data", "blob"} {
		text, _ := block[key].(string)
		if len(text) > maxText {
			header := maps.Clone(block)
			delete(header, key)
			header["problem"] = fmt.Sprintf("its %s of %d characters is left out, because the type is not known", key, len(text))
			return header
		}
	}
	return nil
}

func isText(v any) bool {
	s, ok := v.(string)
	return ok && s != ""
}

package provider

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/threads/message"
)

// readsTextCalls makes calls of those that a model wrote as text although the service has
// calls, and reports whether there were any. Their meaning must be certain: they end the
// text, begin a line outside of a fenced block, name tools that are offered, and their
// arguments are whole. Otherwise the text stays as it is.
func (req *shaped) readsTextCalls(r *message.Response) bool {
	last := len(r.Blocks) - 1
	if len(req.offered) == 0 ||
		len(r.Calls()) > 0 ||
		r.Stop != message.StopEnd && r.Stop != message.StopToolCalls ||
		last < 0 ||
		r.Blocks[last].Type != message.Text ||
		len(r.Blocks[last].Raw) > 0 {
		return false
	}
	text := strings.TrimSpace(r.Blocks[last].Text)
	for _, read := range []func(string) (string, []textCall){hermesCalls, functionCalls, mistralCalls, llamaCalls, deepseekCalls, kimiCalls} {
		before, found := read(text)
		if len(found) == 0 || strings.Count(before, "```")%2 == 1 {
			continue
		}
		blocks := req.textBlocks(found)
		if blocks == nil {
			return false
		}
		r.Blocks = r.Blocks[:last:last]
		if before = strings.TrimSpace(before); before != "" {
			r.Blocks = append(r.Blocks, message.TextBlock(before))
		}
		r.Blocks = append(r.Blocks, blocks...)
		r.Stop = message.StopToolCalls
		return true
	}
	return false
}

// textCall is a call in a text. Values are arguments that are texts in the text; the schema
// of the tool states what they are.
type textCall struct {
	raw, name string
	arguments []byte
	values    fields
}

// textBlocks returns the blocks of calls, nil if one of them is not certain.
func (req *shaped) textBlocks(found []textCall) []message.Block {
	var out []message.Block
	for i, c := range found {
		at := slices.IndexFunc(req.offered, func(t message.ToolDef) bool {
			return t.Name == c.name
		})
		if at < 0 {
			return nil
		}
		args := c.arguments
		if args == nil {
			args = typedValues(c.values, req.offered[at])
		}
		f, err := readFields(args)
		if err != nil || f == nil && !emptyObject(args) {
			return nil
		}
		b := message.Block{
			Type:  message.ToolCall,
			ID:    callID(req.turn, i+1),
			Name:  c.name,
			Input: json.RawMessage(args),
		}
		out = append(out, wire{dialect: textDialect}.mark(b, []byte(c.raw)))
	}
	return out
}

// typedValues writes values as the schema of a tool has them, nil if one is not declared or
// does not fit.
func typedValues(values fields, tool message.ToolDef) []byte {
	schema, _ := readFields(tool.Schema)
	properties := schema.within("properties")
	out := fields{}
	for _, v := range values {
		declared, err := readFields(properties.get(v.key))
		if err != nil {
			return nil
		}
		text := string(v.value)
		kind := declared.text("type")
		if kind == "string" || kind == "" && !json.Valid(v.value) {
			out.set(v.key, encoded(text))
			continue
		}
		if !json.Valid(v.value) {
			return nil
		}
		out.set(v.key, []byte(strings.TrimSpace(text)))
	}
	return object(out...)
}

// jsonCall reads {"name": …, "arguments": {…}} with nothing else in it, also with
// parameters in place of arguments.
func jsonCall(text string) (textCall, bool) {
	f, err := readFields([]byte(strings.TrimSpace(text)))
	if err != nil || !f.only("name", "arguments", "parameters", "id", "type") {
		return textCall{}, false
	}
	args := f.get("arguments")
	if args == nil {
		args = f.get("parameters")
	}
	if len(args) > 0 && args[0] == '"' {
		args = objectIn(unquote(args))
	}
	if len(args) == 0 || args[0] != '{' || f.text("name") == "" {
		return textCall{}, false
	}
	return textCall{raw: text, name: f.text("name"), arguments: args}, true
}

// trailing divides a text at the elements with which it ends: each between open and close,
// with white space between them. The first one begins a line.
func trailing(text, open, close string) (before string, inner []string) {
	rest := strings.TrimSpace(text)
	for strings.HasSuffix(rest, close) {
		at := strings.LastIndex(rest, open)
		if at < 0 {
			return text, nil
		}
		body := rest[at+len(open) : len(rest)-len(close)]
		if strings.Contains(body, close) {
			break
		}
		inner = append([]string{body}, inner...)
		rest = strings.TrimRight(rest[:at], " \t\r\n")
		before = text[:at]
	}
	line := before[strings.LastIndex(before, "\n")+1:]
	if len(inner) == 0 || strings.TrimSpace(line) != "" {
		return text, nil
	}
	return before, inner
}

// hermesCalls reads <tool_call>…</tool_call> of Hermes and Qwen (JSON), of Qwen Coder
// (<function=NAME> with <parameter=KEY>) and of GLM (NAME with <arg_key> and <arg_value>).
func hermesCalls(text string) (string, []textCall) {
	before, inner := trailing(text, "<tool_call>", "</tool_call>")
	var out []textCall
	for _, body := range inner {
		c, ok := jsonCall(body)
		if !ok {
			c, ok = coderCall(body)
		}
		if !ok {
			c, ok = glmCall(body)
		}
		if !ok {
			return text, nil
		}
		c.raw = "<tool_call>" + body + "</tool_call>"
		out = append(out, c)
	}
	return before, out
}

type textForms struct{ function, parameter, glm, pair, deepseek, kimi *regexp.Regexp }

var callForms = sync.OnceValue(func() textForms {
	return textForms{
		function:  regexp.MustCompile(`(?s)^\s*<function=([\w.-]+)>(.*)</function>\s*$`),
		parameter: regexp.MustCompile(`(?s)^\s*<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>\s*`),
		glm:       regexp.MustCompile(`(?s)^\s*([\w.-]+)\s*((?:<arg_key>.*</arg_value>)?)\s*$`),
		pair:      regexp.MustCompile(`(?s)^\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>\s*`),
		deepseek:  regexp.MustCompile("(?s)^\\s*<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?([\\w.-]+)(?:<｜tool▁sep｜>|\\s*\n```json\\s*\n)(.*?)(?:\n```)?\\s*<｜tool▁call▁end｜>\\s*"),
		kimi:      regexp.MustCompile(`(?s)^\s*<\|tool_call_begin\|>\s*(?:functions\.)?([\w.-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end\|>\s*`),
	}
})

// pairs reads the values that a text consists of. ok is false if there is anything else.
func pairs(text string, re *regexp.Regexp) (out fields, ok bool) {
	for strings.TrimSpace(text) != "" {
		m := re.FindStringSubmatch(text)
		if m == nil {
			return nil, false
		}
		out = append(out, field{strings.TrimSpace(m[1]), []byte(m[2])})
		text = text[len(m[0]):]
	}
	return out, true
}

func coderCall(body string) (textCall, bool) {
	m := callForms().function.FindStringSubmatch(body)
	if m == nil {
		return textCall{}, false
	}
	if f := objectIn(m[2]); f != nil {
		return textCall{name: m[1], arguments: f}, true
	}
	values, ok := pairs(m[2], callForms().parameter)
	return textCall{name: m[1], values: values}, ok
}

func glmCall(body string) (textCall, bool) {
	m := callForms().glm.FindStringSubmatch(body)
	if m == nil {
		return textCall{}, false
	}
	values, ok := pairs(m[2], callForms().pair)
	return textCall{name: m[1], values: values}, ok
}

// functionCalls reads <function=NAME>{…}</function> of Llama.
func functionCalls(text string) (string, []textCall) {
	before, inner := trailing(text, "<function=", "</function>")
	var out []textCall
	for _, body := range inner {
		raw := "<function=" + body + "</function>"
		c, ok := coderCall(raw)
		if !ok {
			return text, nil
		}
		c.raw = raw
		out = append(out, c)
	}
	return before, out
}

// mistralCalls reads [TOOL_CALLS] with a list of calls, or with NAME, [ARGS] and an object.
func mistralCalls(text string) (string, []textCall) {
	before, rest, found := strings.Cut(text, "[TOOL_CALLS]")
	line := before[strings.LastIndex(before, "\n")+1:]
	if !found || strings.TrimSpace(line) != "" {
		return text, nil
	}
	var out []textCall
	all := elements([]byte(strings.TrimSpace(rest)))
	if all != nil {
		for _, one := range all {
			c, ok := jsonCall(string(one))
			if !ok {
				return text, nil
			}
			out = append(out, c)
		}
		return before, out
	}
	for _, one := range strings.Split(rest, "[TOOL_CALLS]") {
		name, args, _ := strings.Cut(strings.Replace(one, "[ARGS]", "", 1), "{")
		f := objectIn("{" + args)
		if f == nil {
			return text, nil
		}
		out = append(out, textCall{raw: "[TOOL_CALLS]" + one, name: strings.TrimSpace(name), arguments: f})
	}
	return before, out
}

// llamaCalls reads an answer that is one call as JSON and nothing else, also after
// <|python_tag|>.
func llamaCalls(text string) (string, []textCall) {
	c, ok := jsonCall(strings.TrimPrefix(text, "<|python_tag|>"))
	if !ok {
		return text, nil
	}
	c.raw = text
	return "", []textCall{c}
}

// marked reads calls between two marks.
func marked(text, open, close string, re *regexp.Regexp) (string, []textCall) {
	before, rest, found := strings.Cut(text, open)
	rest, closed := strings.CutSuffix(strings.TrimSpace(rest), close)
	if !found || !closed {
		return text, nil
	}
	var out []textCall
	for strings.TrimSpace(rest) != "" {
		m := re.FindStringSubmatch(rest)
		if m == nil || objectIn(m[2]) == nil {
			return text, nil
		}
		out = append(out, textCall{raw: m[0], name: m[1], arguments: objectIn(m[2])})
		rest = rest[len(m[0]):]
	}
	return before, out
}

func deepseekCalls(text string) (string, []textCall) {
	return marked(text, "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", callForms().deepseek)
}

func kimiCalls(text string) (string, []textCall) {
	return marked(text, "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", callForms().kimi)
}

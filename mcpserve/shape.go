package mcpserve

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ryeos/rye/internal/hidden"
)

// wrongParams tells all that is wrong with the shape of a request's params, ""
// when nothing is. The SDK tells the first thing only, in the words of Go. What
// a verb is called with, the verb looks at.
func wrongParams(method string, params json.RawMessage) string {
	params = bytes.TrimSpace(params)
	words, ok := textsOf(method)
	if !ok || len(params) == 0 || kindOf(params) == "null" {
		return ""
	}
	if kindOf(params) != "an object" {
		return "the params of " + method + " must be an object, not " + kindOf(params)
	}
	var wrong []string
	for key, value := range members(params) {
		switch {
		case words[key]:
			wrong = append(wrong, wrongText(key, value)...)
		case key == "_meta" && kindOf(value) != "an object" && kindOf(value) != "null":
			wrong = append(wrong, "_meta must be an object, not "+kindOf(value))
		case key == "arguments" && method == "prompts/get":
			wrong = append(wrong, wrongArguments(value)...)
		}
	}
	if wrong == nil {
		return ""
	}
	return "reading the params of " + method + ": " + strings.Join(wrong, "; ")
}

// textsOf returns the params of a method that are texts, and whether the method
// is one of those that are answered here.
func textsOf(method string) (params map[string]bool, ok bool) {
	switch method {
	case "tools/call", "prompts/get":
		return map[string]bool{"name": true}, true
	case "resources/read":
		return map[string]bool{"uri": true}, true
	case "initialize":
		return map[string]bool{"protocolVersion": true}, true
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return map[string]bool{"cursor": true}, true
	}
	return nil, false
}

func wrongText(key string, value json.RawMessage) []string {
	var s string
	switch kind := kindOf(value); {
	case key == "cursor" && kind == "null":
		return nil
	case kind != "a text":
		return []string{key + " must be a text, not " + kind}
	}
	_ = json.Unmarshal(value, &s) // it is a text
	if s != hidden.Visible(s) {
		return []string{key + " holds characters that nobody sees: " + quoted(s)}
	}
	return nil
}

// wrongArguments tells which arguments of a prompt are no texts.
func wrongArguments(arguments json.RawMessage) (wrong []string) {
	switch kind := kindOf(arguments); kind {
	case "null", "an object":
	default:
		return []string{"arguments must be an object, not " + kind}
	}
	seen := map[string]bool{}
	for key, value := range members(arguments) {
		if kind := kindOf(value); kind != "a text" {
			wrong = append(wrong, "the argument "+quoted(key)+" must be a text, not "+kind)
		}
		if seen[key] {
			wrong = append(wrong, "the argument "+quoted(key)+" stands twice")
		}
		seen[key] = true
	}
	return wrong
}

// kindOf names what a JSON value is.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f', 'n':
		return string(value)
	}
	return "a number"
}

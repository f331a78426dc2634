package mcpserve

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ryeos/rye/internal/hidden"
)

// paramsProblem describes everything that is wrong with the types of a request's
// params; "" means nothing. The SDK would report the first problem only, in
// terms of Go types. The arguments of tools are checked by the verbs.
func paramsProblem(method string, params json.RawMessage) string {
	params = bytes.TrimSpace(params)
	texts, ok := textParams(method)
	if !ok || len(params) == 0 || typeOf(params) == "null" {
		return ""
	}
	if typeOf(params) != "an object" {
		return "the params of " + method + " must be an object, not " + typeOf(params)
	}
	var problems []string
	for key, value := range members(params) {
		switch {
		case texts[key]:
			problems = append(problems, textProblem(key, value)...)
		case key == "_meta" && typeOf(value) != "an object" && typeOf(value) != "null":
			problems = append(problems, "_meta must be an object, not "+typeOf(value))
		case key == "arguments" && method == "prompts/get":
			problems = append(problems, argumentProblems(value)...)
		}
	}
	if problems == nil {
		return ""
	}
	return "reading the params of " + method + ": " + strings.Join(problems, "; ")
}

// textParams returns the names of a method's text params. ok is false for a
// method whose params are not checked here.
func textParams(method string) (names map[string]bool, ok bool) {
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

func textProblem(key string, value json.RawMessage) []string {
	kind := typeOf(value)
	if key == "cursor" && kind == "null" {
		return nil
	}
	if kind != "a text" {
		return []string{key + " must be a text, not " + kind}
	}
	var s string
	_ = json.Unmarshal(value, &s) // it is a text
	if s != hidden.Visible(s) {
		return []string{key + " contains invisible characters: " + quoted(s)}
	}
	return nil
}

// argumentProblems describes the arguments of a prompt that are not texts.
func argumentProblems(arguments json.RawMessage) (problems []string) {
	switch kind := typeOf(arguments); kind {
	case "null", "an object":
	default:
		return []string{"arguments must be an object, not " + kind}
	}
	seen := map[string]bool{}
	for key, value := range members(arguments) {
		if kind := typeOf(value); kind != "a text" {
			problems = append(problems, "the argument "+quoted(key)+" must be a text, not "+kind)
		}
		if seen[key] {
			problems = append(problems, "the argument "+quoted(key)+" is given twice")
		}
		seen[key] = true
	}
	return problems
}

// typeOf names the type of a JSON value.
func typeOf(value json.RawMessage) string {
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

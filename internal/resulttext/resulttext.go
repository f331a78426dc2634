// Package resulttext writes the result of a tool as the text that a model reads: each
// fact once, as plain text where the result is a text, as lines where it is a list of
// names, and as JSON where it is data. An error is one line with its code.
//
// It does not limit the length of a text, except that Fit shortens a page of lines, and
// it knows nothing about the tool: the form follows from the members of the result.
package resulttext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
)

// longText is the length in bytes above which a text of one line is written below the
// other members of its result.
const longText = 200

// empty is the text of a result that states nothing but success.
const empty = "[no output]"

// Problem is why a call failed.
type Problem struct {
	Code    string
	Message string
	Hint    string         // what the model can do, "" if nothing is known
	Details map[string]any // facts; those that the message has are not repeated
}

// Text returns the result of a successful call.
func Text(data any) string {
	if s, isText := data.(string); isText {
		return orEmpty(s)
	}
	raw, err := jsonx.Marshal(data)
	if err != nil {
		return Error("INTERNAL", "writing the result: "+err.Error())
	}
	parsed, _ := jsonx.ParseMessage(raw)
	m, isObject := parsed.(map[string]any)
	if !isObject {
		return string(raw)
	}
	if text, known := shaped(m, false); known {
		return orEmpty(text)
	}
	return orEmpty(record(ordered(raw), m))
}

// Failure returns the result of a failed call: the error in the first line, then what the
// call returned nevertheless.
func Failure(p Problem) string {
	out := []string{Error(p.Code, p.Message)}
	add := func(s string) {
		if s = strings.TrimRight(s, "\n"); s != "" {
			out = append(out, s)
		}
	}
	details := maps.Clone(p.Details)
	add(findings(details))
	if schema, has := details["schema"]; has {
		add("parameters: " + compact(schema))
	}
	body := returned(details)
	stderr, _ := details["stderr"].(string)
	known := p.Message + "\n" + body
	if stderr = strings.TrimSpace(stderr); stderr != "" && !strings.Contains(known, stderr) {
		body = strings.TrimRight(body, "\n") + "\n[stderr]\n" + stderr
	}
	for _, name := range []string{"data", "stdout", "stderr", "findings", "schema", "return_code", "searched", "suggestion"} {
		delete(details, name)
	}
	known += "\n" + p.Hint
	for _, name := range slices.Sorted(maps.Keys(details)) {
		value := scalar(details[name])
		if !strings.Contains(known, value) {
			add(name + ": " + value)
		}
	}
	if p.Hint != "" {
		add("hint: " + p.Hint)
	}
	add(strings.TrimLeft(body, "\n"))
	return strings.Join(out, "\n")
}

// returned formats the values that a failed call returned.
func returned(details map[string]any) string {
	data, has := details["data"]
	if !has {
		stdout, _ := details["stdout"].(string)
		return stdout
	}
	raw, err := jsonx.Marshal(data)
	if err != nil {
		return ""
	}
	parsed, _ := jsonx.ParseMessage(raw)
	m, isObject := parsed.(map[string]any)
	if !isObject {
		return string(raw)
	}
	if text, known := shaped(m, true); known {
		return text
	}
	return record(ordered(raw), m)
}

// findings returns the problems of an error with several, one a line.
func findings(details map[string]any) string {
	raw, err := jsonx.Marshal(details["findings"])
	if err != nil {
		return ""
	}
	parsed, _ := jsonx.ParseMessage(raw)
	list, _ := parsed.([]any)
	var lines []string
	for _, f := range list {
		m, _ := f.(map[string]any)
		line := "- "
		if path, _ := m["path"].(string); path != "" {
			line += path
			if m["line"] != nil {
				line += ":" + scalar(m["line"])
			}
			line += ": "
		} else if m["line"] != nil {
			line += "line " + scalar(m["line"]) + ": "
		}
		if code, _ := m["code"].(string); code != "" {
			line += code + ": "
		}
		message, _ := m["message"].(string)
		line += message
		if fix, _ := m["suggestion"].(string); fix != "" {
			line += " (" + fix + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Error returns an error as a model reads it.
func Error(code, message string) string {
	if code == "" {
		return message
	}
	return code + ": " + message
}

// Code returns the code at the start of the result of a failed call, and its message; ""
// and the first line if there is none. It reads the JSON of earlier versions, too.
func Code(text string) (code, message string) {
	var envelope struct {
		Error *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &envelope) == nil {
		if envelope.Error == nil {
			return "", ""
		}
		return envelope.Error.Code, envelope.Error.Message
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	before, after, found := strings.Cut(first, ": ")
	if found && isCode(before) {
		return before, after
	}
	return "", first
}

// isCode reports whether a word has the form of an error code.
func isCode(s string) bool {
	upper := strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
	return upper && len(s) >= 4 && len(s) <= 64
}

// Facts returns the members of a result that state something: not that it succeeded, how
// long it took, or that nothing was cut.
func Facts(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if !silent(k, v) {
			out[k] = v
		}
	}
	return out
}

func silent(name string, v any) bool {
	switch name {
	case "success":
		return v == true
	case "truncated":
		return v == false
	case "exit_code":
		return v == int64(0)
	case "stderr":
		return v == ""
	case "duration_ms":
		return true
	}
	return false
}

// member is one member of an object, in the order of the object.
type member struct {
	name string
	raw  json.RawMessage
}

// ordered returns the members of an object in their order.
func ordered(raw []byte) []member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return out
		}
		m := member{}
		m.name, _ = name.(string)
		if d.Decode(&m.raw) != nil {
			return out
		}
		out = append(out, m)
	}
	return out
}

// record returns an object: its texts below its other members if it has long texts, else
// as JSON. A lone text is that text.
func record(members []member, m map[string]any) string {
	members = slices.DeleteFunc(members, func(x member) bool {
		return silent(x.name, m[x.name])
	})
	var head, texts []string
	var long []member
	for _, x := range members {
		text, isText := m[x.name].(string)
		if isText &&
			(strings.Contains(strings.TrimRight(text, "\n"), "\n") || len(text) > longText) {
			long = append(long, x)
			continue
		}
		head = append(head, x.name+": "+scalar(valueOf(x, m)))
	}
	if len(members) == 1 && isProse(members[0].name) {
		text, isText := m[members[0].name].(string)
		if isText {
			return text
		}
	}
	if len(long) == 0 {
		return object(members)
	}
	for _, x := range long {
		text, _ := m[x.name].(string)
		if len(long) > 1 {
			text = "[" + x.name + "]\n" + text
		}
		texts = append(texts, strings.TrimRight(text, "\n"))
	}
	if len(head) == 0 {
		return strings.Join(texts, "\n")
	}
	return strings.Join(head, "\n") + "\n\n" + strings.Join(texts, "\n")
}

// valueOf returns a text as it is, and other values as they were written: the keys of a
// schema have an order.
func valueOf(x member, m map[string]any) any {
	if text, isText := m[x.name].(string); isText {
		return text
	}
	return x.raw
}

// isProse reports whether the only member of a result with this name is the result.
func isProse(name string) bool {
	switch name {
	case "stdout", "output", "text", "content", "body":
		return true
	}
	return false
}

// object returns members as JSON, "" for none.
func object(members []member) string {
	if len(members) == 0 {
		return ""
	}
	var b strings.Builder
	for i, x := range members {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.WriteString(compact(x.name) + ":" + string(x.raw))
	}
	return b.String() + "}"
}

// scalar returns a value for one line: a text of one line as it is, others as JSON.
func scalar(v any) string {
	text, isText := v.(string)
	if text = strings.TrimRight(text, "\n"); isText && !strings.Contains(text, "\n") {
		return text
	}
	return compact(v)
}

func compact(v any) string {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return string(raw)
}

func orEmpty(s string) string {
	if strings.TrimSpace(s) == "" {
		return empty
	}
	return s
}

package mcpclient

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/internal/jsonx"
)

// The library decodes numbers as float64, and refuses a result with a kind of
// content that it does not know. So each message is rewritten before the library
// reads it: the text of a result is added to it under rawKey, and its content is
// removed. See rawResult.

// rawKey is the key below _meta of the text of a result.
const rawKey = "rye.raw"

// readable returns a message as the library can read it, or b itself.
func readable(b []byte) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(b, &m) != nil {
		return b
	}
	switch {
	case m["result"] != nil:
		result, changed := keepRaw(m["result"])
		if !changed {
			return b
		}
		m["result"] = result
	case m["error"] != nil:
		failure, changed := readableError(m["error"])
		if !changed {
			return b
		}
		m["error"] = failure
	default:
		return b
	}
	out, err := jsonx.Marshal(m)
	if err != nil {
		return b
	}
	return out
}

// keepRaw adds the text of a list of tools, or of a tool's result, to its _meta.
func keepRaw(result json.RawMessage) (json.RawMessage, bool) {
	var m map[string]json.RawMessage
	ofTool := func() bool {
		return m["content"] != nil || m["structuredContent"] != nil
	}
	if json.Unmarshal(result, &m) != nil || !ofTool() && !isList(m["tools"]) {
		return result, false
	}
	var meta map[string]json.RawMessage
	if json.Unmarshal(m["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	text, err := jsonx.Marshal(string(result))
	if err != nil {
		return result, false
	}
	meta[rawKey] = text
	if m["_meta"], err = jsonx.Marshal(meta); err != nil {
		return result, false
	}
	if ofTool() {
		m["content"] = json.RawMessage("[]")
		delete(m, "structuredContent")
		var isError bool
		if json.Unmarshal(m["isError"], &isError) != nil {
			delete(m, "isError")
		}
	}
	out, err := jsonx.Marshal(m)
	return out, err == nil
}

func isList(b json.RawMessage) bool {
	b = bytes.TrimSpace(b)
	return len(b) > 0 && b[0] == '['
}

// unreadableCode replaces the code of an error that is not a whole number, for
// which the library would ignore the response.
const unreadableCode = -32603

func readableError(failure json.RawMessage) (json.RawMessage, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(failure, &m) != nil || m == nil {
		text, err := jsonx.Marshal(string(failure))
		if err != nil {
			return failure, false
		}
		m = map[string]json.RawMessage{"message": text}
	}
	var message string
	code, err := strconv.ParseInt(string(bytes.TrimSpace(m["code"])), 10, 64)
	badCode := err != nil || int64(int32(code)) != code
	badMessage := json.Unmarshal(m["message"], &message) != nil
	if !badCode && !badMessage {
		return failure, false
	}
	if badCode {
		m["code"] = json.RawMessage(strconv.Itoa(unreadableCode))
	}
	if badMessage {
		if m["message"], err = jsonx.Marshal("an error without a message"); err != nil {
			return failure, false
		}
	}
	out, err := jsonx.Marshal(m)
	return out, err == nil
}

// rawMembers returns the members of a result as the server sent them, nil if there
// are none.
func rawMembers(meta mcp.Meta) map[string]json.RawMessage {
	text, _ := meta[rawKey].(string)
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	return m
}

// rawTools returns the definitions of tools as the server sent them, in its order.
func rawTools(meta mcp.Meta) []map[string]json.RawMessage {
	var tools []map[string]json.RawMessage
	_ = json.Unmarshal(rawMembers(meta)["tools"], &tools) // nil for another shape
	return tools
}

// exact parses a value of a result. An integer is an int64 if it fits 64 bits;
// every other number is a json.Number with the server's digits.
func exact(b json.RawMessage) (any, error) {
	return decode(b, exactNumber)
}

func exactNumber(n json.Number) any {
	i, err := strconv.ParseInt(n.String(), 10, 64)
	if err == nil {
		return i
	}
	return n
}

// plain parses a value of a definition: nil, bool, string, []any, map[string]any
// and numbers. A whole number is an int64, because YAML distinguishes it from a
// float, or a json.Number beyond 64 bits.
func plain(b json.RawMessage) (any, error) {
	return decode(b, plainNumber)
}

// plainNumber reports whether YAML keeps a number. Numbers beyond 64 bits are stored as they
// are, in items only: files that rye decides by refuse them.
func plainNumber(n json.Number) any {
	switch v := jsonx.Number(n.String()).(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v)
		}
		return v
	case json.Number:
		_, err := strconv.ParseFloat(n.String(), 64)
		if err == nil && bytes.ContainsAny([]byte(n), ".eE") {
			f, _ := v.Float64() // YAML has no longer fractions
			return f
		}
		return v
	default:
		return v
	}
}

func decode(b json.RawMessage, number func(json.Number) any) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return numbers(v, number), nil
}

// numbers replaces the numbers in a value.
func numbers(v any, number func(json.Number) any) any {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i := range v {
			v[i] = numbers(v[i], number)
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k], number)
		}
	}
	return v
}

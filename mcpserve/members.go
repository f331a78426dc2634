package mcpserve

import (
	"bytes"
	"encoding/json"
	"iter"
)

// members lists the keys and values of an object, in order; what is no object
// has none. The JSON has been found valid before.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		rest := bytes.TrimSpace(object)
		if len(rest) == 0 || rest[0] != '{' {
			return
		}
		rest = bytes.TrimSpace(rest[1:])
		for len(rest) > 0 && rest[0] == '"' {
			n := valueLen(rest)
			key := rest[:n]
			rest = bytes.TrimSpace(bytes.TrimSpace(rest[n:])[1:]) // the colon
			n = valueLen(rest)
			if !yield(plainKey(key), json.RawMessage(bytes.TrimSpace(rest[:n]))) {
				return
			}
			rest = bytes.TrimSpace(bytes.TrimSpace(rest[n:])[1:]) // the comma or the end
		}
	}
}

// member is the value of a key, nil without it.
func member(object []byte, key string) json.RawMessage {
	for k, value := range members(object) {
		if k == key {
			return value
		}
	}
	return nil
}

// plainKey is the text of a key: escapes make one key look like two.
func plainKey(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var key string
	_ = json.Unmarshal(quoted, &key) // it is valid
	return key
}

// valueLen is the length of the value at the beginning of valid JSON.
func valueLen(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += textLen(b[i:]) - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 { // behind a number or a word
				return i
			}
			if b[i] != ',' {
				depth--
			}
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

func textLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// twice returns a key that stands twice where the protocol itself reads: in
// the message, its params and their _meta. Readers disagree on which of the two
// counts, and whoever watches over a server must read what the server does.
func twice(message []byte) (key string, found bool) {
	object := message
	for _, below := range []string{"params", "_meta", ""} {
		seen := map[string]json.RawMessage{}
		for key, value := range members(object) {
			if _, found := seen[key]; found {
				return key, true
			}
			seen[key] = value
		}
		object = seen[below]
	}
	return "", false
}

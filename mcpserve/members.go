package mcpserve

import (
	"bytes"
	"encoding/json"
	"iter"
)

// members iterates over the keys and values of an object, in order and with
// repeated keys. A value that is not an object has none. object must be valid
// JSON.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(object))
		open, err := d.Token()
		if err != nil || open != json.Delim('{') {
			return
		}
		for d.More() {
			key, _ := d.Token()
			name, isText := key.(string)
			var value json.RawMessage
			if !isText || d.Decode(&value) != nil || !yield(name, value) {
				return
			}
		}
	}
}

// member returns the value of the first member with that key, or nil.
func member(object []byte, key string) json.RawMessage {
	for k, value := range members(object) {
		if k == key {
			return value
		}
	}
	return nil
}

// repeatedKey returns a key that occurs more than once where the protocol itself
// reads: in the message, its params and their _meta. Readers disagree on which
// of the two values applies, and a proxy in front of a server must read the same
// value as the server.
func repeatedKey(message []byte) (key string, found bool) {
	object := message
	for _, next := range []string{"params", "_meta", ""} {
		seen := map[string]json.RawMessage{}
		for key, value := range members(object) {
			if _, found := seen[key]; found {
				return key, true
			}
			seen[key] = value
		}
		object = seen[next]
	}
	return "", false
}

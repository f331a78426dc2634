package jsonx

import (
	"bytes"
	"encoding/json"

	"github.com/ryeos/rye/diag"
)

// Marshal writes v compactly: no HTML escaping, the keys of maps sorted, no
// newline at the end. Fields of structs keep their order; invalid UTF-8 in
// strings becomes U+FFFD. Floats from 1<<63 up to 1e21 are written as integers,
// which Parse refuses as too large.
func Marshal(v any) ([]byte, error) {
	return marshal(v, "")
}

// MarshalIndent writes v as Marshal does, indented by two spaces.
func MarshalIndent(v any) ([]byte, error) {
	return marshal(v, "  ")
}

func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, diag.New(diag.Internal, "writing json: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

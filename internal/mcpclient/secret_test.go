package mcpclient

import (
	"slices"
	"testing"
)

func TestSecretParts(t *testing.T) {
	for address, want := range map[string][]string{
		"":                             nil,
		"https://docs.example.com/mcp": nil,
		"https://docs.example.com/mcp?features=docs,storage&project=abcdefghijklmnop": nil,
		"https://docs.example.com/mcp?id=3f2b8c1e-7a4d-4f6e-9b0a-1c2d3e4f5a6b":        nil,
		"https://docs.example.com/mcp?api_key=x1":                                     {`parameter "api_key"`},
		"https://docs.example.com/mcp?accessKey=x1&apikey=z&token=y":                  {`parameter "accessKey"`, `parameter "apikey"`, `parameter "token"`},
		"https://docs.example.com/mcp?key=${DOCS_KEY}":                                nil,
		"https://docs.example.com/mcp?key=":                                           nil,
		"https://docs.example.com/mcp?monkey=x&keyboard=y":                            nil,
		"https://docs.example.com/mcp?u=aB3dE5gH7jK9mN1pQ3sT5vW7":                     {`parameter "u"`},
		"https://docs.example.com/s/aB3dE5gH7jK9mN1pQ3sT5vW7/mcp":                     {"path"},
		"https://docs.example.com/s/${DOCS_KEY}/mcp":                                  nil,
	} {
		if got := secretParts(address); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

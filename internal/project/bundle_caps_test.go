package project

import (
	"slices"
	"testing"
)

func TestHostCaps(t *testing.T) {
	for _, c := range []struct {
		config map[string]any
		want   []string
	}{
		{nil, nil},
		{map[string]any{"command": "echo"}, nil},
		{map[string]any{"url": "https://API.acme.io/v1/{id}?q={q}"}, []string{"net:api.acme.io"}},
		{map[string]any{"url": "http://u:p@acme.io:8443/x"}, []string{"net:acme.io"}},
		{map[string]any{"url": "https://[::1]:80/x"}, []string{"net:::1"}},
		{map[string]any{"url": "https://{tenant}.acme.io/x"}, []string{"net:*"}},
		{map[string]any{"url": "{base}/x"}, []string{"net:*"}},
		{map[string]any{"url": "https://acme.io?x"}, []string{"net:acme.io"}},
		{map[string]any{"url": "https://{tenant}.acme.io/x", "hosts": []any{"*.acme.io", "b.io:8443", 7}}, []string{"net:*.acme.io", "net:b.io"}},
		{map[string]any{"url": "notes.txt"}, nil},
		{map[string]any{"url": 7, "hosts": "x"}, nil},
	} {
		if got := hostCaps(c.config); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.config, got, c.want)
		}
	}
}

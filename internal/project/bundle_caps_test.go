package project

import (
	"slices"
	"testing"

	"github.com/ryeos/rye/internal/extract"
)

// TestItemCaps shows that what a tool requests is found however its author writes it.
func TestItemCaps(t *testing.T) {
	for text, want := range map[string][]string{
		"CALLS = ['rye.load.*']\nSANDBOX = {'bro' 'ker': True}\n":             {"rye.load.*"},
		"__calls__ = ['rye.lo' 'ad.*']\n":                                     {"rye.load.*"},
		"# prose about calls\n":                                               nil,
		"config = {'ur' 'l': 'https://a.io/', 'host' 's': ['b.io']}\nx = 1\n": {"net:b.io"},
	} {
		at, ok := extract.Boot().Classify("tools/x/y.py")
		if got := itemCaps(at, []byte(text)); !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

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

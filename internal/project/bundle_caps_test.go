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
		if got := ItemCaps(at, []byte(text)); !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestSandboxCaps shows which access is a request: what a wider sandbox adds to reading
// the project.
func TestSandboxCaps(t *testing.T) {
	at, ok := extract.Boot().Classify("tools/x/y.py")
	for text, want := range map[string][]string{
		"{}": nil,
		"{'net': 'none', 'exec': 'none', 'broker': False, 'fs': {'read': ['{project}'], 'write': ['{tmp}', '{cache}/x']}}": nil,
		"{'net': 'loopback'}":                                              nil,
		"{'ne' 't': 'any', 'hosts': ['a.io']}":                             {"net:*"},
		"{'net': 'hosts', 'hosts': ['B.io:8443', '*.a.io']}":               {"net:*.a.io", "net:b.io"},
		"{'hosts': ['a.io']}":                                              {"net:a.io"},
		"{'sockets': ['{project}/dev.sock', '/run/x.sock']}":               {"socket:/run/x.sock", "socket:{project}/dev.sock"},
		"{'git': 'commit'}":                                                {"git:commit"},
		"{'git': 'none'}":                                                  nil,
		"{'exec': 'any'}":                                                  {"exec:any"},
		"{'exec': ['git', 'make']}":                                        {"exec:git", "exec:make"},
		"{'fs': {'write': ['{project}/a b', '{project}/ab', '{tmp}']}}":    {"write:{project}/a%20b", "write:{project}/ab"},
		"{'fs': {'read': ['{project}/src', '~/.netrc', '/srv/100%25']}}":   {"read:/srv/100%2525", "read:~/.netrc"},
		"{'fs': {'read': ['../x', '~/a'], 'write': 'x'}, 'net': 'nearly'}": {"read:~/a"},
		"'any'\nrisk = 'T4'\nx = 1":                                        {"risk:T4"},
		"{}\n__risk__ = 'ele' 'vated'":                                     {"risk:T3"},
		"{}\nRISK = 'unknown'":                                             nil,
	} {
		if got := ItemCaps(at, []byte("SANDBOX = "+text+"\n")); !ok || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
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

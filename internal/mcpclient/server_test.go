package mcpclient

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

func TestParseServer(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		want []string // beginnings of findings, "" for none
	}{
		"stdio":      {"{transport: stdio, command: npx, args: [-y, x], env: {A: b}, cwd: sub, timeout: 5, protocol: '2025-11-25'}", nil},
		"http":       {"{transport: http, url: 'https://x.test/mcp', headers: {Authorization: 'Bearer ${T}'}}", nil},
		"variable":   {"{transport: http, url: '${BASE}/mcp'}", nil},
		"empty":      {"{}", []string{"config.transport is missing"}},
		"transport":  {"{transport: pigeon}", []string{`config.transport must be stdio, http or sse, not "pigeon"`}},
		"no command": {"{transport: stdio}", []string{"config.command is missing"}},
		"types": {"{transport: 1, command: [x], args: x, env: {A: 1}, cwd: {}, url: 1, headers: [x], timeout: '5', protocol: 2}", []string{
			"config.args must be a list of strings", "config.command must be a string", "config.cwd must be a string", "config.env.A must be a string",
			"config.headers must be a mapping", "config.protocol must be a string", "config.timeout must be whole seconds", "config.transport must be stdio",
			"config.url must be a string"}},
		"mixed":    {"{transport: stdio, command: x, url: y, headers: {}}", []string{"config.headers does not apply to", "config.url does not apply to"}},
		"mixed 2":  {"{transport: sse, url: 'http://x.test', command: x, args: [], env: {}, cwd: x}", []string{"config.args does not", "config.command does not", "config.cwd does not", "config.env does not"}},
		"unknown":  {"{transport: stdio, command: x, comand: y}", []string{`unknown field "config.comand"`}},
		"timeout":  {"{transport: stdio, command: x, timeout: 0}", []string{"config.timeout must be whole seconds from 1 to 86400"}},
		"env":      {"{transport: stdio, command: x, env: {'A=B': x, RYE_SELF: y, '1A': z, '': q}}", []string{"config.env.1A cannot be set", "config.env.RYE_SELF cannot be set: only rye sets it", `config.env[""] cannot`, `config.env["A=B"] cannot`}},
		"no url":   {"{transport: http}", []string{"config.url is missing"}},
		"file":     {"{transport: http, url: 'file:///etc/passwd'}", []string{"config.url must be an http or https URL"}},
		"relative": {"{transport: http, url: '/mcp'}", []string{"config.url must be an http"}},
		"password": {"{transport: http, url: 'http://a:b@x.test/'}", []string{"config.url contains a user or a password"}},
		"fragment": {"{transport: http, url: 'http://x.test/#a'}", []string{"config.url contains a fragment"}},
		"headers": {`{transport: http, url: 'http://x.test', headers: {Host: a, mcp-session-id: b, 'A B': c, 'A:': d, '': e, X: "a\r\nY: b"}}`, []string{
			"config.headers.Host cannot be set", "config.headers.X contains a line break", "config.headers.mcp-session-id cannot", `config.headers[""] is not`, `config.headers["A B"] is not`, `config.headers["A:"] is not`}},
	} {
		t.Run(name, func(t *testing.T) {
			doc, fs := yamlx.Parse([]byte(c.yaml))
			if diag.Failed(fs) {
				t.Fatal(fs)
			}
			_, fs = ParseServer("x", doc.Root)
			var got []string
			for _, f := range fs {
				got = append(got, f.Message)
			}
			if len(got) != len(c.want) {
				t.Fatalf("%d findings: %q", len(got), got)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("finding %d: %q, want %q", i, got[i], want)
				}
			}
		})
	}
}

// itemOf reads the text of an item as the boot format of tools does.
func itemOf(t *testing.T, ref item.Ref, text []byte) *resolve.Item {
	t.Helper()
	for _, ext := range extract.Boot().All() {
		if ext.Kind == ref.Kind {
			typ, _ := ext.Type("tools/" + ref.ID + ".yaml")
			meta, fs := ext.Read(typ, text)
			if diag.Failed(fs) {
				t.Fatalf("%v\n%s", fs, text)
			}
			return &resolve.Item{Ref: ref, Meta: meta, Bytes: text, Type: typ, Root: &space.Root{Space: space.Project}, Rel: "tools/" + ref.ID + ".yaml"}
		}
	}
	t.Fatal("no extractor of tools")
	return nil
}

// A server read from its item is equal to the written one, and so is the item
// written again.
func TestServerItem(t *testing.T) {
	s := &Server{Name: "gh", Transport: Stdio, Command: "npx", Args: []string{"-y", "a b", "", "${X:-1}", "true", "1"}, Env: map[string]string{"T": "${T}", "N": "007"},
		Cwd: "sub", Timeout: 5 * time.Second, Protocol: legacy}
	text, err := s.Item()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadServer(itemOf(t, s.Ref(), text))
	if err != nil {
		t.Fatal(err)
	}
	second, err := again.Item()
	if err != nil || !bytes.Equal(text, second) || again.Reached() != s.Reached() {
		t.Errorf("%v\n%s\n%s", err, text, second)
	}
	for name, change := range map[string]func(*Server){
		"command": func(s *Server) { s.Command = "node" },
		"args":    func(s *Server) { s.Args = []string{"-y", "a", "b", "", "${X:-1}", "true", "1"} },
		"env":     func(s *Server) { s.Env = map[string]string{"T": "${U}", "N": "007"} },
		"cwd":     func(s *Server) { s.Cwd = "" },
	} {
		other := *s
		change(&other)
		if other.Reached() == s.Reached() {
			t.Errorf("another %s is the same way", name)
		}
	}
	other := *s
	other.Timeout, other.Protocol = time.Minute, ""
	if other.Reached() != s.Reached() {
		t.Error("a time limit is another way")
	}
}

func TestStubItem(t *testing.T) {
	s := &Server{Name: "gh", Transport: HTTP, URL: "https://x.test/mcp"}
	tool := Tool{Name: "repo.search", Title: "Search: it", Description: "First\n\n  second: line \n# third\n", InputSchema: map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": map[string]any{
			"n": map[string]any{"type": "integer", "minimum": int64(1), "default": int64(10), "multipleOf": 0.5}, "on": map[string]any{"type": "boolean", "default": false},
			"yes": map[string]any{"enum": []any{"yes", "no", "null", "1", nil, true, int64(1)}},
		}},
		OutputSchema: map[string]any{"type": "object"}, Annotations: map[string]any{"readOnlyHint": true, "title": "x"}}
	text, err := StubItem(s, tool)
	if err != nil {
		t.Fatal(err)
	}
	it := itemOf(t, ToolRef("gh", tool.Name), text)
	stub, err := ReadStub(it)
	if err != nil {
		t.Fatal(err)
	}
	if !stub.Matches(s, tool) || stub.Server != "gh" || stub.Tool != "repo.search" || it.Ref.ID != "mcp/gh/repo_x2esearch" || it.Meta.ExecutorID != httpRuntime {
		t.Errorf("%+v of %s", stub, it.Ref)
	}
	if got := Differences(it, tool); len(got) > 0 {
		t.Errorf("it differs from itself in %q\n%s", got, text)
	}
	tool.Description, tool.Annotations = "other", nil
	if got := strings.Join(Differences(it, tool), " "); got != "annotations description" || stub.Matches(s, tool) {
		t.Errorf("it differs in %q", got)
	}
	if text, err = StubItem(s, Tool{Name: "bare", InputSchema: map[string]any{}}); err != nil || !strings.Contains(string(text), "Tool bare of the MCP server gh") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestReadStubHostile(t *testing.T) {
	d := item.Digest{}.String()
	for name, config := range map[string]string{
		"nothing":         "{}",
		"no server":       "{tool_name: x, definition: '" + d + "', reached: '" + d + "'}",
		"other directory": "{server: rye/core/x, tool_name: x, definition: '" + d + "', reached: '" + d + "'}",
		"climbing":        "{server: mcp/servers/../x, tool_name: x, definition: '" + d + "', reached: '" + d + "'}",
		"itself":          "{server: mcp/servers/servers, tool_name: x, definition: '" + d + "', reached: '" + d + "'}",
		"no tool":         "{server: mcp/servers/x, definition: '" + d + "', reached: '" + d + "'}",
		"no digest":       "{server: mcp/servers/x, tool_name: x, reached: '" + d + "'}",
		"half digest":     "{server: mcp/servers/x, tool_name: x, definition: 'sha256:00', reached: '" + d + "'}",
		"not reached":     "{server: mcp/servers/x, tool_name: x, definition: '" + d + "'}",
		"types":           "{server: [x], tool_name: 1, definition: {}, reached: 2}",
	} {
		it := itemOf(t, ToolRef("x", "x"), []byte("tool_type: mcp\nexecutor_id: x\nversion: 1.0.0\ndescription: d\nconfig: "+config+"\n"))
		if s, err := ReadStub(it); diag.CodeOf(err) != diag.ConfigError {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestExpand(t *testing.T) {
	s := &Server{Name: "x", Transport: Stdio, Command: "${BIN:-server}", Args: []string{"--k=${KEY}", "{name}", "$HOME", `{"a":1}`}, Env: map[string]string{"T": "${CHAIN}"}}
	environ := []string{"KEY=k", "CHAIN=other", "LD_PRELOAD=evil", "RYE_CACHE=x", "PATH=/evil"}
	out, err := s.Expand(map[string]string{"CHAIN": "chain", "PATH": "/bin"}, environ)
	if err != nil || out.Command != "server" || strings.Join(out.Args, "|") != `--k=k|{name}|$HOME|{"a":1}` || out.Env["T"] != "chain" {
		t.Errorf("%+v %v", out, err)
	}
	for _, name := range []string{"LD_PRELOAD", "RYE_CACHE", "UNSET"} {
		s := &Server{Name: "x", Transport: Stdio, Command: "c", Args: []string{"${" + name + "}"}}
		if _, err := s.Expand(nil, environ); diag.CodeOf(err) != diag.ConfigError || !strings.Contains(err.Error(), "needs the variable "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	web := &Server{Name: "x", Transport: HTTP, URL: "${URL}", Headers: map[string]string{"A": "${H}"}}
	for name, environ := range map[string][]string{"scheme": {"URL=file:///x", "H=h"}, "password": {"URL=http://a:b@x.test", "H=h"}, "header": {"URL=http://x.test", "H=a\r\nB: c"}} {
		if _, err := web.Expand(nil, environ); diag.CodeOf(err) != diag.ConfigError || strings.Contains(err.Error(), "a:b@") || strings.Contains(err.Error(), "B: c") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Lines come whole however they are cut, and one that is too long ends the server.
func TestLines(t *testing.T) {
	text := "one\n\ntwo two\r\nthree"
	for cut := range len(text) {
		var l lineReader
		a, err := l.add([]byte(text[:cut]))
		b, err2 := l.add([]byte(text[cut:]))
		got := string(bytes.Join(append(a, b...), []byte("|")))
		if err != nil || err2 != nil || got != "one||two two\r" || string(l.part) != "three" {
			t.Errorf("cut at %d: %q and %q, %v %v", cut, got, l.part, err, err2)
		}
	}
	var l lineReader
	if _, err := l.add(make([]byte, MaxMessage)); err != nil {
		t.Error(err)
	}
	if _, err := l.add([]byte{'x'}); diag.CodeOf(err) != diag.TooLarge {
		t.Errorf("%v", err)
	}
}

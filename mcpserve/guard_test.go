package mcpserve

import (
	"io"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestHTTPRefusals(t *testing.T) {
	s := serveSite(t, newTestServer(newFake()), HTTPParams{Origins: []string{"https://ide.example"}})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	long := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", maxBody) + `"}}`
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		want               int
	}{
		"ping":               {"POST", "/mcp", ping, nil, 200},
		"health":             {"GET", "/healthz", "", nil, 200},
		"health by POST":     {"POST", "/healthz", "", nil, 405},
		"another path":       {"GET", "/", "", nil, 404},
		"below mcp":          {"POST", "/mcp/x", ping, nil, 404},
		"GET":                {"GET", "/mcp", "", nil, 405},
		"GET, new era":       {"GET", "/mcp", "", []string{newer}, 405},
		"DELETE":             {"DELETE", "/mcp", "", nil, 405},
		"PUT":                {"PUT", "/mcp", ping, nil, 405},
		"PUT with session":   {"PUT", "/mcp", ping, []string{"Mcp-Session-Id: x"}, 405},
		"OPTIONS":            {"OPTIONS", "/mcp", "", nil, 405},
		"unknown session":    {"POST", "/mcp", call("1", ""), []string{"Mcp-Session-Id: x", older}, 404},
		"delete unknown":     {"DELETE", "/mcp", "", []string{"Mcp-Session-Id: x"}, 404},
		"no session":         {"POST", "/mcp", call("1", ""), []string{older}, 400},
		"empty":              {"POST", "/mcp", "", nil, 400},
		"blank":              {"POST", "/mcp", " \n", nil, 400},
		"no json":            {"POST", "/mcp", "{", nil, 400},
		"batch":              {"POST", "/mcp", "[" + ping + "]", nil, 400},
		"4 MiB":              {"POST", "/mcp", long, nil, 413},
		"other content type": {"POST", "/mcp", ping, []string{"Content-Type: ", "Content-Type: text/plain"}, 415},
		"accepts html":       {"POST", "/mcp", ping, []string{"Accept: ", "Accept: text/html"}, 400},
		"version of 1999":    {"POST", "/mcp", ping, []string{"MCP-Protocol-Version: 1999-01-01"}, 400},
		"version of 2999":    {"POST", "/mcp", newCall(""), []string{"MCP-Protocol-Version: 2999-01-01", "Mcp-Method: tools/call", "Mcp-Name: execute"}, 400},

		"origin of this machine": {"POST", "/mcp", ping, []string{"Origin: http://localhost:6274"}, 200},
		"origin by address":      {"POST", "/mcp", ping, []string{"Origin: http://127.0.0.1:1"}, 200},
		"origin by address 6":    {"POST", "/mcp", ping, []string{"Origin: http://[::1]:1"}, 200},
		"allowed origin":         {"POST", "/mcp", ping, []string{"Origin: https://ide.example"}, 200},
		"allowed, other scheme":  {"POST", "/mcp", ping, []string{"Origin: http://ide.example"}, 403},
		"allowed, other port":    {"POST", "/mcp", ping, []string{"Origin: https://ide.example:8443"}, 403},
		"evil origin":            {"POST", "/mcp", ping, []string{"Origin: https://evil.example"}, 403},
		"evil origin, GET":       {"GET", "/mcp", "", []string{"Origin: https://evil.example"}, 403},
		"evil origin, health":    {"GET", "/healthz", "", []string{"Origin: https://evil.example"}, 403},
		"evil origin, OPTIONS":   {"OPTIONS", "/mcp", "", []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST"}, 403},
		"null origin":            {"POST", "/mcp", ping, []string{"Origin: null"}, 403},
		"two origins":            {"POST", "/mcp", ping, []string{"Origin: http://localhost", "Origin: https://evil.example"}, 403},
		"localhost.evil":         {"POST", "/mcp", ping, []string{"Origin: http://localhost.evil.example"}, 403},
		"user@ in an origin":     {"POST", "/mcp", ping, []string{"Origin: http://localhost@evil.example"}, 403},
		"file origin":            {"POST", "/mcp", ping, []string{"Origin: file://localhost"}, 403},

		"localhost":           {"POST", "/mcp", ping, []string{"Host: localhost:7333"}, 200},
		"name of the origin":  {"POST", "/mcp", ping, []string{"Host: ide.example"}, 200},
		"rebound name":        {"POST", "/mcp", ping, []string{"Host: evil.example:80"}, 403},
		"rebound name, GET":   {"GET", "/healthz", "", []string{"Host: evil.example"}, 403},
		"address of a router": {"POST", "/mcp", ping, []string{"Host: 192.168.0.1"}, 403},
		"localhost.":          {"POST", "/mcp", ping, []string{"Host: localhost.evil.example"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			res := s.ask(t.Context(), c.method, c.path, c.body, c.headers...)
			if res.StatusCode != c.want {
				b, _ := io.ReadAll(res.Body)
				t.Errorf("status %d, want %d: %s", res.StatusCode, c.want, b)
			}
			if res.StatusCode == 405 && res.Header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
		})
	}
	s.post(ping, "Host: ide.example")
}

// A page of an allowed origin reads the answers, one of this machine does not.
func TestCrossOrigin(t *testing.T) {
	s := serveSite(t, newTestServer(newFake()), HTTPParams{Origins: []string{"https://ide.example"}, Token: "0123456789abcdef"})
	res := s.ask(t.Context(), "OPTIONS", "/mcp", "", "Origin: https://ide.example", "Access-Control-Request-Method: POST")
	if res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Origin") != "https://ide.example" ||
		!strings.Contains(res.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight: %d %v", res.StatusCode, res.Header)
	}
	res = s.post(hello, "Origin: http://localhost:3000", "Authorization: Bearer 0123456789abcdef")
	if res.StatusCode != 200 || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page of this machine may read: %v", res.Header)
	}
}

func TestToken(t *testing.T) {
	s := serveSite(t, newTestServer(newFake()), HTTPParams{Token: "0123456789abcdef", Remote: true})
	for header, want := range map[string]int{
		"": 401, "Authorization: Bearer 0123456789abcdef": 200, "Authorization: bearer 0123456789abcdef": 200,
		"Authorization: Bearer 0123456789abcdeF": 401, "Authorization: Bearer 0123456789abcde": 401, "Authorization: Bearer ": 401,
		"Authorization: Basic 0123456789abcdef": 401, "Authorization: 0123456789abcdef": 401, "Cookie: Bearer=0123456789abcdef": 401,
	} {
		res := s.post(hello, header, "Host: 192.0.2.7:7333")
		if res.StatusCode != want {
			t.Errorf("%q: status %d, want %d", header, res.StatusCode, want)
		}
		if want == 401 && !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%q: no WWW-Authenticate", header)
		}
	}
	if res := s.post(hello, "Authorization: Bearer 0123456789abcdef", "Authorization: Bearer x"); res.StatusCode != 401 {
		t.Errorf("two tokens: status %d", res.StatusCode)
	}
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/mcp", "192.0.2.7", 401},
		{"GET", "/healthz", "192.0.2.7", 200},
		{"GET", "/healthz", "evil.example", 403},
	} {
		if res := s.ask(t.Context(), c.method, c.path, "", "Host: "+c.host); res.StatusCode != c.want {
			t.Errorf("%s %s as %s: status %d, want %d", c.method, c.path, c.host, res.StatusCode, c.want)
		}
	}
}

func TestNoTokenBeyond(t *testing.T) {
	if _, err := newTestServer(newFake()).handler(nil, HTTPParams{Remote: true}); diag.CodeOf(err) != diag.Usage {
		t.Errorf("Handler: %v", err)
	}
}

// What is in front of a server may read another header than the server does.
func TestHeadersTwice(t *testing.T) {
	s := serveSite(t, newTestServer(newFake()), HTTPParams{})
	session := s.session()
	for name, headers := range map[string][]string{
		"names": append(newHeaders(), "Mcp-Name: sign"), "the same name": append(newHeaders(), "Mcp-Name: execute"),
		"methods": append(newHeaders(), "mcp-method: ping"), "versions": append(newHeaders(), older), "sessions": {older, session, "Mcp-Session-Id: x"},
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			res := s.ask(t.Context(), method, "/mcp", newCall(""), headers...)
			if got := oneMessage(t, res); res.StatusCode != 400 {
				t.Errorf("%s, two %s: status %d, %v", method, name, res.StatusCode, got)
			} else {
				demand(t, got, "error.code", "-32020")
			}
		}
	}
}

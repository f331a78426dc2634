package mcpserve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestWrongParams(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"prompts/get", `{"name":"x","arguments":{"a":"1","b":"x"}}`, ""},
		{"prompts/get", `{"name":"x","arguments":null}`, ""},
		{"prompts/get", `{"name":"x","arguments":[1]}`, "reading the params of prompts/get: arguments must be an object, not a list"},
		{"prompts/get", `{"name":5,"arguments":{"a":1,"b":"x","c":null,"d":{},"e":[],"f":true,"b":"y"}}`,
			`reading the params of prompts/get: name must be a text, not a number; the argument "a" must be a text, not a number; ` +
				`the argument "c" must be a text, not null; the argument "d" must be a text, not an object; the argument "e" must be a text, not a list; ` +
				`the argument "f" must be a text, not true; the argument "b" is given twice`},
		{"prompts/get", `"x"`, "the params of prompts/get must be an object, not a text"},
		{"prompts/get", `{"name":"a\u202eb"}`, `reading the params of prompts/get: name contains invisible characters: "a\u202eb"`},
		{"resources/read", `{"uri":false}`, "reading the params of resources/read: uri must be a text, not false"},
		{"tools/call", `{"name":null,"arguments":"any"}`, "reading the params of tools/call: name must be a text, not null"},
		{"tools/list", `{"cursor":null,"_meta":5}`, "reading the params of tools/list: _meta must be an object, not a number"},
		{"tools/list", `{"cursor":7}`, "reading the params of tools/list: cursor must be a text, not a number"},
		{"tools/list", `null`, ""}, {"tools/list", ``, ""}, {"tools/list", `{"_meta":null}`, ""},
		{"ping", `"x"`, ""},
	} {
		if got := paramsProblem(c.method, json.RawMessage(c.params)); got != c.want {
			t.Errorf("paramsProblem(%s, %s) = %q, want %q", c.method, c.params, got, c.want)
		}
	}
}

// Params of a wrong type are reported in the terms of the protocol over every
// transport.
func TestWrongParamsAreReported(t *testing.T) {
	const params = `"method":"prompts/get","params":{"name":"demo/greet","arguments":{"name":1,"to":[]}}`
	line := `{"jsonrpc":"2.0","id":7,` + params + `}`
	w := dial(t, newTestServer(newFake())).shake()
	w.send("%s", line)
	site := serveSite(t, newTestServer(newFake()), HTTPParams{})
	old := site.post(line, site.session(), older)
	modern := site.post(strings.Replace(line, `"params":{`, `"params":{`+meta+`,`, 1), newer, "Mcp-Method: prompts/get", "Mcp-Name: demo/greet")
	if old.StatusCode != 200 || modern.StatusCode != 400 {
		t.Errorf("status %d and %d", old.StatusCode, modern.StatusCode)
	}
	for _, got := range []any{w.next(), oneMessage(t, old), oneMessage(t, modern)} {
		demand(t, got, "id", "7")
		demand(t, got, "error.code", "-32602")
		if m := fmt.Sprint(field(got, "error.message")); !strings.HasSuffix(m, `the argument "name" must be a text, not a number; the argument "to" must be a text, not a list`) {
			t.Errorf("message %q", m)
		}
	}
	w.alive()
}

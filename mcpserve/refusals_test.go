package mcpserve

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// Errors quote a request without control characters, also those of the SDK.
func TestErrorsAreVisible(t *testing.T) {
	const bad = "\u001b[31m\u202e\u0007"
	site := serveSite(t, newTestServer(newFake()), HTTPParams{})
	session := site.session()
	for _, params := range []string{
		`"method":"prompts/get","params":{"name":"raw","arguments":{"x":"BAD"}}`, `"method":"resources/read","params":{"uri":"BAD"}`,
		`"method":"tools/call","params":{"name":"BAD"}`, `"method":"BAD"`, `"method":"ping","BAD":1,"BAD":2`, `"method":"prompts/get","params":{"name":"BAD"}`,
		`"method":"prompts/get","params":{"name":"demo/greet","arguments":{"BAD":1}}`, `"method":"prompts/list","params":{"cursor":"BAD"}`,
		`"method":"prompts/list","params":"BAD"`, `"method":"tools/call","params":{"_meta":"BAD"}`,
	} {
		line := `{"jsonrpc":"2.0","id":"x",` + strings.ReplaceAll(params, "BAD", `\u001b[31m\u202e\u0007`) + `}`
		w := dial(t, newTestServer(newFake())).shake()
		w.send("%s", line)
		m := fmt.Sprint(field(w.next(), "error.message"))
		if strings.ContainsAny(m, bad[:1]+bad[5:]) || m == "<nil>" {
			t.Errorf("%s: %q", line, m)
		}
		b, _ := io.ReadAll(site.post(line, session, older).Body)
		for _, raw := range []string{"\u001b", "\u202e", "\u0007", `\u001b`, `\u0007`} {
			if strings.Contains(strings.ReplaceAll(string(b), `\\`, ""), raw) {
				t.Errorf("%s over HTTP: %q", line, b)
			}
		}
	}
}

// A second request under an id that is in use gets an answer, and the first
// keeps its own.
func TestIDInUse(t *testing.T) {
	f := newFake()
	w := dial(t, newTestServer(f)).shake()
	for _, id := range []string{`2`, `"two\u202e"`} {
		w.send("%s", call(id, "wait x"))
		<-f.started
		w.send("%s", call(id, ""))
		got := w.next()
		demand(t, got, "error.code", "-32600")
		demand(t, got, "id", "-")
		if m := fmt.Sprint(field(got, "error.message")); !strings.Contains(m, strings.Replace(id, "\u202e", `\u202e`, 1)) {
			t.Errorf("%q does not name the id", m)
		}
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
		<-f.ended
		w.alive()
		w.again(id)
	}
}

// again calls under an id that a cancelled call has had, until that one has
// come to its end.
func (w *wire) again(id string) {
	w.t.Helper()
	for {
		w.send("%s", call(id, ""))
		got := w.next()
		if field(got, "error.code") == nil {
			demand(w.t, got, "result.content.0.type", "text")
			return
		}
		demand(w.t, got, "error.code", "-32600")
	}
}

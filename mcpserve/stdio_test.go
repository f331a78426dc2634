package mcpserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ryeos/rye/primary/agent"
)

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	meta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// wire is a client that speaks lines.
type wire struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Scanner
	ended  chan error
	cancel context.CancelFunc
}

func dial(t *testing.T, s *Server) *wire {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	w := &wire{t: t, in: inW, out: bufio.NewScanner(outR), ended: make(chan error, 1), cancel: cancel}
	w.out.Buffer(nil, 32<<20)
	go func() {
		w.ended <- s.Stdio(ctx, inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() { cancel(); inW.Close(); outR.Close() })
	return w
}

func (w *wire) send(format string, args ...any) {
	w.t.Helper()
	line := format
	if len(args) > 0 {
		line = fmt.Sprintf(format, args...)
	}
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) next() map[string]any {
	w.t.Helper()
	if !w.out.Scan() {
		w.t.Fatalf("the server has closed its output: %v", w.out.Err())
	}
	var doc map[string]any
	if err := json.Unmarshal(w.out.Bytes(), &doc); err != nil {
		w.t.Fatalf("%q: %v", w.out.Bytes(), err)
	}
	return doc
}

// alive fails unless the server answers, and has sent nothing else before.
func (w *wire) alive() {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"alive","method":"ping"}`)
	demand(w.t, w.next(), "id", "alive")
}

func (w *wire) shake() *wire {
	w.t.Helper()
	w.send(hello)
	demand(w.t, w.next(), "result.protocolVersion", "2025-11-25")
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func call(id, item string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"execute","arguments":{"item_id":%q}}}`, id, item)
}

// The SDK's transport ends the server at the first invalid line.
func TestStdioSurvivesLines(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000)
	for name, c := range map[string]struct{ line, code, id, text string }{
		"no json":        {"hello", "-32700", "-", "not valid JSON"},
		"cut off":        {`{"jsonrpc":"2.0","id":1,"method":`, "-32700", "-", "not valid JSON"},
		"NUL":            {"\x00", "-32700", "-", "not valid JSON"},
		"two on a line":  {hello + hello, "-32700", "-", "not valid JSON"},
		"a string":       {`"ping"`, "-32600", "-", "not a JSON-RPC"},
		"a number":       {"1", "-32600", "-", "not a JSON-RPC"},
		"null":           {"null", "-32600", "-", "not a JSON-RPC"},
		"empty object":   {`{}`, "-32600", "-", "not a JSON-RPC"},
		"no version":     {`{"id":7,"method":"ping"}`, "-32600", "7", "2.0"},
		"version 1":      {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, "-32600", "7", "2.0"},
		"method 5":       {`{"jsonrpc":"2.0","id":7,"method":5}`, "-32600", "7", "message"},
		"id in an array": {`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "-32600", "-", "an id must be"},
		"id true":        {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, "-32600", "-", "an id must be"},
		"id 1.5":         {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "-32600", "-", "an id must be"},
		"id 1e3":         {`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, "-32600", "-", "an id must be"},
		"id 2^53":        {`{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}`, "-32600", "-", "an id must be"},
		"id null":        {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "-32600", "-", "an id must be"},
		"empty batch":    {`[]`, "-32600", "-", "batches"},
		"batch":          {`[` + hello + `]`, "-32600", "-", "batches"},
		"method twice":   {`{"jsonrpc":"2.0","id":7,"method":"tools/call","method":"tools/list"}`, "-32600", "7", `"method" is given twice`},
		"id twice":       {`{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}`, "-32600", "-", "two ids"},
		"name twice":     {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","name":"execute"}}`, "-32600", "7", `"name" is given twice`},
		"another ID":     {`{"jsonrpc":"2.0","id":1.5,"ID":7,"method":"ping"}`, "-32600", "-", "an id must be"},
		"key twice":      {`{"jsonrpc":"2.0","id":7,"method":"ping","\u202e":1,"\u202e":2}`, "-32600", "7", `"\u202e" is given twice`},
		"id not UTF-8":   {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", "-32700", "-", "not UTF-8"},
		"text not UTF-8": {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"a\":\"\xc3\x28\"}}", "-32700", "7", "not UTF-8"},
		"deep":           {deep, "-32700", "-", "depth"},
		"deep array":     {strings.Repeat("[", 300_000), "-32600", "-", "batches"},
		"deep params":    {`{"jsonrpc":"2.0","id":7,"method":"ping","params":` + strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000) + "}", "-32600", "7", "depth"},
	} {
		t.Run(name, func(t *testing.T) {
			w := dial(t, newTestServer(newFake()))
			w.send("%s", c.line)
			got := w.next()
			demand(t, got, "error.code", c.code)
			demand(t, got, "id", c.id)
			if m := fmt.Sprint(field(got, "error.message")); !strings.Contains(m, c.text) {
				t.Errorf("message %q lacks %q", m, c.text)
			}
			w.alive()
		})
	}
}

func TestStdioReadsLines(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":"a","method":"ping"}`
	for name, line := range map[string]string{
		"crlf": ping + "\r", "blanks": "  " + ping + " \t", "empty lines before": "\n\r\n \n" + ping, "byte order mark": "\ufeff" + ping,
		"largest id": strings.Replace(ping, `"a"`, "9007199254740991", 1), "negative id": strings.Replace(ping, `"a"`, "-3", 1),
		"one blank id": strings.Replace(ping, `"a"`, `" "`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := dial(t, newTestServer(newFake()))
			w.send("%s", line)
			demand(t, w.next(), "result", "map[]")
		})
	}
}

// 16 MiB fit, one byte more does not, and the line after it is read again.
func TestStdioLongLines(t *testing.T) {
	if testing.Short() {
		t.Skip("sends lines up to their limit")
	}
	w := dial(t, newTestServer(newFake()))
	frame := func(n int) string {
		head, tail := `{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"`, `"}}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	w.send("%s", frame(maxLine))
	demand(t, w.next(), "id", "5")
	w.send("%s", frame(maxLine+1))
	got := w.next()
	demand(t, got, "error.code", "-32600")
	demand(t, got, "id", "-")
	w.send("%s", strings.Repeat("y", 2*maxLine))
	demand(t, w.next(), "error.code", "-32600")
	w.alive()
}

func TestStdioOldEra(t *testing.T) {
	for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		w := dial(t, newTestServer(newFake()))
		w.send("%s", strings.Replace(hello, "2025-11-25", v, 1))
		got := w.next()
		demand(t, got, "result.protocolVersion", v)
		demand(t, got, "result.instructions", "Search, load, execute.")
		demand(t, got, "result.capabilities", "map[prompts:map[] resources:map[] tools:map[]]")
		demand(t, got, "result.serverInfo", "map[name:rye title:RYE version:1.2.3]")
		w.send("%s", call("2", ""))
		got = w.next()
		demand(t, got, "result.content.0.text", `{"success":true,"data":"<hello> & co"}`)
		demand(t, got, "result.structuredContent.total", "0")
		demand(t, got, "result.isError", "-")
		demand(t, got, "result.resultType", "-")
	}
}

func TestStdioNewEra(t *testing.T) {
	w := dial(t, newTestServer(newFake()))
	ask := func(method, params string) map[string]any {
		w.send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, meta, params)
		return w.next()
	}
	got := ask("server/discover", "")
	demand(t, got, "result.supportedVersions", "[2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]")
	demand(t, got, "result.instructions", "Search, load, execute.")
	demand(t, got, "result.ttlMs", "3.6e+06")
	demand(t, got, "result.cacheScope", "private")
	for method, params := range map[string]string{
		"tools/list": "", "tools/call": `,"name":"search","arguments":{}`, "prompts/list": "", "resources/list": "", "resources/templates/list": "",
		"prompts/get": `,"name":"demo/greet","arguments":{"name":"Ada"}`, "resources/read": `,"uri":"rye://knowledge/demo/facts"`,
	} {
		got := ask(method, params)
		demand(t, got, "result.resultType", "complete")
		if !strings.Contains(fmt.Sprint(field(got, "result._meta")), "rye") {
			t.Errorf("%s does not say who answers: %v", method, got)
		}
		if strings.HasSuffix(method, "list") || method == "resources/read" {
			demand(t, got, "result.ttlMs", "*")
			demand(t, got, "result.cacheScope", "private")
		}
	}
	demand(t, ask("ping", ""), "error.code", "-32601")
}

func TestStdioPromptsAndResources(t *testing.T) {
	w := dial(t, newTestServer(newFake())).shake()
	ask := func(method, params string) map[string]any {
		w.send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)
		return w.next()
	}
	got := ask("prompts/list", "")
	demand(t, got, "result.prompts.0.name", "demo/greet")
	demand(t, got, "result.prompts.0.arguments.0", "map[description:whom name:name required:true]")
	got = ask("prompts/get", `"name":"demo/greet","arguments":{"name":"Ada"}`)
	demand(t, got, "result.messages.0", "map[content:map[text:Say hello to Ada type:text] role:user]")
	demand(t, ask("prompts/get", `"name":"demo/absent"`), "error", `map[code:-32602 data:map[code:ITEM_NOT_FOUND] message:resolving directive "demo/absent": there is none]`)
	demand(t, ask("prompts/get", `"name":"broken"`), "error", `map[code:-32603 data:map[code:FILE_SYSTEM_ERROR] message:reading ~/x: permission denied]`)
	demand(t, ask("prompts/get", `"name":"wrong"`), "error", `map[code:-32602 data:map[code:VALIDATION_FAILED] message:checking the inputs of directive:wrong: `+
		`VALIDATION_FAILED: $.a must be a whole number; VALIDATION_FAILED: ~/b is none; VALIDATION_FAILED: $.c is missing]`)
	got = ask("resources/list", "")
	demand(t, got, "result.resources.0", "map[mimeType:text/markdown name:demo/facts size:7 title:Facts uri:rye://knowledge/demo/facts]")
	got = ask("resources/read", `"uri":"rye://knowledge/demo/facts"`)
	demand(t, got, "result.contents.0", "map[mimeType:text/markdown text:# Facts uri:rye://knowledge/demo/facts]")
	got = ask("resources/read", `"uri":"file:///etc/passwd"`)
	demand(t, got, "error.code", "-32602")
	demand(t, got, "error.data", "map[code:ITEM_NOT_FOUND uri:file:///etc/passwd]")
	demand(t, ask("resources/templates/list", ""), "result.resourceTemplates", "[]")
	demand(t, ask("prompts/list", `"cursor":"AAAA"`), "error.code", "-32602")
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		for _, params := range []string{"", `,"params":null`, `,"params":{}`} {
			w.send(`{"jsonrpc":"2.0","id":1,"method":%q%s}`, method, params)
			demand(t, w.next(), "error", "-")
		}
	}
	for _, method := range []string{"prompts/get", "resources/read", "tools/call"} {
		w.send(`{"jsonrpc":"2.0","id":1,"method":%q}`, method)
		demand(t, w.next(), "error.code", "-32600")
	}
}

// The SDK answers every method it knows, whether declared or not.
func TestUndeclaredMethods(t *testing.T) {
	w := dial(t, newTestServer(newFake())).shake()
	for method, params := range map[string]string{
		"logging/setLevel": `{"level":"debug"}`, "completion/complete": `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}}`,
		"resources/subscribe": `{"uri":"rye://x"}`, "resources/unsubscribe": `{"uri":"rye://x"}`, "tasks/get": `{}`, "sampling/createMessage": `{}`, "": `{}`,
	} {
		w.send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
		demand(t, w.next(), "error.code", "-32601")
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/of/tomorrow"}`)
	w.alive()
}

// The SDK's error for these has no code.
func TestOutOfTurn(t *testing.T) {
	w := dial(t, newTestServer(newFake()))
	w.send("%s", call("7", ""))
	got := w.next()
	demand(t, got, "error.code", "-32600")
	demand(t, got, "id", "7")
	for _, params := range []string{`{"protocolVersion":5}`, `[]`} {
		w.send(`{"jsonrpc":"2.0","id":8,"method":"initialize","params":%s}`, params)
		demand(t, w.next(), "error.code", "-32602")
	}
	w.shake().send("%s", hello)
	demand(t, w.next(), "error.code", "-32600")
	w.alive()
}

func TestTools(t *testing.T) {
	w := dial(t, newTestServer(newFake())).shake()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	got := w.next()
	for i, name := range []string{"execute", "load", "search", "sign"} {
		demand(t, got, fmt.Sprintf("result.tools.%d.name", i), name)
		demand(t, got, fmt.Sprintf("result.tools.%d._meta.anthropic/alwaysLoad", i), "true")
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			demand(t, got, fmt.Sprintf("result.tools.%d.annotations.%s", i, hint), "*")
		}
	}
	demand(t, got, "result.tools.0.annotations.destructiveHint", "true")
	demand(t, got, "result.tools.2.annotations.destructiveHint", "false")
	demand(t, got, "result.tools.2.annotations.readOnlyHint", "true")

	w.send("%s", call("2", "nonsense"))
	got = w.next()
	demand(t, got, "result.isError", "true")
	demand(t, got, "result.content.0.text", `{"success":false,"error":{"code":"UNKNOWN_PARAMETER","message":"unknown key, did you mean item_id?"}}`)
	w.send("%s", call("3", "gone"))
	demand(t, w.next(), "error", `map[code:-32602 message:unknown tool "execute"]`)
	w.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"erase"}}`)
	demand(t, w.next(), "error", `map[code:-32602 message:unknown tool "erase"]`)
	w.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"search"}}`)
	demand(t, w.next(), "result.content.0.type", "text")
	w.send(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"search","arguments":"{}"}}`)
	demand(t, w.next(), "result.isError", "true") // the verb reports it
}

// A panic in a handler ends the process of a plain SDK server.
func TestPanic(t *testing.T) {
	var stderr bytes.Buffer
	s := New(Params{Verbs: newFake(), Name: "rye", Stderr: &stderr})
	w := dial(t, s).shake()
	w.send("%s", call("2", "panic"))
	got := w.next()
	demand(t, got, "result.isError", "true")
	text := fmt.Sprint(field(got, "result.content.0.text"))
	if !strings.Contains(text, `"code":"INTERNAL"`) || strings.Contains(text, "ada") || strings.Contains(text, "goroutine") {
		t.Errorf("the client reads %s", text)
	}
	if log := stderr.String(); !strings.Contains(log, "panic in tools/call: the handler of a test goes wrong") || !strings.Contains(log, "fake_test.go") {
		t.Errorf("stderr: %s", log)
	}
	w.alive()
}

// An answer to a cancelled request is against the protocol; the SDK sends one.
func TestCancelHasNoAnswer(t *testing.T) {
	f := newFake()
	w := dial(t, newTestServer(f)).shake()
	for i, id := range []string{`2`, `"two"`} {
		w.send("%s", call(id, "wait x"))
		<-f.started
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
		if err := <-f.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%d: the call ended with %v", i, err)
		}
		w.alive()
		w.again(id)
	}
	for _, params := range []string{`{"requestId":99}`, `{"requestId":null}`, `{}`, `[]`, `{"requestId":{}}`} {
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}`, params)
	}
	w.alive()
}

// Calls that run at the end of the input may answer for a moment. Then they are
// cancelled, and the server waits for them for a limited time.
func TestEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := dial(t, newTestServer(f)).shake()
		w.send("%s", call("2", "wait x"))
		<-f.started
		start := time.Now()
		w.in.Close()
		if err := <-f.ended; !errors.Is(err, io.EOF) && !errors.Is(err, errShutdown) {
			t.Errorf("the call ended with %v", err)
		}
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != drainTime {
			t.Errorf("it took %v", took)
		}
	})
}

func TestRequestsFromAFile(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader(hello + "\n" + call("2", "") + "\n" + call("3", "")) // no newline at the end
	if err := newTestServer(newFake()).Stdio(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d answers: %s", n, out.String())
	}
}

// A call that does not heed its cancellation does not keep the server.
func TestSignalDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &deaf{fake: newFake(), release: make(chan struct{})}
		w := dial(t, New(Params{Verbs: stuck, Name: "rye"})).shake()
		w.send("%s", call("2", ""))
		<-stuck.started
		start := time.Now()
		w.cancel()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != ShutdownTimeout {
			t.Errorf("it took %v", took)
		}
		close(stuck.release)
	})
}

type deaf struct {
	*fake
	release chan struct{}
}

func (d *deaf) Call(context.Context, agent.Request) *agent.Reply {
	d.started <- ""
	<-d.release
	return failed("CANCELLED", "late")
}

func TestBrokenOutput(t *testing.T) {
	in, _ := io.Pipe()
	defer in.Close()
	err := newTestServer(newFake()).Stdio(t.Context(), io.MultiReader(strings.NewReader(hello+"\n"), in), brokenPipe{})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Stdio ends with %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

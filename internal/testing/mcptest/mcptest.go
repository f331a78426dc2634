// Package mcptest is an MCP server for tests: it serves both eras of the protocol
// over stdio, streamable HTTP and the older HTTP with events, with the faults that
// its flags select.
//
// It uses no protocol library, so that it can violate every rule. Only tests import
// it.
package mcptest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Server is the server with its faults. The zero value has none and speaks both
// eras.
type Server struct {
	Era    string // both (""), modern or legacy
	Banner bool   // writes lines before it reads
	Noise  bool   // writes a line before each answer
	Crash  string // the method at which it ends with status 3, or "start"
	Once   string // a file: the crash happens only while it does not exist
	Silent string // the method that it does not answer
	Loop   bool   // the list's cursor leads back to itself
	Tools  string // a JSON file with the list of tools, read at each list
	Log    string // a file that gets a line at each start
	Child  string // a file for the number of a child that outlives its input
	Stay   bool   // ends neither with its input nor when it is asked to
	Token  string // the required Authorization header over HTTP
	Empty  bool   // offers no tools at all
	// Results is a JSON file with the results of tools by name, read at each call.
	// The member _stderr is written to stderr first, _error is the error of the
	// answer instead of a result, with _exit the server ends, and a result "arguments" is a text with the
	// arguments as they arrived.
	Results string
	Forget  bool // ends its session at the first call of a tool; over HTTP

	ask    func(method string) string      // asks the client; nil over HTTP
	notify func(method string, params any) // notifies the client; nil over HTTP

	sessions atomic.Int64 // over HTTP
	forgot   atomic.Bool
}

// Flags returns the flags that set a Server.
func (s *Server) Flags() *flag.FlagSet {
	f := flag.NewFlagSet("mcp-fixture", flag.ContinueOnError)
	f.StringVar(&s.Era, "era", "", "")
	f.BoolVar(&s.Banner, "banner", false, "")
	f.BoolVar(&s.Noise, "noise", false, "")
	f.StringVar(&s.Crash, "crash", "", "")
	f.StringVar(&s.Once, "once", "", "")
	f.StringVar(&s.Silent, "silent", "", "")
	f.BoolVar(&s.Loop, "loop", false, "")
	f.StringVar(&s.Tools, "tools", "", "")
	f.StringVar(&s.Log, "log", "", "")
	f.StringVar(&s.Child, "child", "", "")
	f.BoolVar(&s.Stay, "stay", false, "")
	f.StringVar(&s.Token, "token", "", "")
	f.BoolVar(&s.Forget, "forget", false, "")
	f.StringVar(&s.Results, "results", "", "")
	f.BoolVar(&s.Empty, "empty", false, "")
	return f
}

// Main is the program: the server over stdio.
func Main() {
	s := &Server{}
	args := os.Args[1:]
	if len(args) == 1 && args[0] == "sleep" {
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute)
		return
	}
	if err := s.Flags().Parse(args); err != nil {
		os.Exit(2)
	}
	s.Stdio(os.Stdin, os.Stdout)
}

// Stdio serves one client by lines.
func (s *Server) Stdio(in io.Reader, out io.Writer) {
	if s.Stay {
		signal.Ignore(syscall.SIGTERM)
	}
	if s.Banner {
		fmt.Fprint(out, "Welcome to the fixture!\n\n{not json\n[1,2]\n{\"level\":\"info\"}\n")
	}
	if s.Child != "" {
		s.spawn()
	}
	if s.Log != "" {
		s.log()
	}
	s.crash("start")
	dec := json.NewDecoder(in)
	var next int
	s.ask = func(method string) string {
		next++
		id := "ask-" + strconv.Itoa(next)
		write(out, message{
			Version: "2.0",
			ID:      json.RawMessage(strconv.Quote(id)),
			Method:  method,
			Params:  json.RawMessage(`{}`),
		})
		for {
			var m message
			if dec.Decode(&m) != nil {
				return "nothing"
			}
			if string(m.ID) == strconv.Quote(id) {
				return answerOf(m)
			}
		}
	}
	s.notify = func(method string, params any) {
		b, _ := json.Marshal(params)
		write(out, message{Version: "2.0", Method: method, Params: b})
	}
	for {
		var m message
		if err := dec.Decode(&m); err != nil {
			break
		}
		if s.Noise {
			fmt.Fprintf(out, "DEBUG got %s\n", m.Method)
		}
		if res, ok := s.Answer(m); ok {
			write(out, res)
		}
	}
	if s.Stay {
		time.Sleep(time.Minute)
	}
}

func answerOf(m message) string {
	if m.Error != nil {
		return fmt.Sprintf("error %d", m.Error.Code)
	}
	return "result " + string(m.Result)
}

// spawn starts a child that nothing but its group's end stops.
func (s *Server) spawn() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := exec.Command(self, "sleep")
	c.Args[0] = os.Args[0]
	c.Env = os.Environ()
	if err := c.Start(); err != nil {
		panic(err)
	}
	err = os.WriteFile(
		s.Child,
		[]byte(strconv.Itoa(c.Process.Pid)),
		0o644,
	)
	if err != nil {
		panic(err)
	}
}

func (s *Server) log() {
	f, err := os.OpenFile(s.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, "started")
	if err := f.Close(); err != nil {
		panic(err)
	}
}

func write(out io.Writer, m message) {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	_, _ = out.Write(append(b, '\n'))
}

// crash ends the process at the method that Crash names.
func (s *Server) crash(method string) {
	if s.Crash != method {
		return
	}
	if s.Once != "" {
		if _, err := os.Stat(s.Once); err == nil {
			return
		}
		if err := os.WriteFile(s.Once, nil, 0o644); err != nil {
			panic(err)
		}
	}
	fmt.Fprintf(os.Stderr, "fixture: something is broken\nfixture: giving up at %s\n", method)
	os.Exit(3)
}

// message is every message of JSON-RPC.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *problem        `json:"error,omitempty"`
}

type problem struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`

	raw json.RawMessage // the whole error, if it is not nil
}

// MarshalJSON implements json.Marshaler.
func (p *problem) MarshalJSON() ([]byte, error) {
	if p.raw != nil {
		return p.raw, nil
	}
	type plain problem
	return json.Marshal((*plain)(p))
}

// Answer answers one message; ok is false when it gets none.
func (s *Server) Answer(m message) (message, bool) {
	s.crash(m.Method)
	if s.Silent != "" && s.Silent == m.Method || m.ID == nil {
		return message{}, false
	}
	res := message{Version: "2.0", ID: m.ID}
	result, bad := s.result(m)
	if bad != nil {
		res.Error = bad
		return res, true
	}
	b, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	res.Result = b
	return res, true
}

const (
	modern  = "2026-07-28"
	legacy  = "2025-11-25"
	metaKey = "io.modelcontextprotocol/"
)

func (s *Server) result(m message) (any, *problem) {
	info := map[string]any{"name": "fixture", "version": "1.2.3"}
	caps := map[string]any{"tools": map[string]any{}}
	switch m.Method {
	case "server/discover":
		if s.Era == "legacy" {
			break
		}
		return map[string]any{"resultType": "complete", "supportedVersions": []string{modern}, "capabilities": caps, "ttlMs": 0, "cacheScope": "private",
			"_meta": map[string]any{metaKey + "serverInfo": info}}, nil
	case "initialize":
		if s.Era == "modern" {
			return nil, &problem{Code: -32022, Message: "unsupported protocol version", Data: json.RawMessage(`{"supported":["` + modern + `"],"requested":"` + legacy + `"}`)}
		}
		return map[string]any{"protocolVersion": legacy, "capabilities": caps, "serverInfo": info}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		return s.list()
	case "tools/call":
		return s.call(m.Params)
	}
	return nil, &problem{Code: -32601, Message: "method not found: " + m.Method}
}

func (s *Server) list() (any, *problem) {
	out := map[string]any{
		"resultType": "complete",
		"tools":      s.tools(),
		"ttlMs":      0,
		"cacheScope": "private",
	}
	if s.Loop {
		out["nextCursor"] = "again"
	}
	return out, nil
}

func (s *Server) tools() any {
	if s.Empty {
		return []any{}
	}
	if s.Tools != "" {
		b, err := os.ReadFile(s.Tools)
		if err != nil {
			panic(err)
		}
		return json.RawMessage(b)
	}
	return defaultTools()
}

func defaultTools() []any {
	text := map[string]any{"type": "string"}
	number := map[string]any{"type": "number"}
	tool := func(name, description string, props map[string]any, required ...string) map[string]any {
		schema := map[string]any{"type": "object", "properties": props}
		if len(required) > 0 {
			schema["required"] = required
		}
		return map[string]any{"name": name, "description": description, "inputSchema": schema}
	}
	sum := tool("math.add", "Add two numbers.", map[string]any{"a": number, "b": number}, "a", "b")
	sum["title"], sum["annotations"] = "Add", map[string]any{"readOnlyHint": true}
	sum["outputSchema"] = map[string]any{"type": "object", "properties": map[string]any{"sum": number}, "required": []string{"sum"}}
	return []any{
		tool("ask", "Ask the client for everything a server can ask for.", map[string]any{}),
		tool("cwd", "Return the working directory.", map[string]any{}),
		tool("echo", "Say it again.\n\nWord for word.", map[string]any{"text": text}, "text"),
		tool("env", "Return a variable of the environment.", map[string]any{"name": text}, "name"),
		tool("fail", "Fail.", map[string]any{}),
		tool("hang", "Never answer.", map[string]any{}),
		tool("slow", "Take a while and report progress.", map[string]any{"steps": number}),
		tool("image", "Show a picture.", map[string]any{}),
		sum,
	}
}

func (s *Server) call(raw json.RawMessage) (any, *problem) {
	var p struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
		Meta      map[string]any `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, &problem{Code: -32602, Message: err.Error()}
	}
	text := func(format string, args ...any) map[string]any {
		return map[string]any{"resultType": "complete", "content": []any{map[string]any{"type": "text", "text": fmt.Sprintf(format, args...)}}}
	}
	arg := func(name string) string { v, _ := p.Arguments[name].(string); return v }
	if s.Results != "" {
		return s.given(p.Name, raw)
	}
	switch p.Name {
	case "echo":
		return text("%s", arg("text")), nil
	case "env":
		if v, has := os.LookupEnv(arg("name")); has {
			return text("%s", v), nil
		}
		return text("unset"), nil
	case "announce":
		if s.notify != nil {
			s.notify("notifications/tools/list_changed", map[string]any{})
		}
		return text("announced"), nil
	case "cwd":
		dir, _ := os.Getwd()
		return text("%s", filepath.Base(dir)), nil
	case "fail":
		out := text("this went wrong")
		out["isError"] = true
		return out, nil
	case "hang":
		time.Sleep(time.Minute)
	case "slow":
		steps, _ := p.Arguments["steps"].(float64)
		for i := range int(steps) {
			time.Sleep(200 * time.Millisecond)
			if s.notify != nil {
				s.notify("notifications/progress", map[string]any{
					"progressToken": p.Meta["progressToken"],
					"progress":      i + 1,
					"total":         steps,
					"message":       fmt.Sprintf("step %d", i+1),
				})
			}
		}
		return text("done"), nil
	case "image":
		return map[string]any{"resultType": "complete", "content": []any{map[string]any{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}}}, nil
	case "math.add":
		a, _ := p.Arguments["a"].(float64)
		b, _ := p.Arguments["b"].(float64)
		out := text("%v", a+b)
		out["structuredContent"] = map[string]any{"sum": a + b}
		return out, nil
	case "ask":
		if s.ask == nil {
			return text("there is no client to ask"), nil
		}
		var got []string
		for _, method := range []string{"roots/list", "sampling/createMessage", "elicitation/create", "ping"} {
			got = append(got, method+": "+s.ask(method))
		}
		return text("%s", strings.Join(got, "\n")), nil
	}
	return nil, &problem{Code: -32602, Message: "unknown tool: " + p.Name}
}

// given returns the result of a tool in the file Results.
func (s *Server) given(tool string, params json.RawMessage) (any, *problem) {
	b, err := os.ReadFile(s.Results)
	if err != nil {
		panic(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		panic(err)
	}
	if string(all[tool]) == `"arguments"` {
		var p struct {
			Arguments json.RawMessage `json:"arguments"`
		}
		_ = json.Unmarshal(params, &p)
		return map[string]any{"resultType": "complete", "content": []any{map[string]any{"type": "text", "text": string(p.Arguments)}}}, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(all[tool], &m); err != nil {
		panic(err)
	}
	var text string
	if json.Unmarshal(m["_stderr"], &text) == nil {
		fmt.Fprint(os.Stderr, text)
	}
	if m["_exit"] != nil {
		os.Exit(3)
	}
	if m["_error"] != nil {
		return nil, &problem{raw: m["_error"]}
	}
	delete(m, "_stderr")
	m["resultType"] = json.RawMessage(`"complete"`)
	return m, nil
}

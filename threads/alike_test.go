package threads

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/provider"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/transcript"
)

// An answer of a model has several readers: the codec of its service, the kernel, which calls the tool, the step that asks the
// hooks, a step that is a program, and every reader of the log. They must read the same texts and the same arguments.

// dialects are the forms in which services send an answer with a text and one call.
func dialects() []func(text, id, name, arguments string) string {
	quote := func(s string) string {
		b, _ := jsonx.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
		return string(b)
	}
	event := func(lines ...string) string { return "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n" }
	return []func(text, id, name, arguments string) string{
		func(text, id, name, arguments string) string {
			return event(`{"type":"message_start","message":{"id":"m","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":`+quote(text)+`}}`, `{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":`+quote(id)+`,"name":`+quote(name)+`,"input":{}}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":`+quote(arguments)+`}}`, `{"type":"content_block_stop","index":1}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`)
		},
		func(text, id, name, arguments string) string {
			return event(`{"model":"m","choices":[{"index":0,"delta":{"content":`+quote(text)+`}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":`+quote(id)+`,"function":{"name":`+quote(name)+`,"arguments":`+quote(arguments)+`}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":9}}`, `[DONE]`)
		},
		func(text, _, name, arguments string) string {
			return `{"model":"m","message":{"role":"assistant","content":` + quote(text) + `,"tool_calls":[{"function":{"name":` + quote(name) + `,"arguments":` + arguments + `}}]},"done":false}` + "\n" +
				`{"model":"m","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"prompt_eval_count":1,"eval_count":9}`
		},
		func(text, id, name, arguments string) string {
			return event(`{"candidates":[{"content":{"parts":[{"text":` + quote(text) + `},{"functionCall":{"id":` + quote(id) + `,"name":` + quote(name) + `,"args":` + arguments + `}}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"m","usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":9}}`)
		},
	}
}

// services are the providers of the dialects.
func services(t testing.TB) (out []*provider.Config) {
	t.Helper()
	for _, dialect := range []string{"anthropic_messages", "openai_chat", "ollama_chat", "gemini"} {
		doc, fs := yamlx.Parse([]byte("provider:\n  dialect: " + dialect + "\n  models:\n    m: {window: 32000, max_output: 8192, prices: {input: \"1\", output: \"1\"}}\n"))
		if doc == nil {
			t.Fatal(fs)
		}
		c, fs := provider.Parse("test/providers/"+dialect, doc)
		if c == nil {
			t.Fatal(dialect, fs)
		}
		out = append(out, c)
	}
	return out
}

// python reads a line of JSON and writes it again, as a step in Python does with its input.
type python struct {
	in  io.Writer
	out *bufio.Reader
}

func startPython(t testing.TB) *python {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Log("there is no python3")
		return nil
	}
	ctx, end := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "-c", "import sys, json\nfor line in sys.stdin:\n    print(json.dumps(json.loads(line)), flush=True)")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(); _ = cmd.Wait() })
	return &python{in, bufio.NewReader(out)}
}

// reads returns the value that Python read.
func (p *python) reads(t *testing.T, text []byte) any {
	t.Helper()
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("python does not read %.300s: %v", text, err)
	}
	return floats(value(t, line))
}

// value returns a JSON text with every digit of its numbers.
func value(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonx.Record(text)
	if err != nil {
		t.Fatalf("%.300s: %v", text, err)
	}
	return v
}

// floats returns a value in which numbers with a fraction are what a float64 keeps of them, and zero has no sign.
func floats(v any) any {
	switch v := v.(type) {
	case float64:
		return v + 0
	case json.Number:
		f, err := v.Float64()
		if strings.ContainsAny(string(v), ".eE") && err == nil {
			return f + 0
		}
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = floats(v[k])
		}
	}
	return v
}

// written returns a value as the text that another process reads has it.
func written(t *testing.T, v any) any {
	t.Helper()
	b, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return value(t, b)
}

// hooked runs the step dispatch as the loop does, and returns each call as a hook reads it and as the step passes it.
func hooked(t *testing.T, parameters map[string]any) (hooks []any, passed []steps.Call) {
	t.Helper()
	in, err := steps.Decode("dispatch", parameters)
	if err != nil {
		t.Fatal(err)
	}
	in.Services.Step = func(_ context.Context, _ string, params map[string]any) (steps.Output, error) {
		whole, err := steps.Input{Params: params}.Object()
		if err != nil {
			t.Fatal(err)
		}
		hook, err := steps.Decode("run_hooks", whole)
		if err != nil {
			t.Fatal(err)
		}
		if hook.Params["event"] == "before_tool" {
			facts, _ := hook.Params["context"].(map[string]any)
			call, _ := facts["call"].(map[string]any)
			hooks = append(hooks, call["input"])
		}
		return steps.Output{Success: true, Data: map[string]any{}}, nil
	}
	in.Services.Call = func(_ context.Context, c steps.Call) (steps.Result, error) {
		passed = append(passed, c)
		return steps.Result{CallID: c.CallID}, nil
	}
	if _, err := steps.All()["dispatch"](t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return hooks, passed
}

// compacted returns blocks without the spaces of arguments, which a log does not keep. The next request sends them as they came:
// a service finds what it wrote itself.
func compacted(t *testing.T, blocks []message.Block) []message.Block {
	t.Helper()
	blocks = slices.Clone(blocks)
	for i := range blocks {
		var b bytes.Buffer
		if blocks[i].Input == nil {
			continue
		}
		if err := json.Compact(&b, blocks[i].Input); err != nil {
			t.Fatal(err)
		}
		blocks[i].Input = b.Bytes()
	}
	return blocks
}

// FuzzReadersOfAnswers sends a text and a call through a codec and compares the readers of both.
func FuzzReadersOfAnswers(f *testing.F) {
	for d := range uint8(4) {
		f.Add(d, "Reading ü.", "c1", `{"n":1,"list":[1.5,true,null,"a\u0000\u2028"]}`)
		for text := range hostileArguments() {
			f.Add(d, "a\xffb\x00\u2028", "c\xff", text)
		}
		for _, number := range []string{"-0", "-0.0", "1.0", "1e2", "1E400", "1e-400", "12345678901234567890.10", "9007199254740993", "9223372036854775808", "0.1000000000000000055511151231257827", "5e-324"} {
			f.Add(d, "", "", `{"n":`+number+`,"mode":"x"}`)
		}
		for _, arguments := range []string{`{"N":1,"n":2}`, `{"__proto__":{"n":1}}`, `{"mode":null}`, ` {"n" : "<&>"} `, `{"\u006e":1}`, `{"n":"\ud83d\ude00 \/"}`, `{"":{"":[[]]}}`, `"{}"`, ``, `{}{}`} {
			f.Add(d, "<&>", "c", arguments)
		}
	}
	all, streams, py := services(f), dialects(), startPython(f)
	f.Fuzz(func(t *testing.T, d uint8, text, id, arguments string) {
		c := all[int(d)%len(all)]
		c.Send = func(context.Context, string, []byte) (*httpstep.Reply, error) {
			return &httpstep.Reply{Status: 200, Stream: io.NopCloser(strings.NewReader(streams[int(d)%len(all)](text, id, "read", arguments)))}, nil
		}
		req := message.Request{Model: "m", MaxOutput: 10, Messages: []message.Message{{Role: message.User, Blocks: []message.Block{message.TextBlock("x")}}},
			Tools: []message.ToolDef{{Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}}}
		resp, err := c.Call(t.Context(), req, nil)
		if err != nil {
			return
		}

		// The log: what a step and a thread that continues read is what the kernel has.
		th := newThread(testID, Params{})
		th.prompt = &Prompt{Tools: []Offered{offered("read", `{"type":"object","properties":{"n":{},"mode":{"default":"all"},"limit":{"default":20.0}}}`)}}
		resp.Blocks = th.distinct(1, message.Canonical(resp.Blocks))
		data, err := jsonx.Marshal(responseData{Turn: 1, Blocks: resp.Blocks, Stop: resp.Stop})
		if err != nil {
			t.Fatal(err)
		}
		line := transcript.Line{Event: evResponse, Data: data}
		var logged struct{ Blocks []message.Block }
		if err := line.Decode(&logged); err != nil || !reflect.DeepEqual(logged.Blocks, compacted(t, resp.Blocks)) {
			t.Fatalf("the log has %+v (%v), the kernel %+v", logged.Blocks, err, resp.Blocks)
		}
		end, err := steps.All()["finish"](t.Context(), steps.Input{Params: map[string]any{"state": "suspended"}, Conversation: []transcript.Line{line}})
		if got, _ := end.Data["text"].(string); err != nil || got != resp.Text() {
			t.Fatalf("a step reads the text %q (%v), the kernel has %q", got, err, resp.Text())
		}

		// The call: the tool receives what the hook reads.
		th.entries = []entry{{answer: &answer{turn: 1, resp: resp}}}
		pending := th.Pending()
		parameters, err := steps.Input{ThreadID: testID, Params: map[string]any{"calls": pending}}.Object()
		if err != nil {
			t.Fatal(err)
		}
		hooks, passed := hooked(t, parameters)
		if len(passed) != len(pending) {
			t.Fatalf("%d of %d calls are made", len(passed), len(pending))
		}
		raw, err := jsonx.Marshal(parameters)
		if err != nil {
			t.Fatal(err)
		}
		programs := map[string]any{"a program": floats(value(t, raw))}
		if py != nil {
			programs["python"] = py.reads(t, raw)
		}
		for i, p := range pending {
			if p.Problem != "" {
				continue
			}
			tool := th.LastCalls()[i].Input
			if len(hooks) == 0 || !reflect.DeepEqual(written(t, hooks[0]), written(t, tool)) {
				t.Fatalf("the hook reads %v, the tool receives %v", hooks, tool)
			}
			hooks = hooks[1:]
			for name, whole := range programs {
				params, _ := whole.(map[string]any)["params"].(map[string]any)
				list, _ := params["calls"].([]any)
				call, _ := list[i].(map[string]any)
				if want := floats(written(t, tool)); !reflect.DeepEqual(call["input"], want) {
					t.Fatalf("%s reads %#v, the tool receives %#v", name, call["input"], want)
				}
			}
		}
	})
}

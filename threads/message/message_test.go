package message

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// every has one block of each type, with the values that encoders tend to change.
func every() []Block {
	return []Block{
		TextBlock("a <b> & \u2028 \"c\"\n"),
		{Type: Image, MediaType: "image/png", Data: []byte{0, 255, 1}},
		{Type: File, MediaType: "application/pdf", Name: "a.pdf", Artifact: "3f9c", Pages: 3, Bytes: 70},
		{Type: Image, MediaType: "image/jpeg", Name: "a.jpg", Artifact: "77aa", Width: 20, Height: 10, Bytes: 600},
		{Type: ToolCall, ID: "t1", Name: "execute", Input: json.RawMessage(`{"z":1,"a":12345678901234567890123,"f":1.1,"e":1E400}`)},
		{Type: ToolCall, ID: "t2", Name: "execute", InvalidInput: `{"a":`},
		{Type: ToolCall, ID: "t3", Name: "execute", InvalidInput: ``},
		{Type: ToolCall, ID: "t4", Name: "execute", Input: json.RawMessage(`null`)},
		{Type: ToolResult, CallID: "t1", Content: []Block{TextBlock("x"), {Type: Image, MediaType: "image/png", Data: []byte("p")}}, IsError: true},
		{Type: ToolCall, ID: "t5", Name: "execute", Input: json.RawMessage(`{}`), Dialect: "d", Model: "m", Raw: []byte(`{"caller": 1.0}`)},
		{Type: Text, Text: "cited", Dialect: "d", Provider: "p", Model: "m", Raw: []byte("{ \"citations\" : [] }")},
		{Type: ToolResult, CallID: "t2"},
		{Type: Reasoning, Dialect: "anthropic_messages", Provider: "rye/agent/providers/anthropic", Model: "m", Raw: []byte("{ \"type\" : \"thinking\",\n\"signature\":\"<&>\" , \"n\": 1.0}")},
		{Type: Opaque, Dialect: "openai_chat", Model: "m", Raw: []byte("not json \u2028")},
		{Type: Opaque, Dialect: "openai_chat", Model: "m", Raw: []byte{0xff, '"', 0}},
	}
}

// encoders are the ways in which blocks are written.
func encoders() map[string]func(any) ([]byte, error) {
	return map[string]func(any) ([]byte, error){
		"json": json.Marshal, "jsonx": jsonx.Marshal, "indented": jsonx.MarshalIndent,
		// as a value of a graph's state
		"as a value": func(v any) ([]byte, error) {
			b, err := jsonx.Marshal(v)
			if err != nil {
				return nil, err
			}
			value, fs := jsonx.ParseMessage(b)
			if len(fs) > 0 {
				return nil, diag.FromFindings("reading", fs)
			}
			return jsonx.Marshal(value)
		},
	}
}

func TestRoundTrip(t *testing.T) {
	for name, encode := range encoders() {
		for _, want := range every() {
			b, err := encode(want)
			if err != nil {
				t.Fatal(err)
			}
			var got Block
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatalf("%s: %s: %v", name, b, err)
			}
			if got.Type == ToolCall {
				got.Input = spelled(t, got.Input, want.Input)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s\ngot  %+v\nwant %+v", name, b, got, want)
			}
		}
	}
}

// spelled returns want if got is the same value with the same digits in each number.
func spelled(t *testing.T, got, want json.RawMessage) json.RawMessage {
	t.Helper()
	if got == nil || want == nil {
		return got
	}
	a, b := numbers(t, got), numbers(t, want)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the input is %s, want %s", got, want)
	}
	return want
}

func numbers(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestForm(t *testing.T) {
	for want, b := range map[string]Block{
		`{"type":"text","text":"a <b>"}`:                                                                   TextBlock("a <b>"),
		`{"type":"tool_call","id":"t1","name":"x","input":{"b":1.0,"a":2}}`:                                {Type: ToolCall, ID: "t1", Name: "x", Input: json.RawMessage(`{"b":1.0,"a":2}`)},
		`{"type":"tool_call","id":"t1","name":"x","invalid_input":"{"}`:                                    {Type: ToolCall, ID: "t1", Name: "x", InvalidInput: `{`},
		`{"type":"tool_result","call_id":"t1","content":[],"is_error":false}`:                              {Type: ToolResult, CallID: "t1"},
		`{"type":"reasoning","dialect":"anthropic_messages","model":"m","raw":"{\"type\": \"thinking\"}"}`: {Type: Reasoning, Dialect: "anthropic_messages", Model: "m", Raw: []byte(`{"type": "thinking"}`)},
		`{"type":"opaque","dialect":"openai_chat","provider":"p","model":"m","raw_base64":"/w=="}`:         {Type: Opaque, Dialect: "openai_chat", Provider: "p", Model: "m", Raw: []byte{0xff}},
		`{"type":"file","media_type":"text/plain","name":"n","data":"YQ=="}`:                               {Type: File, MediaType: "text/plain", Name: "n", Data: []byte("a")},
	} {
		got, err := jsonx.Marshal(b)
		if err != nil || string(got) != want {
			t.Errorf("got  %s (%v)\nwant %s", got, err, want)
		}
	}
}

func TestRefusedBlocks(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"video"}`: `the type "video", which is unknown`,
		`{"text":"a"}`:     `the type "", which is unknown`,
		`{"type":"tool_call","id":"t1","name":"x"}`: `the tool_call "t1" has no input`,
		`{"type":"text","text":1}`:                  "cannot unmarshal number",
		`{"type":"image","data":"%%"}`:              "illegal base64",
		`[]`:                                        "cannot unmarshal array",
	} {
		var b Block
		if err := json.Unmarshal([]byte(in), &b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	if _, err := json.Marshal(Block{Type: "video"}); err == nil {
		t.Error("a block of an unknown type was written")
	}
}

func TestUsage(t *testing.T) {
	a := Usage{Input: 1, CacheRead: 2, CacheWrite5m: 3, CacheWrite1h: 4, Output: 5, Reasoning: 1, Requests: map[string]int64{"web_search": 1}}
	b := Usage{Input: 10, Output: 20, Requests: map[string]int64{"web_search": 2, "code": 1}, Assumed: 1}
	want := Usage{Input: 11, CacheRead: 2, CacheWrite5m: 3, CacheWrite1h: 4, Output: 25, Reasoning: 1, Requests: map[string]int64{"web_search": 3, "code": 1}, Assumed: 1}
	if got := a.Add(b); !reflect.DeepEqual(got, want) {
		t.Errorf("sum: %+v", got)
	}
	if a.Requests["web_search"] != 1 {
		t.Error("Add changed its receiver")
	}
	if a.InputTotal() != 10 || a.Total() != 15 {
		t.Errorf("totals: %d, %d", a.InputTotal(), a.Total())
	}
}

func TestResponseParts(t *testing.T) {
	r := Response{Blocks: []Block{
		{Type: Reasoning, Raw: []byte("hidden")}, TextBlock("a"), {Type: ToolCall, ID: "t1"}, TextBlock("b"), {Type: ToolCall, ID: "t2"},
	}}
	if r.Text() != "ab" || len(r.Calls()) != 2 || r.Calls()[1].ID != "t2" {
		t.Errorf("text %q, calls %+v", r.Text(), r.Calls())
	}
}

func FuzzBlock(f *testing.F) {
	for _, b := range every() {
		raw, _ := jsonx.Marshal(b)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var b Block
		if json.Unmarshal(in, &b) != nil {
			return
		}
		out, err := jsonx.Marshal(b)
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		var again Block
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		second, _ := jsonx.Marshal(again)
		if string(out) != string(second) {
			t.Errorf("%s became %s", out, second)
		}
	})
}

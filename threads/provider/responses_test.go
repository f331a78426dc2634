package provider

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/message"
)

const (
	thoughtItem  = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"look first"}], "encrypted_content":"b3BhcXVl"}`
	messageItem  = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","annotations":[],"text":"Reading \u00fc."}]}`
	readCallItem = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"t1","name":"read","arguments":"{\"n\":12345678901234567890.10}"}`
	listCallItem = `{"id":"fc_2","type":"function_call","status":"completed","call_id":"t2","name":"list","arguments":"{}"}`
	searchItem   = `{"id":"ws_1","type":"web_search_call","status":"completed","n":1.0}`
)

func responsesSample() string {
	return sse(
		`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"think","status":"in_progress","output":[],"usage":null}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
		`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"look first"}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+thoughtItem+`}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}`,
		`{"type":"response.web_search_call.searching","output_index":1,"item_id":"ws_1"}`,
		`{"type":"response.output_item.done","output_index":1,"item":`+searchItem+`}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"id":"msg_1","type":"message","content":[]}}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":2,"content_index":0,"delta":"Reading \u00fc."}`,
		`{"type":"response.output_item.done","output_index":2,"item":`+messageItem+`}`,
		// The pieces of parallel calls may alternate.
		`{"type":"response.output_item.added","output_index":4,"item":{"id":"fc_2","type":"function_call","call_id":"t2","name":"list","arguments":""}}`,
		`{"type":"response.output_item.added","output_index":3,"item":{"id":"fc_1","type":"function_call","call_id":"t1","name":"read","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":3,"delta":"{\"n\":1234567890"}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":4,"delta":"{}"}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":3,"delta":"1234567890.10}"}`,
		`{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":3,"arguments":"{\"n\":12345678901234567890.10}"}`,
		`{"type":"response.output_item.done","output_index":3,"item":`+readCallItem+`}`,
		`{"type":"response.output_item.done","output_index":4,"item":`+listCallItem+`}`,
		`{"type":"response.completed","response":{"id":"resp_1","model":"think","status":"completed","usage":{"input_tokens":130,"input_tokens_details":{"cached_tokens":100,"cache_write_tokens":8},"output_tokens":30,"output_tokens_details":{"reasoning_tokens":10},"total_tokens":160}}}`,
	)
}

func TestResponsesResponse(t *testing.T) {
	c := fed(mustParse(t, strings.Replace(responses, `input: [text`, `requests: {web_search: "0.01"}`+"\n      input: [text", 1)), responsesSample())
	var deltas []message.Delta
	got, err := c.Call(t.Context(), ask("think"), func(d message.Delta) { deltas = append(deltas, d) })
	if err != nil {
		t.Fatal(err)
	}
	own := func(b message.Block, raw string) message.Block {
		return wire{Responses, "test/providers/a", "think"}.mark(b, []byte(raw))
	}
	same(t, got, message.Response{
		ID: "resp_1", Model: "think", Stop: message.StopToolCalls, StopRaw: "completed",
		Usage: message.Usage{Input: 22, CacheRead: 100, CacheWrite5m: 8, Output: 30, Reasoning: 10, Requests: map[string]int64{"web_search": 1}},
		Blocks: []message.Block{
			own(message.Block{Type: message.Reasoning}, thoughtItem),
			own(message.Block{Type: message.Opaque}, searchItem),
			own(message.TextBlock("Reading ü."), messageItem),
			own(message.Block{Type: message.ToolCall, ID: "t1", Name: "read", Input: json.RawMessage(`{"n":12345678901234567890.10}`)}, readCallItem),
			own(message.Block{Type: message.ToolCall, ID: "t2", Name: "list", Input: json.RawMessage(`{}`)}, listCallItem),
		},
	})
	sameDeltas(t, deltas, []message.Delta{
		{Kind: message.DeltaReasoning, Text: "look first"}, {Kind: message.DeltaText, Text: "Reading ü."},
		{Kind: message.DeltaCallStart, CallID: "t2", Name: "list"}, {Kind: message.DeltaCallStart, CallID: "t1", Name: "read"},
		{Kind: message.DeltaToolInput, CallID: "t1", Text: `{"n":1234567890`}, {Kind: message.DeltaToolInput, CallID: "t2", Text: "{}"},
		{Kind: message.DeltaToolInput, CallID: "t1", Text: `1234567890.10}`},
	})
	// 22·0.5 + 100·0.25 + 8·0.625 + 30·2 USD for a million tokens, and a search.
	if cost, assumed := c.Cost(got.Model, got.Usage); cost != 11_000+25_000+5_000+60_000+10_000_000 || assumed {
		t.Errorf("cost %d", cost)
	}
}

// TestResponsesWithoutIndex: a server that numbers no items names them by their ids.
func TestResponsesWithoutIndex(t *testing.T) {
	stream := regexp.MustCompile(`"output_index":[0-9]+,`).ReplaceAllString(responsesSample(), "")
	r, err := fed(mustParse(t, responses), stream).Call(t.Context(), ask("think"), nil)
	if err != nil || len(r.Calls()) != 2 || r.Text() != "Reading ü." || r.Usage.Output != 30 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, c := range r.Calls() {
		if (c.ID == "t1") != (string(c.Input) == `{"n":12345678901234567890.10}`) {
			t.Errorf("%s has the arguments %s", c.ID, c.Input)
		}
	}
	anonymous := `{"type":"response.output_text.done"}`
	for _, event := range []string{`{"type":"response.function_call_arguments.delta","delta":"{"}`, `{"type":"response.output_item.done","output_index":"0","item":{"type":"message"}}`} {
		if r, err := fed(mustParse(t, responses), sse(anonymous, event)).Call(t.Context(), ask("think"), nil); diag.CodeOf(err) != diag.ParsingError || len(r.Blocks) > 0 {
			t.Errorf("%s: %+v, %v", event, r, err)
		}
	}
}

func TestResponsesFailures(t *testing.T) {
	item := func(kind, item string) string {
		return `{"type":"response.output_item.` + kind + `","output_index":0,"item":` + item + `}`
	}
	opened := item("added", `{"id":"fc_1","type":"function_call","call_id":"t1","name":"read","arguments":""}`)
	completed := `{"type":"response.completed","response":{"model":"think"}}`
	for name, tc := range map[string]struct {
		events []string
		want   Failure
	}{
		"error": {[]string{`{"type":"error","code":"rate_limit_exceeded","message":"Slow down.","param":null}`},
			Failure{Code: "rate_limit_exceeded", Type: "rate_limit_exceeded", Message: "Slow down."}},
		"nested error": {[]string{`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Too long."}}`},
			Failure{Code: "context_length_exceeded", Type: "invalid_request_error", Message: "Too long."}},
		"failed": {[]string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Broken."}}}`},
			Failure{Code: "server_error", Type: "server_error", Message: "Broken."}},
		"other arguments": {[]string{opened, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}`,
			`{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"n\":2}"}`}, Failure{Code: "PARSING_ERROR", Reason: unreadableCalls}},
		"other whole": {[]string{opened, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}`, item("done", readCallItem)}, Failure{Code: "PARSING_ERROR", Reason: unreadableCalls}},
		"other type":  {[]string{opened, item("done", messageItem)}, Failure{Code: "PARSING_ERROR"}},
		"same index":  {[]string{opened, opened}, Failure{Code: "PARSING_ERROR"}},
		"not open":    {[]string{`{"type":"response.function_call_arguments.delta","output_index":3,"delta":"{}"}`}, Failure{Code: "PARSING_ERROR", Reason: unreadableCalls}},
		"new reason":  {[]string{`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"a_new_reason"}}}`}, Failure{Code: "a_new_reason", Type: "a_new_reason", Reason: unknownEnd}},
		"open item":   {[]string{opened, completed}, Failure{Code: "PROVIDER_ERROR", Reason: streamIncomplete}},
		"no end":      {[]string{opened, item("done", readCallItem), "[DONE]"}, Failure{Code: "PROVIDER_ERROR", Reason: streamIncomplete}},
	} {
		r, err := fed(mustParse(t, responses), sse(tc.events...)).Call(t.Context(), ask("think"), nil)
		var f *Failure
		if !errors.As(err, &f) || len(r.Blocks) > 0 {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Code != tc.want.Code || f.Type != tc.want.Type || f.Reason != tc.want.Reason || tc.want.Message != "" && f.Message != tc.want.Message || f.Usage.Assumed != 1 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestResponsesStops(t *testing.T) {
	refusal := `{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}` + "|" +
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"refusal","refusal":"No."}]}}|`
	for events, want := range map[string]message.Stop{
		`{"type":"response.completed","response":{}}`:                                                     message.StopEnd,
		`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`: message.StopMaxOutput,
		`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`:    message.StopRefusal,
		refusal + `{"type":"response.completed","response":{}}`:                                           message.StopRefusal,
	} {
		r, err := fed(mustParse(t, responses), sse(strings.Split(events, "|")...)).Call(t.Context(), ask("think"), nil)
		if err != nil || r.Stop != want {
			t.Errorf("%s: %+v, %v", events, r, err)
		}
	}
}

// The request has what the description requires where other dialects have a default.
func TestResponsesRequest(t *testing.T) {
	req := ask("think")
	req.MaxOutput, req.Serial, req.Effort = 1, true, "high"
	req.Messages = append(req.Messages,
		message.Message{Role: message.Assistant, Blocks: []message.Block{{Type: message.ToolCall, ID: "t1", Name: "read", InvalidInput: `{"n":`}}},
		message.Message{Role: message.User, Blocks: []message.Block{{Type: message.ToolResult, CallID: "t1", Content: []message.Block{
			message.TextBlock("a picture"), {Type: message.Image, MediaType: "image/png", Data: []byte{1}},
			{Type: message.File, MediaType: "application/pdf", Name: "a.pdf", Data: []byte{2}}, {Type: message.File, MediaType: "text/plain", Data: []byte("three")},
		}}}})
	c := mustParse(t, responses)
	body, err := c.Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"store":false`, `"strict":false`, `"max_output_tokens":16`, `"parallel_tool_calls":false`, `"reasoning":{"effort":"high"}`, `"include":["reasoning.encrypted_content"]`,
		`"instructions":"Be brief."`, `{"type":"function_call","call_id":"t1","name":"read","arguments":"{\"n\":"}`,
		`{"type":"function_call_output","call_id":"t1","output":[{"type":"input_text","text":"a picture"},{"type":"input_image","image_url":"data:image/png;base64,AQ==","detail":"auto"},` +
			`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,Ag=="},{"type":"input_text","text":"three"}]}`,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s\nis not in %s", want, body)
		}
	}
	// What is reserved has the smallest maximum and the writes to the cache.
	r, err := c.WorstCase(req, nil)
	if err != nil || r.Output != 16 || r.Amount != r.Input*625+16*2000 {
		t.Errorf("%+v, %v", r, err)
	}
}

func FuzzResponsesStream(f *testing.F) {
	fuzzStream(f, responses, "think", responsesSample(), func(s string) bool {
		return strings.Contains(s, "response") // escapes may spell response.completed in another way
	})
}

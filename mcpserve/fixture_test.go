package mcpserve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fixtures is a server with the tools, prompts and resources that the
// conformance suite calls by name. It uses the transports of rye's own server, so
// that the results apply to them.
func fixtures() *mcp.Server {
	none := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	s := mcp.NewServer(&mcp.Implementation{Name: "fixtures", Version: "1.0.0"}, &mcp.ServerOptions{
		SubscribeHandler:   none,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		},
	})
	for _, set := range []map[string]mcp.ToolHandler{plainTools(), askingTools(), roundTools(), changingTools(s)} {
		for name, handler := range set {
			s.AddTool(&mcp.Tool{Name: name, Description: "A fixture", InputSchema: fixtureSchema(name)}, handler)
		}
	}
	fixtureResources(s)
	fixturePrompts(s)
	return s
}

func fixtureSchema(name string) json.RawMessage {
	switch name {
	case "json_schema_2020_12_tool":
		return json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,
			"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
			"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
				"phone":{"type":"string"},"email":{"type":"string"}},
			"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
			"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]}}`)
	case "test_x_mcp_header":
		return json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`)
	}
	return json.RawMessage(`{"type":"object"}`)
}

type (
	callReq = mcp.CallToolRequest
	callRes = mcp.CallToolResult
)

func says(blocks ...mcp.Content) (*callRes, error) { return &callRes{Content: blocks}, nil }

func text(format string, args ...any) *mcp.TextContent {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func picture() *mcp.ImageContent {
	return &mcp.ImageContent{Data: []byte("\x89PNG\r\n\x1a\n"), MIMEType: "image/png"}
}

func embedded(uri string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "An embedded text."}}
}

// fixed returns the handler of a tool with a constant result.
func fixed(blocks ...mcp.Content) mcp.ToolHandler {
	return func(context.Context, *callReq) (*callRes, error) { return says(blocks...) }
}

func plainTools() map[string]mcp.ToolHandler {
	return map[string]mcp.ToolHandler{
		"test_simple_text":            fixed(text("This is a simple text response for testing.")),
		"test_image_content":          fixed(picture()),
		"test_audio_content":          fixed(&mcp.AudioContent{Data: []byte("RIFF\x04\x00\x00\x00WAVE"), MIMEType: "audio/wav"}),
		"test_embedded_resource":      fixed(embedded("test://embedded-resource")),
		"test_multiple_content_types": fixed(text("Several kinds:"), picture(), embedded("test://mixed-content-resource")),
		"json_schema_2020_12_tool":    fixed(text("done")),
		"test_x_mcp_header":           fixed(text("done")),
		"test_streaming_elicitation":  fixed(text("done")),
		"test_error_handling": func(context.Context, *callReq) (*callRes, error) {
			res := &callRes{}
			res.SetError(errors.New("this tool always goes wrong"))
			return res, nil
		},
		"test_tool_with_logging": logs("started", "working", "finished"),
		"test_logging_tool":      logs("a word"),
		"test_tool_with_progress": func(ctx context.Context, req *callReq) (*callRes, error) {
			token := req.Params.GetProgressToken()
			for _, n := range []float64{0, 50, 100} {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Total: 100})
			}
			return says(text("%v", token))
		},
		"test_reconnection": func(_ context.Context, req *callReq) (*callRes, error) {
			req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
			return says(text("done"))
		},
		"test_missing_capability": func(_ context.Context, req *callReq) (*callRes, error) {
			if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
				return says(text("done"))
			}
			return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "sampling is needed",
				Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
		},
	}
}

func logs(words ...string) mcp.ToolHandler {
	return func(ctx context.Context, req *callReq) (*callRes, error) {
		for _, w := range words {
			_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: w})
			time.Sleep(10 * time.Millisecond)
		}
		return says(text("logged"))
	}
}

// askingTools send requests of their own to older clients.
func askingTools() map[string]mcp.ToolHandler {
	elicit := func(message, properties string) mcp.ToolHandler {
		return func(ctx context.Context, req *callReq) (*callRes, error) {
			res, err := req.Session.Elicit(ctx, elicitation(message, properties))
			if err != nil {
				return nil, err
			}
			return says(text("action=%s, content=%v", res.Action, res.Content))
		}
	}
	return map[string]mcp.ToolHandler{
		"test_elicitation": elicit("Who are you?", `"username":{"type":"string"}`),
		"test_elicitation_sep1034_defaults": elicit("Check these", `"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
			"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
			"verified":{"type":"boolean","default":true}`),
		"test_elicitation_sep1330_enums": elicit("Choose", `"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["One","Two","Three"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"},{"const":"value3","title":"Third"}]}}`),
		"test_sampling": func(ctx context.Context, req *callReq) (*callRes, error) {
			res, err := req.Session.CreateMessage(ctx, sampling("Say something"))
			if err != nil {
				return nil, err
			}
			said, _ := res.Content.(*mcp.TextContent)
			return says(text("the model answers: %s", said.Text))
		},
	}
}

func elicitation(message, properties string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)}
}

func sampling(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: text("%s", prompt)}}}
}

// roundTools ask newer clients by their result.
func roundTools() map[string]mcp.ToolHandler {
	name := elicitation("What is your name?", `"name":{"type":"string"}`)
	confirm := elicitation("Is that so?", `"ok":{"type":"boolean"}`)
	all := mcp.InputRequestMap{"user_name": name, "greeting": sampling("Greet"), "client_roots": &mcp.ListRootsParams{}}
	one := func(key string, r mcp.InputRequest) mcp.ToolHandler {
		return func(_ context.Context, req *callReq) (*callRes, error) {
			if got, ok := accepted(req.Params.InputResponses[key]); ok {
				return says(text("got %s", got))
			}
			return &callRes{InputRequests: mcp.InputRequestMap{key: r}}, nil
		}
	}
	return map[string]mcp.ToolHandler{
		"test_input_required_result_elicitation":    one("user_name", name),
		"test_input_required_result_sampling":       one("capital_question", sampling("What is the capital of France?")),
		"test_input_required_result_list_roots":     one("client_roots", &mcp.ListRootsParams{}),
		"test_input_required_result_request_state":  withState(confirm),
		"test_input_required_result_tampered_state": withState(confirm),
		"test_input_required_result_multiple_inputs": func(_ context.Context, req *callReq) (*callRes, error) {
			for key := range all {
				if _, ok := accepted(req.Params.InputResponses[key]); !ok {
					return &callRes{InputRequests: all, RequestState: sealed("all")}, nil
				}
			}
			return says(text("got all"))
		},
		"test_input_required_result_capabilities": func(_ context.Context, req *callReq) (*callRes, error) {
			if len(req.Params.InputResponses) > 0 {
				return says(text("got it"))
			}
			asks := mcp.InputRequestMap{}
			if c := req.ClientCapabilities(); c.Elicitation != nil {
				asks["user_name"] = name
			}
			if c := req.ClientCapabilities(); c.Sampling != nil {
				asks["greeting"] = sampling("Greet")
			}
			return &callRes{InputRequests: asks}, nil
		},
		"test_input_required_result_multi_round": rounds(name),
	}
}

// accepted returns what a client answered, if it did.
func accepted(r mcp.InputResponse) (string, bool) {
	switch r := r.(type) {
	case *mcp.ElicitResult:
		return fmt.Sprint(r.Content), r.Action == "accept" && len(r.Content) > 0
	case *mcp.CreateMessageWithToolsResult:
		return fmt.Sprint(r.Role), true
	case *mcp.ListRootsResult:
		return fmt.Sprint(len(r.Roots)), true
	}
	return "", false
}

func withState(confirm *mcp.ElicitParams) mcp.ToolHandler {
	return func(_ context.Context, req *callReq) (*callRes, error) {
		state := req.Params.RequestState
		if state != "" && state != sealed("waiting") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this state is not one of this server"}
		}
		if _, ok := accepted(req.Params.InputResponses["confirm"]); ok && state != "" {
			return says(text("state-ok"))
		}
		return &callRes{InputRequests: mcp.InputRequestMap{"confirm": confirm}, RequestState: sealed("waiting")}, nil
	}
}

func rounds(name *mcp.ElicitParams) mcp.ToolHandler {
	return func(_ context.Context, req *callReq) (*callRes, error) {
		switch req.Params.RequestState {
		case "":
			return &callRes{InputRequests: mcp.InputRequestMap{"step1": name}, RequestState: sealed("1")}, nil
		case sealed("1"):
			return &callRes{InputRequests: mcp.InputRequestMap{"step2": elicitation("Which colour?", `"color":{"type":"string"}`)}, RequestState: sealed("2")}, nil
		}
		return says(text("done"))
	}
}

// sealed is a state that only this server makes.
func sealed(state string) string {
	mac := hmac.New(sha256.New, []byte("a key of the fixtures"))
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

func changingTools(s *mcp.Server) map[string]mcp.ToolHandler {
	return map[string]mcp.ToolHandler{
		"test_trigger_tool_change": func(context.Context, *callReq) (*callRes, error) {
			s.AddTool(&mcp.Tool{Name: "passing", Description: "A fixture", InputSchema: fixtureSchema("passing")}, fixed(text("done")))
			return says(text("done"))
		},
		"test_trigger_prompt_change": func(context.Context, *callReq) (*callRes, error) {
			s.AddPrompt(&mcp.Prompt{Name: "passing", Description: "A fixture"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return prompted(text("")) })
			return says(text("done"))
		},
	}
}

func fixtureResources(s *mcp.Server) {
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		c := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "A text."}
		if id, ok := strings.CutPrefix(req.Params.URI, "test://template/"); ok {
			c.MIMEType, c.Text = "application/json", fmt.Sprintf(`{"id":%q}`, strings.TrimSuffix(id, "/data"))
		}
		if strings.Contains(req.Params.URI, "binary") {
			c = &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "image/png", Blob: picture().Data}
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
	}
	for _, name := range []string{"static-text", "static-binary", "watched-resource"} {
		s.AddResource(&mcp.Resource{URI: "test://" + name, Name: name, Description: "A fixture", MIMEType: "text/plain"}, read)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"}, read)
}

func fixturePrompts(s *mcp.Server) {
	args := func(names ...string) (out []*mcp.PromptArgument) {
		for _, n := range names {
			out = append(out, &mcp.PromptArgument{Name: n, Description: "A fixture", Required: true})
		}
		return out
	}
	for name, p := range map[string]struct {
		args []*mcp.PromptArgument
		says func(map[string]string) []mcp.Content
	}{
		"test_simple_prompt": {nil, func(map[string]string) []mcp.Content { return []mcp.Content{text("Hello.")} }},
		"test_prompt_with_arguments": {args("arg1", "arg2"), func(a map[string]string) []mcp.Content {
			return []mcp.Content{text("arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}
		}},
		"test_prompt_with_embedded_resource": {args("resourceUri"), func(a map[string]string) []mcp.Content {
			return []mcp.Content{embedded(a["resourceUri"]), text("Read it.")}
		}},
		"test_prompt_with_image": {nil, func(map[string]string) []mcp.Content { return []mcp.Content{picture(), text("Look.")} }},
	} {
		s.AddPrompt(&mcp.Prompt{Name: name, Description: "A fixture", Arguments: p.args}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return prompted(p.says(req.Params.Arguments)...)
		})
	}
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "A fixture"}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if got, ok := accepted(req.Params.InputResponses["user_context"]); ok {
			return prompted(text("%s", got))
		}
		return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": elicitation("What about?", `"context":{"type":"string"}`)}}, nil
	})
}

func prompted(blocks ...mcp.Content) (*mcp.GetPromptResult, error) {
	res := &mcp.GetPromptResult{Description: "A fixture"}
	for _, b := range blocks {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: b})
	}
	return res, nil
}

package models

import (
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/provider"
)

// TestServers adds a service as each server shows itself, without a dialect and without
// a model: the item has what the server states, and few questions were asked.
func TestServers(t *testing.T) {
	const chatAt = "POST /v1/chat/completions"
	for _, c := range []struct {
		name      string
		path      string // behind the host
		answers   map[string]string
		wish      Wish
		dialect   string
		model     string
		window    int64
		output    int64
		input     string // price
		software  string
		questions int // before the calls
		has       []string
	}{
		{
			name:    "vLLM",
			answers: map[string]string{"GET /v1/models": `{"object":"list","data":[{"id":"qwen","object":"model","owned_by":"vllm","max_model_len":40960}]}`, chatAt: chatOK(), chatAt + " tool": chatTool()},
			dialect: provider.Chat, model: "qwen", window: 40960, output: 8192, input: "0", software: "vLLM", questions: 1,
		},
		{
			name: "llama.cpp", path: "/v1/",
			answers: map[string]string{
				"GET /v1/models": `{"models":[{"name":"g.gguf"}],"object":"list","data":[{"id":"g.gguf","object":"model","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}`,
				"GET /props":     `{"default_generation_settings":{"n_ctx":16384},"modalities":{"vision":true}}`, chatAt: chatOK(), chatAt + " tool": chatTool(),
			},
			dialect: provider.Chat, model: "g.gguf", window: 16384, output: 8192, input: "0", software: "llama.cpp", questions: 2, has: []string{"input: [text, image]"},
		},
		{
			name: "LM Studio",
			answers: map[string]string{
				"GET /v1/models":     `{"object":"list","data":[{"id":"a","object":"model","owned_by":"organization_owner"},{"id":"e","object":"model","owned_by":"organization_owner"}]}`,
				"GET /api/v0/models": `{"object":"list","data":[{"id":"a","type":"llm","max_context_length":32768,"loaded_context_length":4096},{"id":"e","type":"embeddings"}]}`,
				chatAt:               chatOK(), chatAt + " tool": chatTool(),
			},
			dialect: provider.Chat, model: "a", window: 4096, output: 2048, input: "0", software: "LM Studio", questions: 2,
		},
		{
			name: "Ollama",
			answers: map[string]string{
				"GET /v1/models":      `{"object":"list","data":[{"id":"llama3.2:latest","object":"model","owned_by":"library"}]}`,
				"GET /api/tags":       `{"models":[{"name":"llama3.2:latest"}]}`,
				"POST /api/show":      `{"capabilities":["completion","tools"],"model_info":{"llama.context_length":131072}}`,
				"POST /api/chat":      `{"model":"m","message":{"role":"assistant","content":"ok"},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":1}` + "\n",
				"POST /api/chat tool": `{"model":"m","message":{"role":"assistant","tool_calls":[{"function":{"name":"report","arguments":{"word":"ok"}}}]},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":1}` + "\n",
			},
			dialect: provider.Ollama, model: "llama3.2:latest", window: 32768, output: 8192, input: "0", software: "Ollama", questions: 3, has: []string{"framing: jsonl", "/api/chat"},
		},
		{
			name: "OpenRouter", path: "/api",
			answers: map[string]string{
				"GET /api/v1/models":                 `{"data":[{"id":"x/y","context_length":400000,"architecture":{"input_modalities":["text","image"],"output_modalities":["text"]},"pricing":{"prompt":"0.00000025","completion":"0.000002","input_cache_read":"0.000000025"},"top_provider":{"context_length":200000,"max_completion_tokens":64000},"supported_parameters":["tools"]}]}`,
				"POST /api/v1/chat/completions":      chatOK(),
				"POST /api/v1/chat/completions tool": chatTool(),
			},
			dialect: provider.Chat, model: "x/y", window: 200000, output: 64000, input: "0.25", questions: 2,
			has: []string{`prices: {input: "0.25", cache_read: "0.025", output: "2"}`, "input: [text, image]", "prices_source"},
		},
		{
			name: "Anthropic",
			answers: map[string]string{
				"GET /v1/models":         `{"data":[{"type":"model","id":"claude-x","display_name":"X","max_input_tokens":180000}],"has_more":false}`,
				"POST /v1/messages":      anthropic(`{"type":"text","text":""}`, `{"type":"text_delta","text":"ok"}`, "end_turn"),
				"POST /v1/messages tool": anthropic(`{"type":"tool_use","id":"t1","name":"report","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"word\":\"ok\"}"}`, "tool_use"),
			},
			dialect: provider.Anthropic, model: "claude-x", window: 180000, output: 8192, input: "0", questions: 1, has: []string{"anthropic-version"},
		},
		{
			name: "Gemini",
			answers: map[string]string{
				"GET /v1beta/models":                               `{"models":[{"name":"models/g","inputTokenLimit":1000000,"outputTokenLimit":60000,"supportedGenerationMethods":["generateContent"]},{"name":"models/e","supportedGenerationMethods":["embedContent"]}]}`,
				"POST /v1beta/models/g:streamGenerateContent":      `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1}}` + "\n\n",
				"POST /v1beta/models/g:streamGenerateContent tool": `data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"report","args":{"word":"ok"}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1}}` + "\n\n",
			},
			dialect: provider.Gemini, model: "g", window: 1000000, output: 60000, input: "0", questions: 4, has: []string{"{model}"},
		},
		{
			name:    "Responses by its address",
			path:    "/v1/responses",
			wish:    Wish{Model: "m"},
			answers: map[string]string{"POST /v1/responses": responses(`{"type":"message","id":"i1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok"}]}`), "POST /v1/responses tool": responses(`{"type":"function_call","id":"i1","call_id":"c1","name":"report","arguments":"{\"word\":\"ok\"}","status":"completed"}`)},
			dialect: provider.Responses, model: "m", window: 32768, output: 8192, input: "0", questions: 1,
		},
		{
			name:    "no list, and no endpoint of Chat Completions",
			wish:    Wish{Model: "m"},
			answers: map[string]string{"POST /v1/messages": anthropic(`{"type":"text","text":""}`, `{"type":"text_delta","text":"ok"}`, "end_turn"), "POST /v1/messages tool": anthropic(`{"type":"tool_use","id":"t1","name":"report","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"word\":\"ok\"}"}`, "tool_use")},
			dialect: provider.Anthropic, model: "m", window: 32768, output: 8192, input: "0", questions: 4,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &service{answers: c.answers}
			w := c.wish
			w.ID = "mine/llm"
			w.URL = start(t, s) + c.path
			it, report, _, err := add(t, w, "")
			if err != nil {
				t.Fatal(err, s.seen)
			}
			questions := 0
			for _, at := range s.seen {
				if strings.HasPrefix(at, "GET ") || at == "POST /api/show" {
					questions++
				}
			}
			m := it.Model
			if it.Dialect != c.dialect || m.ID != c.model || m.Window != c.window || m.MaxOutput != c.output || m.Input != c.input || it.Software != c.software || questions != c.questions || !report.Called || len(report.Notes) > 0 {
				t.Errorf("%s %+v by %q after %d questions %v, report %+v", it.Dialect, m, it.Software, questions, s.seen, report)
			}
			for _, part := range c.has {
				if !strings.Contains(it.Text(), part) {
					t.Errorf("the item has no %q:\n%s", part, it.Text())
				}
			}
		})
	}
}

// anthropic is a stream of the Messages API with one block.
func anthropic(block, delta, stop string) string {
	return `event: message_start
data: {"type":"message_start","message":{"id":"1","model":"m","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":` + block + `}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":` + delta + `}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

`
}

// responses is a stream of the Responses API with one item.
func responses(item string) string {
	return `event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":` + item + `}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":` + item + `}

event: response.completed
data: {"type":"response.completed","response":{"id":"r1","model":"m","status":"completed","output":[` + item + `],"usage":{"input_tokens":9,"output_tokens":2}}}

`
}

// TestKeys sends the key in the header that the service wants, and nowhere else.
func TestKeys(t *testing.T) {
	list := map[string]string{
		"GET /v1/models":         `{"data":[{"type":"model","id":"claude-x"}]}`,
		"POST /v1/messages":      anthropic(`{"type":"text","text":""}`, `{"type":"text_delta","text":"ok"}`, "end_turn"),
		"POST /v1/messages tool": anthropic(`{"type":"tool_use","id":"t1","name":"report","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"word\":\"ok\"}"}`, "tool_use"),
	}
	s := &service{answers: list, key: "sk-0123456789", header: "X-Api-Key"}
	it, _, _, err := add(t, Wish{ID: "mine/llm", URL: start(t, s), Key: "ACME_KEY"}, "sk-0123456789")
	if err != nil || it.AsHeader != "x-api-key" || !strings.Contains(it.Text(), `auth: {type: api_key, header: x-api-key, key: "${ACME_KEY}"}`) || strings.Contains(it.Text(), "sk-0") {
		t.Errorf("%v %+v", err, it)
	}

	s = &service{answers: map[string]string{"GET /v1/models": `{"data":[]}`}, key: "Bearer sk-0123456789", header: "Authorization"}
	url := start(t, s)
	_, _, _, err = add(t, Wish{ID: "mine/llm", URL: url, Key: "ACME_KEY"}, "sk-wrong-456789")
	if diag.CodeOf(err) != diag.AuthFailed || reason(err) != "service_key_refused" || strings.Contains(err.Error(), "sk-wrong") {
		t.Errorf("a wrong key: %v", err)
	}
	_, _, _, err = add(t, Wish{ID: "mine/llm", URL: url}, "")
	if diag.CodeOf(err) != diag.AuthRequired || reason(err) != "service_key_missing" {
		t.Errorf("no key: %v", err)
	}
}

// TestChoices takes the only model, and names several.
func TestChoices(t *testing.T) {
	list := `{"object":"list","data":[{"id":"b"},{"id":"a"},{"id":"a"},{"id":"text-embed-1"},{"id":"bad\u0001"},7,{"id":9}]}`
	s := &service{answers: map[string]string{"GET /v1/models": list, "POST /v1/chat/completions": chatOK()}}
	w := Wish{ID: "mine/llm", URL: start(t, s)}
	_, _, _, err := add(t, w, "")
	if diag.CodeOf(err) != diag.Usage || !strings.Contains(err.Error(), "choose a model with --model; it has b, a") || strings.Contains(err.Error(), "embed") {
		t.Errorf("several models: %v", err)
	}
	var offered []string
	p := Params{Rules: shippedRules(t), Choose: func(names []string) (string, error) { offered = names; return "a", nil }}
	it, _, _, err := Plan(t.Context(), w, p)
	if err != nil || it.Model.ID != "a" || !slices.Equal(offered, []string{"b", "a"}) {
		t.Errorf("chosen %v of %v: %v", it, offered, err)
	}
	s.answers["GET /v1/models"] = `{"object":"list","data":[]}`
	_, _, _, err = add(t, w, "")
	if diag.CodeOf(err) != diag.Usage || !strings.Contains(err.Error(), "lists no models") {
		t.Errorf("no models: %v", err)
	}
}

// TestWishes refuses what no item can be written for, before anything is asked.
func TestWishes(t *testing.T) {
	for name, w := range map[string]Wish{
		"no id":          {ID: "", URL: "http://127.0.0.1:1"},
		"an odd id":      {ID: "a b", URL: "http://127.0.0.1:1"},
		"another kind":   {ID: "directive:a/b", URL: "http://127.0.0.1:1"},
		"no URL":         {ID: "a/b"},
		"mapped":         {ID: "a/b", URL: "http://127.0.0.1:1", Dialect: provider.Mapped},
		"no dialect":     {ID: "a/b", URL: "http://127.0.0.1:1", Dialect: "openai"},
		"a program":      {ID: "a/b", URL: "http://127.0.0.1:1", Dialect: provider.ClaudeCLI},
		"an odd key":     {ID: "a/b", URL: "http://127.0.0.1:1", Key: "MY KEY"},
		"a line break":   {ID: "a/b", URL: "http://127.0.0.1:1", Model: "a\nb"},
		"half of prices": {ID: "a/b", URL: "http://127.0.0.1:1", InputPrice: "1"},
	} {
		_, _, _, err := Plan(t.Context(), w, Params{Rules: shippedRules(t), NoTest: true})
		if diag.CodeOf(err) != diag.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOddNames writes valid items for names that are special in YAML.
func TestOddNames(t *testing.T) {
	for _, model := range []string{"yes", "null", "1e5", "0x10", `a: "b"`, "{x}", "- y", "#z", "日本語", "a'b", "[c", "&d", "*e", "!f", "%g", "@h", "`i", strings.Repeat("m", 500), "${HOME}", "{model}", "a\\b", "\u2028"} {
		it, _, _, err := Plan(t.Context(), Wish{ID: "null/true", URL: "http://127.0.0.1:1", Model: model, Dialect: provider.Chat}, Params{Rules: shippedRules(t), NoTest: true})
		if err != nil {
			t.Errorf("%q: %v", model, err)
			continue
		}
		for _, tools := range []string{toolsNative, toolsSchema, toolsText} {
			it.Tools = tools
			it.Drop = []string{"a: b", "yes"}
			if c := parsed(t, it); c.Models[model] == nil || c.Tiers["general"] != model {
				t.Errorf("%q is not a model of\n%s", model, it.Text())
			}
		}
	}
}

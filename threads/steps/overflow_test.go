package steps

import (
	"fmt"
	"testing"
)

// tooLong is one recorded form of "the request is too long". source states where the text is
// from: docs (of the service), code (of the server), report (in a public issue or a test of
// another client that quotes what it received).
type tooLong struct {
	service, source string
	status          int
	typ, code       string
	message         string
	window          int64 // that it states
}

func tooLongForms() []tooLong {
	return []tooLong{
		{"Anthropic", "report", 400, "invalid_request_error", "", "prompt is too long: 213462 tokens > 200000 maximum", 200_000},
		{"Anthropic, with the answer", "report", 400, "invalid_request_error", "", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again", 200_000},
		{"Anthropic, bytes", "docs", 413, "request_too_large", "", "Request exceeds the maximum size", 0},
		{"Anthropic, context", "report", 400, "invalid_request_error", "", "Request size exceeds model context window", 0},
		{"OpenAI, chat", "report", 400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.", 128_000},
		{"OpenAI, chat with the answer", "report", 400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 4097 tokens. However, you requested 4119 tokens (2119 in the messages, 2000 in the completion). Please reduce the length of the messages or completion.", 4097},
		{"OpenAI, newer", "report", 400, "invalid_request_error", "context_length_exceeded", "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 312677 tokens. Please reduce the length of the messages.", 272_000},
		{"OpenAI, responses", "report", 400, "invalid_request_error", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.", 0},
		{"OpenAI, responses in a stream", "report", 0, "", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.", 0},
		{"OpenAI, one text", "report", 400, "invalid_request_error", "string_above_max_length", "Invalid 'messages[3].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.", 0},
		{"OpenAI, a minute", "report", 429, "tokens", "rate_limit_exceeded", "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.", 30_000},
		{"Azure", "report", 400, "", "context_length_exceeded", "This model's maximum context length is 16385 tokens. However, you requested 17100 tokens (13004 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.", 16_385},
		{"vLLM", "report", 400, "BadRequestError", "400", "This model's maximum context length is 32768 tokens. However, you requested 36864 tokens (32768 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.", 32_768},
		{"vLLM, newer", "report", 400, "BadRequestError", "400", "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=262145)", 262_144},
		{"vLLM, prompt", "report", 400, "BadRequestError", "400", "The decoder prompt (length 40321) is longer than the maximum model length of 32768.", 32_768},
		{"SGLang", "report", 400, "BadRequestError", "400", "The input (691,793 tokens) is longer than the model's context length (540000 tokens).", 540_000},
		{"llama.cpp", "code", 400, "exceed_context_size_error", "400", "request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it", 65_536},
		{"llama.cpp, older", "code", 400, "exceed_context_size_error", "400", "the request exceeds the available context size. try increasing the context size or enable context shift", 0},
		{"llama.cpp, as a server error", "code", 500, "exceed_context_size_error", "500", "the request exceeds the available context size. try increasing the context size or enable context shift", 0},
		{"llama-cpp-python", "report", 400, "", "", "Requested tokens (2138) exceed context window of 2048", 2048},
		{"Ollama", "report", 400, "", "", "prompt too long; exceeded max context length by 4096 tokens", 0},
		{"Ollama, newer", "report", 400, "", "", `{"error":{"code":400,"message":"request (5024 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5024,"n_ctx":4096}}`, 4096},
		{"LM Studio", "report", 400, "", "", "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.", 7866},
		{"LM Studio, newer", "report", 400, "", "", "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 10136>= n_ctx: 8192). Try to load the model with a larger context length, or provide a shorter input.", 8192},
		{"Bedrock", "docs", 400, "ValidationException", "", "Input is too long for requested model.", 0},
		{"Bedrock, of the model", "report", 400, "ValidationException", "", "The model returned the following errors: prompt is too long: 903884 tokens > 200000 maximum", 200_000},
		{"Bedrock, other models", "report", 400, "ValidationException", "", "This model's maximum context length is 202752 tokens. However, you requested 65536 output tokens and your prompt contains at least 137217 input tokens, for a total of at least 202753 tokens.", 202_752},
		{"Bedrock, bytes", "report", 400, "ValidationException", "", "too many total text bytes: 12000000 > 9000000", 0},
		{"Gemini", "report", 400, "INVALID_ARGUMENT", "400", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 1_048_575},
		{"xAI", "report", 400, "", "", "This model's maximum prompt length is 131072 but the request contains 136973 tokens.", 131_072},
		{"Qwen", "docs", 400, "invalid_request_error", "invalid_parameter_error", "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]", 983_616},
		{"Kimi", "report", 400, "invalid_request_error", "", "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)", 262_144},
		{"Kimi, bytes", "report", 400, "invalid_request_error", "", "total message size 2306631 exceeds limit 2097152", 0},
		{"z.ai", "report", 400, "", "1261", "Prompt exceeds max length", 0},
		{"z.ai, as the end of an answer", "report", 0, "", "model_context_window_exceeded", "the service ended the answer with model_context_window_exceeded", 0},
		{"OpenRouter", "report", 400, "", "400", "This endpoint's maximum context length is 131072 tokens. However, you requested about 140210 tokens (132018 of text input, 8192 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.", 131_072},
		{"OpenRouter, Poolside", "report", 400, "", "400", "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", 131_040},
		{"Copilot", "report", 400, "", "model_max_prompt_tokens_exceeded", "prompt token count of 391491 exceeds the limit of 128000", 128_000},
		{"Mistral", "report", 400, "invalid_request_error", "3051", "Prompt contains 300000 tokens and 0 images, too large for model with 262144 maximum context length", 262_144},
		{"Groq", "report", 400, "invalid_request_error", "context_length_exceeded", "Please reduce the length of the messages or completion.", 0},
		{"Groq, a minute", "report", 413, "tokens", "rate_limit_exceeded", "Request too large for model `llama-3.3-70b-versatile` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing", 12_000},
		{"DeepSeek", "report", 400, "invalid_request_error", "invalid_request_error", "This model's maximum context length is 65536 tokens. However, you requested 70110 tokens (66014 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.", 65_536},
		{"Together", "report", 400, "invalid_request_error", "", "The input (516368 tokens) is longer than the model's context length (262144 tokens).", 262_144},
		{"MiniMax", "report", 400, "bad_request_error", "2013", "invalid params, context window exceeds limit (2013)", 0},
		{"LiteLLM", "report", 400, "", "", "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 140000 tokens", 131_072},
		{"a proxy", "report", 400, "", "", "Input length (265330) exceeds model's maximum context length (262144).", 262_144},
		{"Volcano", "report", 400, "BadRequest", "InvalidParameter", "Input length 203743 exceeds the maximum length 202752", 202_752},
		{"a local server", "report", 400, "", "", "Prompt has 300,000 tokens, but the configured context size is 131,072 tokens", 131_072},
		{"another local server", "report", 400, "", "", "Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)", 2048},
		{"MLX", "report", 400, "", "", "Prompt exceeds maximum context length", 0},
		{"TGI", "report", 422, "validation", "", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`", 4096},
	}
}

// Each form is known, and the window that it states is found.
func TestTooLongForms(t *testing.T) {
	s := services(t, nil)
	for _, f := range tooLongForms() {
		status := ""
		if f.status > 0 {
			status = fmt.Sprintf(`"status_code":%d,`, f.status)
		}
		d := classify(t, s, fmt.Sprintf(`{%s"error":{"type":%q,"code":%q,"message":%q},"headers":{}}`, status, f.typ, f.code, f.message), 1)
		if d["id"] != "context_length" || d["code"] != "CONTEXT_FULL" || d["overflow"] != "stated" || d["window"] != f.window {
			t.Errorf("%s: %v, overflow %v, window %v, want %d", f.service, d["id"], d["overflow"], d["window"], f.window)
		}
	}
}

// Errors with similar words that a shorter conversation does not help against.
func TestNotTooLong(t *testing.T) {
	s := services(t, nil)
	for _, e := range []struct {
		status        int
		code, message string
	}{
		{429, "ThrottlingException", "Too many tokens, please wait before trying again."},
		{429, "rate_limit_exceeded", "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s."},
		{400, "", "max_tokens is too large: 40000. This model supports at most 16384 completion tokens, whereas you provided 40000."},
		{400, "", "max_output_tokens (200000) exceeds model maximum output tokens (128000)"},
		{400, "", "Range of max_tokens should be [1, 8192]"},
		{400, "", "messages.2: roles must alternate"},
		{503, "", "The service has reached its maximum context length queue"},
	} {
		d := classify(t, s, fmt.Sprintf(`{"status_code":%d,"error":{"code":%q,"message":%q},"headers":{}}`, e.status, e.code, e.message), 1)
		if d["category"] == "context_full" || d["overflow"] != "" {
			t.Errorf("%s: %v %v", e.message, d["id"], d["overflow"])
		}
	}
}

// An unknown refusal of a long request is taken once for one of the length, and the window is
// then that of the refused request.
func TestPerhapsTooLong(t *testing.T) {
	const unknown = `{"error":{"status_code":%d,"error":{"message":"bad input"}},"attempt":1}`
	answered := `model_response {"turn":1,"blocks":[],"stop":"end"}`
	tried := `model_error {"turn":2,"attempt":1,"message":"bad input","overflow":"possible","window":9000}`
	for _, c := range []struct {
		name          string
		status        int
		tokens        int64
		before        []string
		overflow      string
		learned, real int64
	}{
		{"long", 400, 9000, []string{answered}, "possible", 9000, 40_000},
		{"413", 413, 9000, []string{answered}, "possible", 9000, 0},
		{"422", 422, 9000, []string{tried, answered}, "possible", 9000, 40_000},
		{"again", 400, 5000, []string{answered, tried}, "", 0, 40_000},
		{"short", 400, 1000, []string{answered}, "", 0, 40_000},
		{"another status", 418, 9000, []string{answered}, "", 0, 40_000},
		{"a smaller window", 400, 9000, []string{answered}, "possible", 0, 8000},
	} {
		in := Input{Turn: 2, Params: parse(t, fmt.Sprintf(unknown, c.status)), Services: services(t, nil), Conversation: lines(t, c.before...)}
		in.Usage.ContextTokens, in.Usage.Window = c.tokens, c.real
		out, err := classifier(t.Context(), in)
		if err != nil || out.Data["overflow"] != c.overflow || out.Data["window"] != c.learned {
			t.Errorf("%s: %v %v, %v", c.name, out.Data["overflow"], out.Data["window"], err)
		}
	}
}

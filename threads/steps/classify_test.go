package steps

import (
	"fmt"
	"strings"
	"testing"
)

// wire is an error as one of the two dialects sends it, and the pattern it has.
type wire struct {
	id, name string
	err      string // the context of error_classification
}

// wireErrors returns the errors of both dialects for each row of the table.
func wireErrors() []wire {
	e := func(status int, typ, code, message string) string {
		return fmt.Sprintf(`{"status_code":%d,"error":{"type":%q,"code":%q,"message":%q},"headers":{}}`, status, typ, code, message)
	}
	local := func(code, reason, message string) string {
		return fmt.Sprintf(`{"error":{"code":%q,"reason":%q,"message":%q}}`, code, reason, message)
	}
	return []wire{
		{"cancelled", "interrupt", local("CANCELLED", "", "cancelled")},
		{"context_length", "anthropic", e(400, "invalid_request_error", "", "prompt is too long: 213462 tokens > 200000 maximum")},
		{"context_length", "anthropic 413", e(413, "request_too_large", "", "Request exceeds the maximum size")},
		{"context_length", "openai", e(400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens.")},
		{"context_length", "llama.cpp", e(400, "exceed_context_size_error", "400", "the request exceeds the available context size")},
		{"context_length", "openai shaped, no type", e(400, "", "", "Too many input tokens: 9000")},
		{"quota_exhausted", "anthropic", e(403, "permission_error", "", "Your credit balance is too low to access the API.")},
		{"quota_exhausted", "openai", e(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan.")},
		{"quota_exhausted", "openrouter", e(402, "", "402", "Insufficient credits")},
		{"auth_failure", "anthropic", e(401, "authentication_error", "", "invalid x-api-key")},
		{"auth_failure", "openai", e(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided")},
		{"auth_failure", "no key here", local("AUTH_REQUIRED", "", "ANTHROPIC_API_KEY is not set")},
		{"refusal", "anthropic", local("", "refusal", "the model refused")},
		{"refusal", "openai", e(400, "invalid_request_error", "content_policy_violation", "Your request was rejected")},
		{"refusal", "openai filter", e(400, "content_filter", "", "filtered")},
		{"tool_schema", "anthropic", e(400, "invalid_request_error", "", "tools.1.custom.input_schema: JSON schema is invalid")},
		{"tool_schema", "openai", e(400, "invalid_request_error", "invalid_function_parameters", "Invalid schema for function 'rye_load': None is not of type 'object'")},
		{"tool_schema", "openai index", e(400, "invalid_request_error", "invalid_value", "Invalid 'tools[1].function.name': string does not match pattern")},
		{"model_not_found", "anthropic", e(404, "not_found_error", "", "model: claude-nothing")},
		{"model_not_found", "openai", e(404, "invalid_request_error", "model_not_found", "The model `gpt-nothing` does not exist")},
		{"model_not_found", "openai shaped, 400", e(400, "", "", "unknown model 'x'")},
		{"http_429", "anthropic", e(429, "rate_limit_error", "", "This request would exceed your organization's limit")},
		{"http_429", "openai", e(429, "requests", "rate_limit_exceeded", "Rate limit reached for requests")},
		{"http_429", "anthropic in a stream", e(200, "rate_limit_error", "", "slow down")},
		{"http_429", "upper case", e(200, "", "", "RATE LIMIT hit")},
		{"overloaded", "anthropic", e(529, "overloaded_error", "", "Overloaded")},
		{"overloaded", "anthropic in a stream", e(200, "overloaded_error", "", "Overloaded")},
		{"overloaded", "openai", e(503, "server_error", "", "The engine is currently overloaded, please try again later")},
		{"http_5xx", "anthropic", e(500, "api_error", "", "Internal server error")},
		{"http_5xx", "anthropic in a stream", e(200, "api_error", "", "Internal server error")},
		{"http_5xx", "openai", e(500, "server_error", "", "The server had an error")},
		{"http_5xx", "proxy", e(502, "", "", "Bad Gateway")},
		{"http_5xx", "503 without a reason", e(503, "", "", "try later")},
		{"http_5xx", "408", e(408, "", "", "request not received")},
		{"stream_incomplete", "either", local("PROVIDER_ERROR", "stream_incomplete", "the stream ended before its end event")},
		{"malformed", "either", local("PARSING_ERROR", "", "the chunk is not JSON")},
		{"network_timeout", "either", local("TIMEOUT", "", "no event for 120 s")},
		{"network_timeout", "message", local("", "", "read: connection timed out")},
		{"local_server", "either", local("NETWORK", "local_server", "connect: connection refused")},
		{"network_connection", "either", local("NETWORK", "", "connection reset by peer")},
		{"network_connection", "message", local("", "", "unexpected EOF")},
		{"validation_error", "anthropic", e(400, "invalid_request_error", "", "messages.2: roles must alternate")},
		{"validation_error", "openai", e(422, "invalid_request_error", "", "temperature: must be at most 2")},
		{"default", "either", e(418, "", "", "I am a teapot")},
	}
}

// Each row of the table, with the decision after the first attempt. The source of
// jitter returns 0.5, so nothing is added.
func TestClassifier(t *testing.T) {
	want := map[string]string{ // category, code, action, delay in ms
		"cancelled":          "cancelled CANCELLED abort 0",
		"context_length":     "context_full CONTEXT_FULL fail 0",
		"quota_exhausted":    "quota PROVIDER_ERROR fallback 0",
		"auth_failure":       "auth AUTH_FAILED fail 0",
		"refusal":            "refused MODEL_REFUSED fail 0",
		"tool_schema":        "invalid PROVIDER_ERROR fail 0",
		"model_not_found":    "model_not_found PROVIDER_ERROR fallback 0",
		"http_429":           "rate_limited PROVIDER_ERROR retry 2000",
		"overloaded":         "overloaded PROVIDER_ERROR retry 5000",
		"http_5xx":           "server_error PROVIDER_ERROR retry 2000",
		"stream_incomplete":  "network PROVIDER_ERROR retry 2000",
		"malformed":          "network PROVIDER_ERROR retry 1000",
		"network_timeout":    "network TIMEOUT retry 2000",
		"local_server":       "network NETWORK fallback 0",
		"network_connection": "network NETWORK retry 2000",
		"validation_error":   "invalid PROVIDER_ERROR fail 0",
		"default":            "permanent PROVIDER_ERROR fail 0",
	}
	s := services(t, nil)
	seen := map[string]bool{}
	for _, w := range wireErrors() {
		seen[w.id] = true
		d := classify(t, s, w.err, 1)
		if got := fmt.Sprintf("%v %v %v %v", d["category"], d["code"], d["action"], d["delay_ms"]); d["id"] != w.id || got != want[w.id] {
			t.Errorf("%s, %s: %v: %s, want %s", w.id, w.name, d["id"], got, want[w.id])
		}
		// After the last attempt nothing is repeated.
		if d := classify(t, s, w.err, 4); d["action"] == "retry" {
			t.Errorf("%s, %s: a retry after the last attempt", w.id, w.name)
		}
	}
	for id := range want {
		if !seen[id] {
			t.Errorf("no wire error of %s", id)
		}
	}
}

func classify(t *testing.T, s Services, err string, attempt int) map[string]any {
	t.Helper()
	return classifyWith(t, s, err, attempt, `"fallbacks":["openai:gpt-x"]`)
}

func classifyWith(t *testing.T, s Services, err string, attempt int, more string) map[string]any {
	t.Helper()
	p := parse(t, fmt.Sprintf(`{"error":%s,"attempt":%d,%s,"tools":["rye_execute","rye_load"],"cost":"0.00"}`, err, attempt, more))
	twin := parse(t, fmt.Sprintf(`{"error":%s,"attempt":%d,%s,"tools":["rye_execute","rye_load"],"cost":"0.00"}`, err, attempt, more))
	out, e := classifier(t.Context(), Input{Turn: 2, Params: p, Services: s})
	if e != nil {
		t.Fatal(e)
	}
	sameAsTwin(t, "classifier", Input{Turn: 2, Params: twin, Services: s}, nil, out, nil)
	// A conversation that is too long has an event of its own.
	want := 1
	if out.Data["category"] == "context_full" {
		want = 2
	}
	if len(out.Events) != want || want == 2 && out.Events[1].Event != "context_limit" || out.Events[0].Event != "model_error" || out.Events[0].Data["id"] != out.Data["id"] {
		t.Fatalf("events %v", out.Events)
	}
	return out.Data
}

func TestClassifierNamesTheTool(t *testing.T) {
	for _, w := range wireErrors() {
		if w.id == "tool_schema" && (strings.Contains(w.err, "tools.1") || strings.Contains(w.err, "tools[1]")) {
			if d := classify(t, services(t, nil), w.err, 1); d["tool"] != "rye_load" {
				t.Errorf("%s: tool is %v", w.name, d["tool"])
			}
		}
	}
}

func TestPolicies(t *testing.T) {
	const e429 = `{"status_code":429,"error":{},"headers":{"retry-after":%q}%s}`
	for _, c := range []struct {
		name, override, err string
		attempt             int
		rand                float64
		want                string // action, delay in ms
	}{
		{"doubles", "", `{"status_code":500,"error":{}}`, 3, 0.5, "retry 8000"},
		{"jitter below", "", `{"status_code":500,"error":{}}`, 3, 0, "retry 6400"},
		{"jitter above", "", `{"status_code":500,"error":{}}`, 3, 0.999, "retry 9596"},
		{"maximum", `patterns: [{id: http_5xx, policy: {max: 3}}]`, `{"status_code":500,"error":{}}`, 3, 0.5, "retry 3000"},
		{"header in seconds", "", fmt.Sprintf(e429, "7", ""), 1, 0.5, "retry 7000"},
		{"header as a date", "", fmt.Sprintf(e429, "Sun, 22 Nov 2026 10:30:12 GMT", ""), 1, 0.5, "retry 12000"},
		{"a date in the past", "", fmt.Sprintf(e429, "Sun, 22 Nov 2026 10:29:12 GMT", ""), 1, 0.5, "retry 0"},
		{"the body wins", "", fmt.Sprintf(e429, "7", `,"retry_after_ms":1500`), 1, 0.5, "retry 1500"},
		{"another text in the header", "", fmt.Sprintf(e429, "soon", ""), 2, 0.5, "retry 4000"},
		{"minutes", "", fmt.Sprintf(e429, "301", ""), 1, 0.5, "retry 301000"},
		{"a server error with a wait", "", `{"status_code":503,"error":{},"headers":{"retry-after":"20"}}`, 1, 0.5, "retry 20000"},
		{"too long", "", fmt.Sprintf(e429, "901", ""), 1, 0.5, "fallback 0"},
		{"fixed, once", "", `{"error":{"code":"PARSING_ERROR"}}`, 2, 0.5, "fallback 0"},
		{"a project's policy", `patterns: [{id: http_429, policy: {type: fixed, delay: 0.25, attempts: 3}}]`, fmt.Sprintf(e429, "7", ""), 3, 0.5, "retry 250"},
		{"a project's pattern", `patterns: [{id: teapot, priority: 1, match: "status_code == 418", category: server_error, code: PROVIDER_ERROR, policy: {type: fixed, delay: 1}}]`, `{"status_code":418,"error":{}}`, 1, 0.5, "retry 1000"},
		{"after the builtin ones", `patterns: [{id: teapot, match: "status_code == 500", category: invalid, code: PROVIDER_ERROR}]`, `{"status_code":500,"error":{}}`, 1, 0.5, "retry 2000"},
		{"before default", `patterns: [{id: teapot, match: "status_code == 418", category: server_error, code: PROVIDER_ERROR, policy: {type: fixed, delay: 1}}]`, `{"status_code":418,"error":{}}`, 1, 0.5, "retry 1000"},
		{"no fallback", `fallback_after: []`, `{"status_code":402,"error":{}}`, 1, 0.5, "fail 0"},
	} {
		more := map[string]string{}
		if c.override != "" {
			more[ClassesConfig] = c.override
		}
		s := services(t, more)
		s.Rand = func() float64 { return c.rand }
		d := classify(t, s, c.err, c.attempt)
		if got := fmt.Sprintf("%v %v", d["action"], d["delay_ms"]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	s := services(t, map[string]string{ResilienceConfig: "retry: {suspend_above_seconds: 60, max_attempts: 2}"})
	if d := classify(t, s, fmt.Sprintf(e429, "900", ""), 1); d["action"] != "fallback" {
		t.Errorf("a long wait with another model: %v", d)
	}
	if d := classifyWith(t, s, fmt.Sprintf(e429, "900", ""), 1, `"fallbacks":[]`); d["action"] != "suspend" || d["delay_ms"] != int64(900_000) {
		t.Errorf("a long wait: %v", d)
	}
	if d := classifyWith(t, s, fmt.Sprintf(e429, "900", ""), 1, `"fallbacks":[],"suspends":false`); d["action"] != "fail" || !strings.Contains(d["notice"].(string), "in 15m0s, on 2026-11-22 at 10:45:00 UTC") {
		t.Errorf("a long wait that cannot suspend: %v", d)
	}
	if d := classify(t, s, fmt.Sprintf(e429, "1", ""), 2); d["action"] != "fallback" {
		t.Errorf("max_attempts of a project: %v", d)
	}
}

func TestBadClasses(t *testing.T) {
	for layer, want := range map[string]string{
		`patterns: [{id: x, category: a, code: NOPE}]`:                                 `].code is "NOPE", which is not an error code of rye`,
		`patterns: [{id: x, category: a, code: NETWORK, match: {path: a, op: like}}]`:  `unknown operator "like"`,
		`patterns: [{id: x, category: a, code: NETWORK, names_tool: "("}]`:             `names_tool must be a regular expression with one group`,
		`patterns: [{id: x, category: a, code: NETWORK, polcy: {type: none}}]`:         `polcy`,
		`patterns: [{id: x, category: a, code: NETWORK, policy: {type: exponantial}}]`: `exponantial`,
	} {
		_, err := classifier(t.Context(), Input{Params: parse(t, `{"error":{}}`), Services: services(t, map[string]string{ClassesConfig: layer})})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", layer, err, want)
		}
	}
}

package steps

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestRateLimits: one recorded form of a refusal for each service, as its body and headers
// were, with what rye does: it waits for the stated time, waits for a time of its own, or takes
// the quota for used up.
func TestRateLimits(t *testing.T) {
	const gemini = `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 10\nPlease retry in 34.074824224s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPer%sPerProjectPerModel-FreeTier","quotaValue":"10"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`
	type headers = map[string]string
	for _, c := range []struct {
		service string
		status  int
		code    string
		headers headers
		body    string
		id      string
		want    time.Duration // 0: no wait is stated
	}{
		{"openai", 429, "rate_limit_exceeded", headers{"x-ratelimit-remaining-tokens": "120", "x-ratelimit-reset-tokens": "900ms"}, `Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2300. Please try again in 1m2.5s. Visit https://platform.openai.com/account/rate-limits to learn more.`, "http_429", 62500 * time.Millisecond},
		{"openai requests", 429, "rate_limit_exceeded", nil, `Rate limit reached for gpt-5 in organization org-1 on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.`, "http_429", 432 * time.Second},
		{"openai milliseconds", 429, "rate_limit_exceeded", headers{"retry-after-ms": "540"}, `Rate limit reached`, "http_429", 540 * time.Millisecond},
		{"openai headers", 429, "", headers{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-tokens": "900", "x-ratelimit-reset-tokens": "1s"}, `Too many requests`, "http_429", 6 * time.Minute},
		{"openai quota", 429, "insufficient_quota", nil, `You exceeded your current quota, please check your plan and billing details.`, "quota_exhausted", 0},
		{"anthropic", 429, "", headers{"retry-after": "38", "anthropic-ratelimit-input-tokens-remaining": "0"}, `This request would exceed your organization's rate limit of 40,000 input tokens per minute`, "http_429", 38 * time.Second},
		{"anthropic date", 429, "", headers{"anthropic-ratelimit-input-tokens-remaining": "0", "anthropic-ratelimit-input-tokens-reset": "2026-11-22T10:31:00Z"}, `This request would exceed your organization's rate limit`, "http_429", time.Minute},
		{"gemini minute", 429, "429", nil, fmt.Sprintf(gemini, "Minute"), "http_429", 34 * time.Second},
		{"gemini day", 429, "429", nil, fmt.Sprintf(gemini, "Day"), "quota_exhausted", 0},
		{"vertex", 429, "429", nil, `{"error":{"code":429,"message":"Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.","status":"RESOURCE_EXHAUSTED"}}`, "http_429", 0},
		{"azure", 429, "429", headers{"retry-after": "27"}, `Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-02-01 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 27 seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.`, "http_429", 27 * time.Second},
		{"azure text", 429, "429", nil, `Rate limit is exceeded. Try again in 50 seconds.`, "http_429", 50 * time.Second},
		{"azure headers", 429, "429", headers{"x-rate-limit-reset-tokens": "55"}, `Too many requests`, "http_429", 55 * time.Second},
		{"groq", 429, "rate_limit_exceeded", nil, "Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens per day (TPD): Limit 100000, Used 99800, Requested 2000. Please try again in 6m12.3s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing", "http_429", 372300 * time.Millisecond},
		{"groq headers", 429, "", headers{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66s", "x-ratelimit-remaining-requests": "14000", "x-ratelimit-reset-requests": "2m59.56s"}, `Rate limit reached`, "http_429", 7660 * time.Millisecond},
		{"openrouter", 429, "429", nil, `{"error":{"message":"Rate limit exceeded: free-models-per-min. ","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"20","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1795343460000"},"provider_name":null}}}`, "http_429", time.Minute},
		{"openrouter upstream", 429, "429", nil, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"google/gemini is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits","provider_name":"Google AI Studio"}}}`, "http_429", 0},
		{"openrouter credits", 402, "402", nil, `Insufficient credits`, "quota_exhausted", 0},
		{"copilot", 429, "rate_limited", headers{"retry-after": "600"}, `Sorry, you have exceeded your Copilot token usage. Please review our Terms of Service.`, "http_429", 10 * time.Minute},
		{"copilot hours", 429, "rate_limited", nil, `Sorry, you've hit a rate limit that restricts the number of Copilot model requests you can make within a specific time period. Please try again in 58 hours. Please review our Terms of Service`, "http_429", 58 * time.Hour},
		{"copilot wait", 429, "rate_limited", nil, `Sorry, your request was rate-limited. Please wait 541 hours 28 minutes before trying again.`, "http_429", 541*time.Hour + 28*time.Minute},
		{"z.ai concurrency", 429, "1302", nil, `High concurrency usage of this API, please reduce concurrency or contact customer service to increase limits`, "http_429", 0},
		{"z.ai five hours", 429, "1308", nil, `Usage limit reached for 5 hour. Your limit will reset at 2026-11-22 19:01:25`, "http_429", 31*time.Minute + 25*time.Second},
		{"z.ai five hours, Chinese", 429, "1308", nil, `已达到 5 小时的使用上限。您的限额将在 2026-11-22 19:01:25 重置。`, "http_429", 31*time.Minute + 25*time.Second},
		{"z.ai day", 429, "1304", nil, `Daily call limit for this API reached, for more requests, please contact customer service`, "quota_exhausted", 0},
		{"z.ai balance", 429, "1113", nil, `Insufficient balance or no resource package. Please recharge.`, "quota_exhausted", 0},
		{"kimi", 429, "", nil, `Your account org-1<ak-1> request reached organization max RPM: 3, please try again after 1 seconds`, "http_429", time.Second},
		{"kimi quota", 403, "exceeded_current_quota_error", nil, `Your account is not active, organization exceeded current quota, please check your plan and billing details`, "quota_exhausted", 0},
		{"qwen", 429, "limit_requests", nil, `You exceeded your current requests list.`, "http_429", 0},
		{"qwen tokens", 429, "insufficient_quota", nil, `Allocated quota exceeded, please increase your quota limit.`, "http_429", 0},
		{"mistral", 429, "1300", headers{"ratelimitbysize-reset": "35"}, `Requests rate limit exceeded`, "http_429", 35 * time.Second},
		{"xai", 429, "", nil, `Your team has either used all available credits or reached its monthly spending limit.`, "quota_exhausted", 0},
		{"bedrock", 429, "ThrottlingException", nil, `Too many tokens, please wait before trying again.`, "http_429", 0},
		{"unavailable", 503, "", headers{"retry-after": "30"}, `no healthy upstream`, "http_5xx", 30 * time.Second},
	} {
		var doc struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		message := c.body
		if json.Unmarshal([]byte(c.body), &doc) == nil && doc.Error.Message != "" {
			message = doc.Error.Message
		}
		facts := map[string]any{"status_code": c.status, "error": map[string]any{"code": c.code, "message": message, "body": c.body}}
		if c.headers != nil {
			facts["headers"] = c.headers
		}
		raw, err := json.Marshal(facts)
		if err != nil {
			t.Fatal(err)
		}
		d := classifyWith(t, services(t, nil), string(raw), 1, `"fallbacks":[]`)
		action := map[bool]string{true: "retry", false: "suspend"}[c.want <= 15*time.Minute]
		switch {
		case d["id"] != c.id:
			t.Errorf("%s: it is taken for %v, want %s", c.service, d["id"], c.id)
		case c.id == "quota_exhausted" && d["action"] != "fail":
			t.Errorf("%s: %v", c.service, d)
		case c.want > 0 && (d["action"] != action || d["delay_ms"] != c.want.Milliseconds() || d["notice"] == ""):
			t.Errorf("%s: %v after %v ms (%v), want %s after %v", c.service, d["action"], d["delay_ms"], d["notice"], action, c.want)
		case c.want == 0 && c.id != "quota_exhausted" && (d["action"] != "retry" || d["notice"] != ""):
			t.Errorf("%s: %v %q", c.service, d["action"], d["notice"])
		}
	}
}

// TestLongWaits: a wait that is longer than the time of the thread is not begun.
func TestLongWaits(t *testing.T) {
	p := parse(t, `{"error":{"status_code":429,"error":{},"headers":{"retry-after":"60"}},"attempt":1,"fallbacks":[],"cost":"0.00"}`)
	for used, want := range map[int64]string{0: "retry", 1_750_000: "suspend"} {
		in := Input{Params: p, Services: services(t, nil), Limits: Limits{DurationSeconds: 1800}, Usage: Usage{DurationMS: used}}
		out, err := classifier(t.Context(), in)
		if err != nil || out.Data["action"] != want {
			t.Errorf("after %d ms: %v, %v; want %s", used, out.Data["action"], err, want)
		}
	}
}

func TestSpelled(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1m2.5s": 62500 * time.Millisecond, "6m0s": 6 * time.Minute, "20ms": 20 * time.Millisecond, "1 seconds": time.Second, "2 hours, 5 minutes": 125 * time.Minute,
		"1 hour and 5 minutes": 65 * time.Minute, "2d": 48 * time.Hour, "0s": 0, "soon": 0, "5": 0, "5 parsecs": 0, "999999999999h": 0, "": 0, "1..2s": 0,
	} {
		if got, ok := spelled(text); got != want || ok != (want > 0) {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

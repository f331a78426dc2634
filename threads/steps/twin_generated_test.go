package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/policy"
)

// generator makes inputs of steps from a seed.
type generator struct{ *rand.Rand }

func (g generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// text returns a text of several lines, some of which are long, or JSON.
func (g generator) text(most int) string {
	if g.IntN(4) == 0 {
		b, _ := jsonx.Marshal(g.value(4))
		return string(b)
	}
	var b strings.Builder
	for n := g.IntN(most); b.Len() < n; {
		b.WriteString(strings.Repeat(g.pick("a", "é", "日", "x y ", "\"", "\u2028", "\t"), g.IntN(2000)/(1+g.IntN(100))))
		b.WriteString(g.pick("\n", "\n\n", "", "\r\n"))
	}
	return b.String()
}

func (g generator) value(depth int) any {
	switch n := g.IntN(8); {
	case n == 0 && depth > 0:
		out := []any{}
		for range g.IntN(5) {
			out = append(out, g.value(depth-1))
		}
		return out
	case n < 3 && depth > 0:
		out := map[string]any{}
		for range g.IntN(6) {
			out[g.pick("a", "b", "name", "rows", "é")] = g.value(depth - 1)
		}
		return out
	case n == 3:
		return int64(g.IntN(2000) - 1000)
	case n == 4:
		return float64(g.IntN(2000)) / 8
	case n == 5:
		return nil
	case n == 6:
		return g.IntN(2) == 0
	}
	return g.pick("", "x", "a longer text", "日本", "1", "true") + strings.Repeat("y", g.IntN(30))
}

func (g generator) block() map[string]any {
	switch g.IntN(8) {
	case 0:
		return map[string]any{"type": "image", "media_type": "image/png", "name": "a.png", "artifact": strings.Repeat("ab", 32)}
	case 1:
		return map[string]any{"type": "file", "media_type": g.pick("application/pdf", "text/csv", "audio/wav"), "name": "b", "artifact": strings.Repeat("cd", 32)}
	}
	return map[string]any{"type": "text", "text": g.text(20_000)}
}

func (g generator) content() []any {
	out := []any{}
	for range 1 + g.IntN(3) {
		out = append(out, g.block())
	}
	return out
}

func (g generator) usage() Usage {
	return Usage{ContextTokens: int64(g.IntN(50_000)), Window: int64(g.IntN(3)) * 20_000}
}

// rounds returns how many inputs a test makes: a quarter of all without RYE_LONG.
func rounds(all int) int {
	if os.Getenv("RYE_LONG") == "1" {
		return all
	}
	return all / 4
}

func line(event string, data any) string {
	b, _ := jsonx.Marshal(data)
	return event + " " + string(b)
}

// Generated results of calls, with an earlier conversation that has some of them.
func TestTwinGuardGenerated(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 1))}
	for range rounds(60) {
		var before []string
		var all [][]any
		for i := range g.IntN(4) {
			all = append(all, g.content())
			before = append(before, line("tool_result", map[string]any{"call_id": fmt.Sprint("e", i), "ref": "tool:t/x", "is_error": false, "content": all[i]}))
			if g.IntN(6) == 0 {
				before = append(before, line("context_compacted", map[string]any{"step": g.pick("references", "summary"), "results": []any{map[string]any{"call_id": fmt.Sprint("e", g.IntN(4))}}}))
			}
		}
		var list []map[string]any
		for i := range 1 + g.IntN(3) {
			content := g.content()
			if len(all) > 0 && g.IntN(2) == 0 {
				content = all[g.IntN(len(all))]
			}
			list = append(list, map[string]any{
				"call_id": fmt.Sprint("n", i), "ref": g.pick("tool:t/x", ""), "is_error": g.IntN(3) == 0, "content": content,
				"result_tokens": int64(g.IntN(3) * g.IntN(3000)), "page": g.IntN(5) == 0,
			})
		}
		guardAll(t, Input{Usage: g.usage(), Conversation: lines(t, before...)}, list...)
	}
}

// Generated conversations become shorter in the same way.
func TestTwinCompactGenerated(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(2, 2))}
	seen := map[string]int{}
	for range rounds(250) {
		var turns []any
		var log []string
		var ids []string
		for n := range g.IntN(8) {
			number := int64(n)
			if g.IntN(10) > 0 {
				number++
			}
			tokens, results := int64(g.IntN(3000)), []any{}
			for range g.IntN(4) {
				id := fmt.Sprint("c", len(ids))
				content := g.content()
				if len(ids) > 0 && g.IntN(5) == 0 {
					content = []any{map[string]any{"type": "text", "text": `{"same_as":"` + ids[g.IntN(len(ids))] + `"}`}}
				}
				size := int64(g.IntN(3000))
				tokens += size
				results = append(results, map[string]any{"call_id": id, "tokens": size, "short": g.IntN(6) == 0})
				data := map[string]any{"call_id": id, "ref": "tool:t/x", "is_error": false, "content": content}
				if g.IntN(8) == 0 {
					data["artifact"] = strings.Repeat("ef", 32)
				}
				if g.IntN(10) == 0 {
					data["by"] = "tool:t/program"
				}
				ids = append(ids, id)
				log = append(log, line("tool_result", data))
			}
			turns = append(turns, map[string]any{"turn": number, "tokens": tokens, "results": results})
		}
		view := map[string]any{"window": int64(g.IntN(4) * 5000), "tokens": int64(g.IntN(30_000)), "head": int64(g.IntN(2000)), "summary": int64(g.IntN(2) * g.IntN(4000)), "turns": turns}
		in := Input{Params: map[string]any{"view": view, "refused": g.IntN(3) == 0}, Conversation: lines(t, log...), Services: services(t, nil)}
		out, err := compaction(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprint(out.Data["action"])]++
		sameAsTwin(t, "compact", in, nil, out, nil)
	}
	if len(seen) < 3 {
		t.Errorf("only %v", seen)
	}
}

// Generated errors of services: status, code, texts with waits and windows, headers.
func TestTwinClassifierGenerated(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(3, 3))}
	texts := []string{
		"", "Rate limit reached. Please try again in 6m0.5s.", "retry after 3 seconds", "try again in 541 hours 28 minutes", "maximum context length is 128,000 tokens", "input length should be [1, 30720]",
		"request too large for x on tokens per min: limit 30000, requested 40000", "tools.1.custom.input_schema: JSON schema is invalid", "resets at 2026-11-22 19:00:00", "resets on 2026-11-22T12:00:00.5Z",
		"insufficient_quota", "connection reset by peer", "timed out", "Overloaded", "api key not valid", "unknown model 'x'", "wait about 2 mins", "您的限额将在 2026-11-22 19:00:00 重置。", "retry in 400 days",
	}
	headers := []string{"retry-after-ms", "retry-after", "x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset", "x-ratelimit-remaining", "anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"}
	values := []string{"0", "1", "2.5", "1500", "1m2.5s", "6m0s", "500ms", "1795344000", "1795344000000", "Sun, 22 Nov 2026 11:00:00 GMT", "2026-11-22T11:00:00Z", "soon", "-1", "86401", ""}
	s := services(t, nil)
	for range rounds(400) {
		facts := map[string]any{"error": map[string]any{
			"code": g.pick("", "CANCELLED", "TIMEOUT", "NETWORK", "insufficient_quota", "context_length_exceeded", "1113"), "type": g.pick("", "overloaded_error", "rate_limit_error", "server_error"),
			"message": texts[g.IntN(len(texts))], "reason": g.pick("", "", "refusal", "unknown_end", "stream_incomplete", "call_unreadable"), "body": g.pick("", `{"retryDelay": "12.5s"}`, `{"quotaId": "GeneratePerDay"}`),
		}}
		if g.IntN(5) > 0 {
			facts["status_code"] = []any{int64(400), int64(401), int64(402), int64(403), int64(404), int64(408), int64(413), int64(429), int64(500), int64(503), int64(529)}[g.IntN(11)]
		}
		h := map[string]any{}
		for range g.IntN(4) {
			h[headers[g.IntN(len(headers))]] = values[g.IntN(len(values))]
		}
		facts["headers"] = h
		if g.IntN(8) == 0 {
			facts["retry_after_ms"] = int64(g.IntN(200_000))
		}
		p := map[string]any{"error": facts, "attempt": int64(g.IntN(5)), "fallbacks": []any{}, "tools": []any{"rye_execute", "rye_load"}, "cost": "0.01", "suspends": g.IntN(2) == 0}
		if g.IntN(2) == 0 {
			p["fallbacks"] = []any{"b:m"}
		}
		in := Input{Turn: 3, Params: p, Usage: g.usage(), Limits: Limits{DurationSeconds: int64(g.IntN(3) * 400)}, Services: s}
		if g.IntN(3) == 0 {
			in.Conversation = lines(t, `model_error {"overflow":"possible"}`)
		}
		if g.IntN(2) == 0 {
			in.Services = services(t, map[string]string{ResilienceConfig: "retry: {suspend_above_seconds: 30}\n", ClassesConfig: "patterns:\n  - {id: mine, priority: 1, match: \"status_code == 413 and not (error.type in ['', 'x'])\", category: mine, policy: {type: use_header, header: Retry-After, fallback: {type: fixed, delay: 3, attempts: 2}}, code: PROVIDER_ERROR}\n"})
		}
		raw, err := jsonx.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		own := in
		own.Params = parse(t, string(raw)) // the step changes its facts
		out, err := classifier(t.Context(), own)
		sameAsTwin(t, "classifier", in, nil, out, err)
	}
}

// Generated hooks: conditions, templates, decisions, failures.
func TestTwinHooksGenerated(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(4, 4))}
	paths := []string{"call.name", "call.input.n", "call.input.list", "call.input.list.1", "call.input.text", "turn", "result.is_error", "error.code", "missing.path", "call.input"}
	values := []string{"'x'", "1", "2.5", "true", "null", `"a\"b"`, "['x', 1]", "[]", "-3", "'error'"}
	var condition func(depth int) string
	condition = func(depth int) string {
		switch n := g.IntN(8); {
		case n == 0 && depth > 0:
			return "(" + condition(depth-1) + g.pick(" and ", " or ", " && ", " || ") + condition(depth-1) + ")"
		case n == 1 && depth > 0:
			return g.pick("not ", "! ") + condition(depth-1)
		case n == 2:
			return "exists(" + paths[g.IntN(len(paths))] + ")"
		case n == 3:
			return paths[g.IntN(len(paths))]
		case n == 4:
			return paths[g.IntN(len(paths))] + " matches " + g.pick(`'^x'`, `'(?i)E.*R'`, `'\\d+$'`)
		case n == 5:
			return paths[g.IntN(len(paths))] + " in ['x', 1, true, 'error']"
		}
		if g.IntN(2) == 0 {
			return paths[g.IntN(len(paths))] + " " + g.pick(">", ">=", "<", "<=") + " " + g.pick("'x'", "1", "2.5", "-3", "'error'")
		}
		return paths[g.IntN(len(paths))] + " " + g.pick("==", "!=", "contains") + " " + values[g.IntN(len(values))]
	}
	events := []string{"before_tool", "after_tool", "error", "thread_started", "directive_return", "tool_denied", "suspended"}
	ran := 0
	for range rounds(300) {
		event := events[g.IntN(len(events))]
		var list []Hook
		for i := range 1 + g.IntN(4) {
			h := Hook{ID: fmt.Sprint("h", i), Event: event, Source: int64(1 + g.IntN(5)), From: "f", Verb: "execute", Kind: "tool", Item: g.pick(hooks.ControlID, "t/a", "t/${call.name}", "t/b"), OnFailure: g.pick("continue", "deny", "fail"), Position: g.pick("", "system", "after")}
			if g.IntN(3) > 0 {
				h.Condition = condition(3)
			}
			h.Params = map[string]any{"a": g.pick("${call.input.n}", "${call.input.n} and ${call.name}", "$${x}", "${missing?}", "${missing:-7}", "${missing}", "${call.input.list}", "x ${missing:-[1]} y"), "b": []any{"${turn}", int64(1)}}
			if h.Item == hooks.ControlID {
				h.Params = map[string]any{"action": g.pick("deny", "skip", "fail", "retry", "suspend", "escalate", "continue", "abort", "stop", "${call.name}")}
				if g.IntN(3) == 0 {
					h.Params[g.pick("feedback", "message", "to", "delay")] = g.pick("why", "${call.name}")
				}
			}
			list = append(list, h)
		}
		scope := map[string]any{
			"call": map[string]any{"name": g.pick("x", "deny", "a"), "input": map[string]any{"n": g.value(0), "list": []any{g.value(0), g.value(0)}, "text": g.text(100)}},
			"turn": int64(2), "result": map[string]any{"is_error": g.IntN(2) == 0},
		}
		if event == "error" {
			scope["error"] = map[string]any{"code": "x", "message": "m"}
			scope["classification"] = map[string]any{"id": "http_429", "category": "error", "code": "PROVIDER_ERROR", "aliases": []any{"rate_limit"}}
		}
		b, own := broker{}, services(t, nil)
		replies := []any{
			map[string]any{"ok": true}, "some text", map[string]any{"content": "Tabs.", "trust": g.pick("trusted", "agent")}, nil, map[string]any{"success": true, "data": map[string]any{"text": "inner"}},
			map[string]any{"control": map[string]any{"action": g.pick("deny", "suspend", "nonsense", "skip")}}, map[string]any{"control": "deny"}, map[string]any{"control": map[string]any{"action": "deny", "reason": "x"}},
		}
		own.Execute = b.record(func(ctx context.Context, a Action) (any, error) {
			if a.ID == hooks.ControlID {
				out, err := control(ctx, Input{Params: a.Params})
				if err != nil {
					return nil, err
				}
				return object(out)
			}
			if g.IntN(5) == 0 {
				return nil, fmt.Errorf("it failed")
			}
			return replies[g.IntN(len(replies))], nil
		})
		wire, err := object(map[string]any{"hooks": list, "context": scope})
		if err != nil {
			t.Fatal(err)
		}
		in := Input{Services: own, Params: map[string]any{"event": event, "context": wire["context"], "hooks": wire["hooks"]}}
		out, err := runHooks(t.Context(), in)
		if err != nil {
			t.Fatalf("%v: %v", err, list)
		}
		ran += int(out.Data["ran"].(int64))
		sameAsTwin(t, "run_hooks", in, b, out, nil)
	}
	if ran < rounds(100) {
		t.Errorf("only %d hooks ran", ran)
	}
}

// The model's answer is what rye returns, its text cut for the state of the loop.
func TestTwinProviderCall(t *testing.T) {
	answer := map[string]any{"turn": int64(2), "stop": "end", "text": strings.Repeat("é", 1500), "calls": []any{"c1"}, "usage": map[string]any{"input": int64(3)}}
	in := Input{Params: map[string]any{"provider": "tool:demo/model", "model": "m", "delay": 0.1}}
	in.Services.Model = func(context.Context, map[string]any) (map[string]any, error) {
		shown := map[string]any{}
		raw, _ := json.Marshal(answer)
		_ = json.Unmarshal(raw, &shown)
		shown["text"] = strings.Repeat("é", 1000)
		return object(shown)
	}
	out, err := providerCall(t.Context(), in)
	sameAsTwin(t, "provider_call", in, broker{"tool:demo/model": {{Data: answer}}}, out, err)
	in.Services.Model = func(context.Context, map[string]any) (map[string]any, error) { return nil, fmt.Errorf("busy") }
	out, err = providerCall(t.Context(), in)
	sameAsTwin(t, "provider_call", in, broker{"tool:demo/model": {{Code: "PROVIDER_ERROR", Error: "busy"}}}, out, err)
}

// Generated figures: limits, money, windows, and warnings before.
func TestTwinFiguresGenerated(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(5, 5))}
	usd := func() policy.USD { return policy.USD(int64(g.IntN(4)) * int64(g.IntN(2_000_000_000))) }
	for range rounds(60) {
		in := Input{
			Limits: Limits{Turns: int64(g.IntN(8)), Tokens: int64(g.IntN(50_000)), Spend: usd(), DurationSeconds: int64(g.IntN(100))},
			Usage: Usage{
				Turns: int64(g.IntN(6)), InputTokens: int64(g.IntN(90_000)), OutputTokens: int64(g.IntN(9000)), Spend: usd(), NewTokens: int64(g.IntN(40_000)),
				DurationMS: int64(g.IntN(90_000)), ContextTokens: int64(g.IntN(4000)), Window: int64(g.IntN(4)) * 1600,
			},
			Services: services(t, nil),
		}
		both(t, "limit_checker", in)
		for range g.IntN(4) {
			event := g.pick("context_pressure", "context_compacted", "thread_continued", "hook_run", "tool_call")
			in.Conversation = append(in.Conversation, lines(t, line(event, map[string]any{"event": g.pick("context_pressure", "x"), "input": map[string]any{"event": "context_compacted", "a": []any{"\"event\":\"context_pressure\"", g.value(2)}}}))...)
		}
		both(t, "continuation", in)
		for range g.IntN(3) {
			in.Conversation = append(in.Conversation, lines(t, line(g.pick("budget_warning", "observation"), map[string]any{"scope": g.pick("thread", "day", "month"), "value": "0.10", "max": "0.20"}))...)
		}
		periods := []any{}
		for range g.IntN(3) {
			periods = append(periods, map[string]any{"scope": g.pick("day", "month"), "value": usd().String(), "max": usd().String()})
		}
		in.Params = map[string]any{"warn_at": float64(g.IntN(5)) / 4, "periods": periods}
		both(t, "cost_tracker", in)
	}
}

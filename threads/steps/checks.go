package steps

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/policy"
)

// Reached is a limit that the thread has used up.
type Reached struct {
	Code  diag.Code `json:"code"`
	Limit string    `json:"limit"`
	Value any       `json:"value"`
	Max   any       `json:"max"`
}

type limitResult struct {
	Reached *Reached `json:"reached"`
}

// limitChecker reports the first limit that permits no further model call.
//
// Result: {reached: null | {code, limit, value, max}}.
func limitChecker(_ context.Context, in Input) (Output, error) {
	r := reached(in.Limits, in.Usage)
	if r == nil {
		return done(limitResult{})
	}
	return done(limitResult{r}, event("limit_reached", map[string]any{"limit": r.Limit, "value": r.Value, "max": r.Max}))
}

func reached(l Limits, u Usage) *Reached {
	whole := func(name string, value, limit int64) *Reached {
		if value < limit {
			return nil
		}
		return &Reached{diag.LimitExceeded, name, value, limit}
	}
	if r := whole("turns", u.Turns, l.Turns); r != nil {
		return r
	}
	if r := whole("tokens", u.NewTokens, l.Tokens); r != nil {
		return r
	}
	// A maximum of 0 permits models without prices. The ledger refuses the others.
	if u.Spend > 0 && u.Spend >= l.Spend {
		return &Reached{diag.BudgetExceeded, "spend", u.Spend, l.Spend}
	}
	return whole("duration_seconds", u.DurationMS/1000, l.DurationSeconds)
}

// inboxRow is one entry of the thread's inbox, oldest first.
type inboxRow struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"` // message, answer, cancel, suspend, handoff or event
	Payload any    `json:"payload"`
	By      string `json:"by"`
}

type inboxParams struct {
	Inbox []inboxRow `json:"inbox"`
}

// inboxRequest is the result of cancel_checker.
type inboxRequest struct {
	Action   string `json:"action"` // continue, cancel, suspend or handoff
	Reason   string `json:"reason"`
	Messages int    `json:"messages"`
}

// cancelChecker reads the inbox. A request to cancel is obeyed before one to
// suspend, and that before one to hand off; messages and events become a part of the
// conversation.
//
// Params: {inbox: [{id, kind, payload, by}]}. Result: {action: continue | cancel |
// suspend | handoff, reason, messages}.
func cancelChecker(_ context.Context, in Input) (Output, error) {
	p, err := params[inboxParams]("cancel_checker", in)
	if err != nil {
		return Output{}, err
	}
	action := "continue"
	reason := ""
	messages := 0
	var events []Event
	for _, row := range p.Inbox {
		taken := map[string]any{"kind": row.Kind, "by": row.By, "payload": row.Payload}
		if row.ID != "" {
			taken["id"] = row.ID
		}
		events = append(events, event("inbox", taken))
		switch {
		case row.Kind == "message":
			events = append(events, added("person", messageText(row.Payload)))
			messages++
		case row.Kind == "event":
			text, err := eventText(row)
			if err != nil {
				return Output{}, err
			}
			events = append(events, added(row.By, text))
			messages++
		case rank[row.Kind] > rank[action]:
			action = row.Kind
			reason = messageText(row.Payload)
		}
		if text := messageText(row.Payload); row.Kind == "handoff" && text != "" {
			events = append(events, added(row.By, text)) // the next model reads it
			messages++
		}
	}
	return done(inboxRequest{action, reason, messages}, events...)
}

// rank orders what the inbox can ask a thread for.
var rank = map[string]int{
	"continue": 0,
	"handoff":  1,
	"suspend":  2,
	"cancel":   3,
}

// CheckInbox returns an error for a result of cancel_checker whose action is not one of its
// actions. A loop that compares it with some of them would take the wrong edge.
func CheckInbox(data map[string]any) error {
	action, _ := data["action"].(string)
	if _, known := rank[action]; known {
		return nil
	}
	actions := slices.Sorted(maps.Keys(rank))
	err := diag.New(diag.ExecutionFailed, "running the step cancel_checker: its action is %q, must be one of %s", action, strings.Join(actions, ", "))
	if near := suggest.Nearest(action, actions); near != "" {
		err.WithReason("nearest").WithDetail("nearest", near)
	}
	return err
}

// eventText is an event as the model reads it.
func eventText(row inboxRow) (string, error) {
	m, _ := row.Payload.(map[string]any)
	name, _ := m["event"].(string)
	text := "Event " + name + " of " + row.By
	if m["payload"] == nil {
		return text, nil
	}
	b, err := jsonx.Marshal(m["payload"])
	if err != nil {
		return "", diag.New(diag.Internal, "reading an event: %w", err)
	}
	return text + ": " + string(b), nil
}

// messageText returns the text of a payload: a text, or the member message or reason
// of an object.
func messageText(payload any) string {
	if s, ok := payload.(string); ok {
		return s
	}
	m, _ := payload.(map[string]any)
	for _, key := range []string{"message", "reason", "text"} {
		if s, ok := m[key].(string); ok {
			return s
		}
	}
	return ""
}

// period is a sum of money with a maximum: of the thread, the day or the month.
type period struct {
	Scope string     `json:"scope"`
	Value policy.USD `json:"value"`
	Max   policy.USD `json:"max"`
}

type costParams struct {
	WarnAt  float64  `json:"warn_at"`
	Periods []period `json:"periods,omitempty"`
}

// figures are the result of cost_tracker.
type figures struct {
	Turns        int64      `json:"turns"`
	MaxTurns     int64      `json:"max_turns"`
	Tokens       int64      `json:"tokens"`
	Spend        policy.USD `json:"spend"`
	MaxSpend     policy.USD `json:"max_spend"`
	ContextRatio float64    `json:"context_ratio"`
	Warnings     []string   `json:"warnings"` // scopes
}

// costTracker returns the running figures and warns once for each scope whose spend
// is at warn_at of its maximum.
//
// Params: {warn_at, periods: [{scope: day | month, value, max}]}. Result: {turns,
// max_turns, tokens, spend, max_spend, context_ratio, warnings: [scope]}.
func costTracker(_ context.Context, in Input) (Output, error) {
	p, err := params[costParams]("cost_tracker", in)
	if err != nil {
		return Output{}, err
	}
	warned := map[string]bool{}
	for _, l := range in.Conversation {
		if l.Event != "budget_warning" {
			continue
		}
		var d period
		if err := l.Decode(&d); err != nil {
			return Output{}, diag.New(diag.TranscriptBroken, "reading the conversation: %w", err)
		}
		warned[d.Scope] = true
	}
	var events []Event
	warnings := []string{}
	all := append(
		[]period{{"thread", in.Usage.Spend, in.Limits.Spend}},
		p.Periods...,
	)
	for _, s := range all {
		if p.WarnAt <= 0 ||
			s.Max <= 0 ||
			warned[s.Scope] ||
			float64(s.Value) < p.WarnAt*float64(s.Max) {
			continue
		}
		warnings = append(warnings, s.Scope)
		events = append(events, event("budget_warning", s))
	}
	return done(figures{
		Turns:        in.Usage.Turns,
		MaxTurns:     in.Limits.Turns,
		Tokens:       in.Usage.InputTokens + in.Usage.OutputTokens,
		Spend:        in.Usage.Spend,
		MaxSpend:     in.Limits.Spend,
		ContextRatio: round(in.Usage.ContextRatio()),
		Warnings:     warnings,
	}, events...)
}

// round keeps three digits: figures for people and conditions.
func round(f float64) float64 {
	return math.Round(f*1000) / 1000
}

// fullness is the result of continuation.
type fullness struct {
	Ratio    float64 `json:"ratio"`
	Tokens   int64   `json:"tokens"`
	Window   int64   `json:"window"`
	Pressure bool    `json:"pressure"`
	Limit    bool    `json:"limit"`
	Code     string  `json:"code"`
	Event    string  `json:"event"` // that is recorded now
}

// continuation reports how full the model's window is. At the trigger the thread
// cannot continue.
//
// Result: {ratio, tokens, window, pressure, limit, code, event}. event is what is recorded now.
//
// It reports pressure and the end. What follows is decided by compact.
func continuation(ctx context.Context, in Input) (Output, error) {
	c, err := config(ctx, in.Services, CoordinationConfig, ReadCoordination)
	if err != nil {
		return Output{}, err
	}
	ratio := round(in.Usage.ContextRatio())
	figures := map[string]any{"ratio": ratio, "tokens": in.Usage.ContextTokens, "window": in.Usage.Window}
	known := in.Usage.Window > 0
	limit := known && ratio >= c.Trigger
	pressure := known && ratio >= c.Pressure
	var events []Event
	switch {
	case limit:
		events = append(events, event("context_limit", figures))
	case pressure && !underPressure(in, c.Pressure):
		events = append(events, event("context_pressure", figures))
	}
	out := fullness{
		Ratio:    ratio,
		Tokens:   in.Usage.ContextTokens,
		Window:   in.Usage.Window,
		Pressure: pressure,
		Limit:    limit,
	}
	if len(events) > 0 {
		out.Event = events[0].Event
	}
	if limit {
		out.Code = string(diag.ContextFull)
	}
	return done(out, events...)
}

// underPressure reports whether the pressure was recorded before. It is one event
// for each time that the threshold is passed.
func underPressure(in Input, threshold float64) bool {
	for i := len(in.Conversation) - 1; i >= 0; i-- {
		switch l := in.Conversation[i]; l.Event {
		case "context_pressure":
			return true
		case "thread_continued", "context_compacted":
			return false
		}
	}
	return false
}

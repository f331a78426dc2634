package steps

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/transcript"
)

// The kinds of the event watchdog.
const (
	kindRepeated = "repeated_calls"
	kindFailures = "repeated_failures"
)

// watchdog finds equal calls and failures in a row. The first ones add a hint for the
// model, more of them end the thread.
//
// Result: {stop: null | {code, limit, value, max}, hints: n}.
func watchdog(ctx context.Context, in Input) (Output, error) {
	cfg, err := config(ctx, in.Services, ResilienceConfig, ReadResilience)
	if err != nil {
		return Output{}, err
	}
	limit := int(max(cfg.RepeatHint, cfg.RepeatStop, cfg.FailureHint)) + 1
	last, err := results(in.Conversation, limit)
	if err != nil || len(last) == 0 {
		return Output{Success: err == nil, Data: map[string]any{"stop": nil, "hints": 0}}, err
	}
	tool := strings.TrimPrefix(last[0].Ref, "tool:")
	var stop *Reached
	var events []Event
	hints := 0
	hint := func(kind string, count int, fp, name string, values ...string) error {
		s, err := text(ctx, in.Services, name, values...)
		events = append(events, event("watchdog", map[string]any{"kind": kind, "count": count, "fingerprint": fp}), added("watchdog", s))
		hints++
		return err
	}
	fp := last[0].fingerprint()
	same := leading(last, func(r *toolResult) bool { return r.Ref == last[0].Ref && r.fingerprint() == fp })
	failed := leading(last, func(r *toolResult) bool { return r.Ref == last[0].Ref && r.IsError })
	switch {
	case cfg.RepeatStop > 0 && same >= int(cfg.RepeatStop):
		stop = &Reached{diag.LimitExceeded, kindRepeated, same, cfg.RepeatStop}
		events = append(events,
			event("watchdog", map[string]any{"kind": kindRepeated, "count": same, "fingerprint": fp}),
			event("limit_reached", map[string]any{"limit": kindRepeated, "value": same, "max": cfg.RepeatStop}))
	case cfg.RepeatHint > 0 && same >= int(cfg.RepeatHint):
		if !in.hinted(kindRepeated, last[same-1].at) {
			err = hint(kindRepeated, same, fp, "repeated", "tool", tool, "count", strconv.Itoa(same))
		}
	case cfg.FailureHint > 0 && failed >= int(cfg.FailureHint):
		if !in.hinted(kindFailures, last[failed-1].at) {
			err = hint(kindFailures, failed, fp, "failures", "tool", tool, "count", strconv.Itoa(failed), "codes", codes(last[:failed]))
		}
	}
	if err != nil {
		return Output{}, err
	}
	return done(map[string]any{"stop": stop, "hints": hints}, events...)
}

// leading returns the number of results at the start for which f is true.
func leading(list []toolResult, f func(*toolResult) bool) int {
	for i := range list {
		if !f(&list[i]) {
			return i
		}
	}
	return len(list)
}

// hinted reports whether a hint of the kind was given after the line at an index.
func (in *Input) hinted(kind string, from int) bool {
	return slices.ContainsFunc(in.Conversation[from:], func(l transcript.Line) bool {
		var d struct {
			Kind string `json:"kind"`
		}
		return l.Event == "watchdog" && l.Decode(&d) == nil && d.Kind == kind
	})
}

// codes returns the error codes of failed calls, each once, the newest first.
func codes(failed []toolResult) string {
	var out []string
	for i := range failed {
		if c := failed[i].code(); c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

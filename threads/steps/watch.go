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
	kindEqual    = "equal_calls"
	kindFailures = "repeated_failures"
)

type watchParams struct {
	Polls []string `json:"polls"`
}

type watchResult struct {
	Stop  *Reached `json:"stop"`
	Hints int      `json:"hints"`
}

// watchdog finds answers in a row whose calls are equal, and failures in a row. Equal calls
// of one answer are one: the model has not read a result between them. The first ones add a
// hint for the model, more of them end the thread. Calls of tools that poll get hints only.
//
// Params: {polls: [call_id]}. Result: {stop: null | {code, limit, value, max}, hints: n}.
func watchdog(ctx context.Context, in Input) (Output, error) {
	p, err := params[watchParams]("watchdog", in)
	if err != nil {
		return Output{}, err
	}
	cfg, err := config(ctx, in.Services, ResilienceConfig, ReadResilience)
	if err != nil {
		return Output{}, err
	}
	limit := int(max(
		cfg.RepeatHint,
		cfg.RepeatStop,
		cfg.EqualHint,
		cfg.EqualStop,
		cfg.FailureHint,
	)) + 1
	last, err := results(in.Conversation, limit)
	if err != nil || len(last) == 0 {
		return Output{Success: err == nil, Data: map[string]any{"stop": nil, "hints": 0}}, err
	}
	answers := byAnswer(last)
	w := watch{
		ctx:     ctx,
		in:      &in,
		answers: answers,
		tools:   names(answers[0]),
		fp:      answers[0][0].fingerprint(),
	}
	same := inARow(answers, (*toolResult).fingerprint)
	equal := inARow(answers, (*toolResult).call)
	failed := w.failures()
	polls := !slices.ContainsFunc(answers[0], func(r toolResult) bool {
		return !slices.Contains(p.Polls, r.CallID)
	})
	switch {
	case !polls && cfg.RepeatStop > 0 && same >= int(cfg.RepeatStop):
		w.end(kindRepeated, same, cfg.RepeatStop)
	case !polls && cfg.EqualStop > 0 && equal >= int(cfg.EqualStop):
		w.end(kindEqual, equal, cfg.EqualStop)
	case cfg.RepeatHint > 0 && same >= int(cfg.RepeatHint):
		err = w.hint(kindRepeated, same, answers[same-1], "repeated")
	case !polls && cfg.EqualHint > 0 && equal >= int(cfg.EqualHint):
		err = w.hint(kindEqual, equal, answers[equal-1], "equal")
	case cfg.FailureHint > 0 && len(failed) >= int(cfg.FailureHint):
		w.tools = strings.TrimPrefix(failed[0].Ref, "tool:")
		err = w.hint(
			kindFailures,
			len(failed),
			failed[len(failed)-1:],
			"failures",
			"codes",
			codes(failed),
		)
	}
	if err != nil {
		return Output{}, err
	}
	return done(watchResult{w.stop, w.hints}, w.events...)
}

// watch collects what follows from the newest answers.
type watch struct {
	ctx     context.Context
	in      *Input
	answers [][]toolResult
	tools   string // of the newest answer
	fp      string
	stop    *Reached
	hints   int
	events  []Event
}

// end ends the thread.
func (w *watch) end(kind string, count int, most int64) {
	w.stop = &Reached{diag.LimitExceeded, kind, count, most}
	w.events = append(w.events,
		event("watchdog", map[string]any{"kind": kind, "count": count, "fingerprint": w.fp}),
		event("limit_reached", map[string]any{"limit": kind, "value": count, "max": most}))
}

// hint adds a message for the model, once for the calls in a row that begin with oldest.
func (w *watch) hint(kind string, count int, oldest []toolResult, name string, values ...string) error {
	if w.in.hinted(kind, oldest[len(oldest)-1].at) {
		return nil
	}
	s, err := text(w.ctx, w.in.Services, name, append(
		[]string{"tool", w.tools, "count", strconv.Itoa(count)},
		values...,
	)...)
	w.events = append(
		w.events,
		event("watchdog", map[string]any{"kind": kind, "count": count, "fingerprint": w.fp}),
		added("watchdog", s),
	)
	w.hints++
	return err
}

// failures returns the failed calls in a row of the tool that was called last, the newest
// first. Equal calls of one answer are one.
func (w *watch) failures() []toolResult {
	var out []toolResult
	ref := w.answers[0][0].Ref
	for _, answer := range w.answers {
		for _, r := range answer {
			if r.Ref != ref || !r.IsError {
				return out
			}
			out = append(out, r)
		}
	}
	return out
}

// byAnswer groups results by the answer that made the calls, the newest first, each equal
// call once. A call whose answer is not known is one of its own.
func byAnswer(last []toolResult) [][]toolResult {
	var out [][]toolResult
	for _, r := range last {
		n := len(out) - 1
		if n < 0 ||
			r.answer == 0 ||
			out[n][0].answer != r.answer {
			out = append(out, []toolResult{r})
			continue
		}
		if !slices.ContainsFunc(out[n], func(x toolResult) bool { return x.fingerprint() == r.fingerprint() }) {
			out[n] = append(out[n], r)
		}
	}
	return out
}

// inARow returns how many of the newest answers have the same calls, as id identifies them.
func inARow(answers [][]toolResult, id func(*toolResult) string) int {
	of := func(answer []toolResult) []string {
		var ids []string
		for i := range answer {
			ids = append(ids, id(&answer[i]))
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	newest := of(answers[0])
	for i := range answers {
		if !slices.Equal(of(answers[i]), newest) {
			return i
		}
	}
	return len(answers)
}

// names returns the tools of an answer for a message.
func names(answer []toolResult) string {
	var out []string
	for _, r := range answer {
		name := strings.TrimPrefix(r.Ref, "tool:")
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
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
		c := failed[i].code()
		if c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

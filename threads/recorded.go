package threads

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// Recorded is the part of a completed thread that can answer a second thread in its place: no
// times, costs, ids of processes or events of the loop.
type Recorded struct {
	Directive, Model, Provider string
	Inputs                     map[string]any
	Date                       string // of the prompt, YYYY-MM-DD in UTC
	Workspace                  string // where its tools worked
	Result                     *Result
	Events                     []Event
}

// ReadRecorded reads the log of a thread. It is THREAD_STATE if the thread did not complete by
// itself, or if more than its own log is needed to repeat it.
func ReadRecorded(project, id string) (*Recorded, error) {
	s, err := ReadStarted(project, id)
	if err != nil {
		return nil, err
	}
	bad := func(why string) error {
		return diag.New(diag.ThreadState, "recording %s: %s", id, why).
			WithReason("not_recordable").
			WithDetail("id", id).
			WithDetail("state", s.State)
	}
	switch {
	case s.State != Completed:
		return nil, bad("its state is " + s.State + ", and only a completed thread is recorded")
	case s.Carried != nil:
		return nil, bad("it continues another thread")
	}
	r := &Recorded{
		Directive: strings.TrimPrefix(s.Directive.Ref, string(item.Directive)+":"),
		Model:     s.Model,
		Provider:  s.Provider,
		Inputs:    s.Inputs,
		Workspace: s.Workspace.Mode,
	}
	var others int
	if r.Events, r.Date, others, err = recordedEvents(project, id); err != nil {
		return nil, err
	}
	if others > 0 {
		return nil, bad("a program called a model or a tool in it")
	}
	r.Result, err = ReadResult(project, id)
	return r, err
}

// RecordedEvents returns the events that a recording of a thread would have, in any state.
func RecordedEvents(project, id string) ([]Event, error) {
	events, _, _, err := recordedEvents(project, id)
	return events, err
}

// recordedEvents returns also the date of the prompt, and the number of events that a
// recording cannot have: the events of calls that a program made.
func recordedEvents(project, id string) (events []Event, date string, others int, err error) {
	lines, err := transcript.Read(project, id)
	if err != nil {
		return nil, "", 0, err
	}
	for i := range lines {
		var e *Event
		data, err := dataOf(project, id, &lines[i])
		if err == nil {
			e, err = reduced(lines[i].Event, data)
		}
		switch {
		case err != nil:
			return nil, "", 0, diag.New(
				diag.TranscriptBroken,
				"reading %s: line %d: %w",
				id,
				lines[i].Seq,
				err,
			)
		case e == nil:
		case e.Data == nil:
			others++
		default:
			events = append(events, *e)
		}
		if lines[i].Event == evPrompt {
			date = lines[i].Time[:len(time.DateOnly)]
		}
	}
	return events, date, others, nil
}

// The data of the events of a recording.
type (
	recordedResponse struct {
		Turn    int64           `json:"turn"`
		Model   string          `json:"model"`
		Blocks  []message.Block `json:"blocks"`
		Stop    message.Stop    `json:"stop"`
		StopRaw string          `json:"stop_raw,omitempty"`
		Usage   message.Usage   `json:"usage"`
	}
	recordedCall struct {
		Turn     int64       `json:"turn"`
		CallID   string      `json:"call_id"`
		Name     string      `json:"name"`
		Ref      string      `json:"ref,omitempty"`
		Digest   item.Digest `json:"digest,omitzero"`
		Input    any         `json:"input"`
		Decision string      `json:"decision"`
	}
	recordedContent struct {
		CallID  string          `json:"call_id"`
		IsError bool            `json:"is_error"`
		Content []message.Block `json:"content"`
	}
)

// reduced returns the part of an event that a recording has: nil if nothing, and an event
// without data for one that a recording cannot have.
func reduced(event string, data []byte) (*Event, error) {
	var v any
	switch event {
	case evPrompt:
		v = &Prompt{}
	case evAdded:
		v = &addedData{}
	case evResponse:
		v = &responseData{}
	case evCall:
		v = &callData{}
	case evResult:
		v = &resultData{}
	case evCompacted:
		v = &compactedData{}
	default:
		return nil, nil
	}
	if err := into(data, v); err != nil {
		return nil, err
	}
	switch d := v.(type) {
	case *Prompt:
		d.System = slices.DeleteFunc(d.System, func(s SystemText) bool {
			return s.Source == message.EnvironmentSource
		})
		for i := range d.System {
			d.System[i].Digest = item.Digest{}
		}
		for i := range d.Tools {
			d.Tools[i].Digest = item.Digest{}
		}
	case *responseData:
		if d.Aside {
			return &Event{Event: event}, nil
		}
		v = recordedResponse{d.Turn, d.Model, d.Blocks, d.Stop, d.StopRaw, d.Usage}
	case *callData:
		if d.By != "" {
			return &Event{Event: event}, nil
		}
		v = recordedCall{d.Turn, d.CallID, d.Name, d.Ref, d.Digest, d.Input, d.Decision}
	case *resultData:
		if d.By != "" {
			return &Event{Event: event}, nil
		}
		v = recordedContent{d.CallID, d.IsError, d.Content}
	case *compactedData:
		v = compactedData{
			Step:    d.Step,
			Before:  d.Before,
			After:   d.After,
			Window:  d.Window,
			Results: d.Results,
			Keep:    d.Keep,
			Turns:   d.Turns,
			Text:    d.Text,
			Failed:  d.Failed,
		}
	}
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return nil, err
	}
	parsed, fs := jsonx.ParseMessage(raw)
	if len(fs) > 0 {
		return nil, diag.FromFindings("reading the event "+event, fs)
	}
	m, _ := parsed.(map[string]any)
	return &Event{Event: event, Data: m}, nil
}

// NewRecording returns a recording from the events of a completed thread.
func NewRecording(id string, r *Recorded) (*Recording, error) {
	lines := make([]transcript.Line, len(r.Events))
	for i, e := range r.Events {
		raw, err := jsonx.Marshal(e.Data)
		if err != nil {
			return nil, diag.New(diag.TranscriptBroken, "reading the recording %s: event %d: %w", id, i+1, err)
		}
		if !slices.Contains([]string{evPrompt, evAdded, evResponse, evCall, evResult, evCompacted}, e.Event) {
			return nil, diag.New(diag.TranscriptBroken, "reading the recording %s: event %d: a recording has no event %q", id, i+1, e.Event)
		}
		lines[i] = transcript.Line{Seq: int64(i + 1), Event: e.Event, Data: json.RawMessage(raw)}
	}
	s := &Started{
		Directive: Identity{Ref: string(item.Directive) + ":" + r.Directive},
		Inputs:    r.Inputs,
		Model:     r.Model,
		Provider:  r.Provider,
		State:     Completed,
	}
	return newRecording("", id, s, lines)
}

// Unused returns how many answers of the model the recording has that were not used.
func (r *Recording) Unused() (n int) {
	for i := r.at; i < len(r.lines); i++ {
		if r.lines[i].Event == evResponse {
			n++
		}
	}
	return n
}

// CallOutcome is what became of one call of the model.
type CallOutcome struct {
	Turn          int64
	ID, Name, Ref string
	Digest        item.Digest
	Input         any
	IsError       bool
	Text          string // the result, as lines
}

// CallsOf returns the calls of tools in the events of a thread, in the order of the model's
// answers: calls that only read start at the same time, in any order.
func CallsOf(events []Event) ([]CallOutcome, error) {
	var out []CallOutcome
	at := map[string]int{}
	asked := map[string]int{}
	for _, e := range events {
		raw, err := jsonx.Marshal(e.Data)
		if err != nil {
			return nil, err
		}
		switch e.Event {
		case evResponse:
			var d recordedResponse
			if err := into(raw, &d); err != nil {
				return nil, err
			}
			for _, b := range d.Blocks {
				if b.Type == message.ToolCall {
					asked[b.ID] = len(asked)
				}
			}
		case evCall:
			var d recordedCall
			if err := into(raw, &d); err != nil {
				return nil, err
			}
			at[d.CallID] = len(out)
			out = append(out, CallOutcome{
				Turn:   d.Turn,
				ID:     d.CallID,
				Name:   d.Name,
				Ref:    d.Ref,
				Digest: d.Digest,
				Input:  d.Input,
			})
		case evResult:
			var d recordedContent
			if err := into(raw, &d); err != nil {
				return nil, err
			}
			i, known := at[d.CallID]
			if !known {
				continue
			}
			var text strings.Builder
			for k := range d.Content {
				writeBlock(&text, &d.Content[k])
			}
			out[i].IsError, out[i].Text = d.IsError, text.String()
		}
	}
	slices.SortStableFunc(out, func(a, b CallOutcome) int {
		return asked[a.ID] - asked[b.ID]
	})
	return out, nil
}

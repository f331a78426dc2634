package steps

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// The sources of messages that finish adds.
const (
	sourceNudge  = "nudge"
	sourceLength = "max_output"
	sourceEmpty  = "empty"
)

// Ending is the result of finish: how the thread ends, if it does.
type Ending struct {
	Done    bool           `json:"done"`
	State   string         `json:"state,omitempty"` // completed, error, cancelled or suspended
	Reason  string         `json:"reason,omitempty"`
	Outputs map[string]any `json:"outputs,omitempty"`
	Text    string         `json:"text,omitempty"`
	Error   *Failure       `json:"error,omitempty"`
}

// Failure is the error of a thread, a call or a response.
type Failure struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

type finishParams struct {
	State    string         `json:"state,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Error    *Failure       `json:"error,omitempty"`
	Returned map[string]any `json:"returned,omitempty"`
	Declared bool           `json:"declared"`
}

// finish decides whether the thread has ended: by a decision of a step or a hook, by
// directive_return, or by a response without calls. If not, it adds the message that
// the model needs to continue.
//
// Params: {state?, reason?, error?, returned?: outputs, declared: bool}. declared is
// whether the directive has outputs. Result: Ending.
func finish(ctx context.Context, in Input) (Output, error) {
	p, err := params[finishParams]("finish", in)
	if err != nil {
		return Output{}, err
	}
	tail, err := readTail(in.Conversation)
	if err != nil {
		return Output{}, err
	}
	switch {
	case p.State == "continued" && !slices.ContainsFunc(in.Conversation, answered): // the next thread would begin with the same request
		return done(Ending{Done: true, State: "error", Error: p.Error})
	case p.State == "suspended": // also with outputs, before the thread completes
		return done(Ending{
			Done:   true,
			State:  p.State,
			Reason: p.Reason,
			Text:   tail.text(),
		})
	case p.Returned != nil:
		return done(Ending{
			Done:    true,
			State:   "completed",
			Outputs: p.Returned,
			Text:    tail.text(),
		},
			event("directive_return", map[string]any{"outputs": p.Returned}))
	case p.Error != nil && p.State == "":
		return done(Ending{
			Done:  true,
			State: "error",
			Error: p.Error,
			Text:  tail.text(),
		})
	case p.State != "":
		return done(Ending{
			Done:   true,
			State:  p.State,
			Reason: p.Reason,
			Error:  p.Error,
			Text:   tail.text(),
		})
	case len(tail.responses) == 0 || tail.responses[0].calls() > 0:
		return done(Ending{})
	}
	return tail.end(ctx, in, p.Declared)
}

func answered(l transcript.Line) bool {
	return l.Event == "model_response"
}

// tail is the end of a conversation: the responses without calls, the newest first,
// and how often the model was asked to continue.
type tail struct {
	responses []response
	nudges    int
	lengths   int // since the last response that ended by itself
	empties   int
}

func readTail(lines []transcript.Line) (*tail, error) {
	t := &tail{}
	for i := len(lines) - 1; i >= 0; i-- {
		switch l := &lines[i]; l.Event {
		case "model_response":
			var r response
			if err := decode(l, &r); err != nil {
				return nil, err
			}
			t.responses = append(t.responses, r)
			if r.calls() > 0 {
				return t, nil
			}
		case "message_added":
			var m struct {
				Source string `json:"source"`
			}
			if err := decode(l, &m); err != nil {
				return nil, err
			}
			switch m.Source {
			case sourceNudge:
				t.nudges++
			case sourceEmpty:
				t.empties++
			case sourceLength:
				if t.nudges == 0 && t.empties == 0 {
					t.lengths++
				}
			}
		case "tool_call", "thread_continued":
			return t, nil
		}
	}
	return t, nil
}

// text returns the text of the last response, with the parts before it that were cut
// by the maximum of the output.
func (t *tail) text() string {
	if len(t.responses) == 0 {
		return ""
	}
	parts := []string{t.responses[0].text()}
	for i := 1; i < len(t.responses) && t.responses[i].Stop == message.StopMaxOutput; i++ {
		parts = append([]string{t.responses[i].text()}, parts...)
	}
	return strings.Join(parts, "")
}

// end decides about a response without calls.
func (t *tail) end(ctx context.Context, in Input, declared bool) (Output, error) {
	cfg, err := config(ctx, in.Services, ResilienceConfig, ReadResilience)
	if err != nil {
		return Output{}, err
	}
	limit := int(cfg.AskAgain)
	switch stop := t.responses[0].Stop; {
	case stop == message.StopPause:
		return done(Ending{}) // the conversation is sent again as it is
	case stop == message.StopRefusal:
		return done(Ending{
			Done:  true,
			State: "error",
			Text:  t.text(),
			Error: &Failure{Code: string(diag.ModelRefused), Message: "the model refused to answer"},
		})
	case stop == message.StopMaxOutput && t.lengths < limit:
		return t.goOn(ctx, in, sourceLength, "continue")
	case stop == message.StopMaxOutput && !declared:
		return done(Ending{
			Done:  true,
			State: "error",
			Text:  t.text(),
			Error: &Failure{
				Code: string(diag.AnswerCut), Message: "the answer reached its maximum length, and so did each continuation",
			},
		})
	case stop == message.StopEnd && strings.TrimSpace(t.text()) == "" && t.empties == 0:
		return t.goOn(ctx, in, sourceEmpty, "empty")
	case stop == message.StopEnd && strings.TrimSpace(t.text()) == "":
		return done(Ending{Done: true, State: "error", Error: &Failure{
			Code: string(diag.AnswerEmpty), Message: "the model answered twice with nothing",
		}})
	case !declared:
		return done(Ending{Done: true, State: "completed", Text: t.text()})
	case t.nudges < limit && asText(t.responses[0].text()):
		return t.goOn(ctx, in, sourceNudge, "call_as_text")
	case t.nudges < limit:
		return t.goOn(ctx, in, sourceNudge, "nudge")
	}
	return done(Ending{
		Done:  true,
		State: "error",
		Text:  t.text(),
		Error: &Failure{
			Code: string(diag.ValidationFailed), Message: "the model ended without directive_return, which the outputs of the directive need",
		},
	})
}

// asText reports whether a text has a call in the form of a model whose service did not
// read it.
func asText(text string) bool {
	return slices.ContainsFunc([]string{"<tool_call>", "<function=", "[TOOL_CALLS]", "<|tool_call", "<｜tool▁call", "<|python_tag|>"}, func(mark string) bool {
		return strings.Contains(text, mark)
	})
}

func (t *tail) goOn(ctx context.Context, in Input, source, name string) (Output, error) {
	s, err := text(ctx, in.Services, name)
	if err != nil {
		return Output{}, err
	}
	return done(Ending{}, added(source, s))
}

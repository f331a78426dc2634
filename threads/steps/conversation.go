package steps

import (
	"encoding/json"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/resulttext"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// response is the event model_response.
type response struct {
	Turn   int64           `json:"turn"`
	Blocks []message.Block `json:"blocks"`
	Stop   message.Stop    `json:"stop"`
}

func (r *response) text() string {
	var s string
	for _, b := range r.Blocks {
		if b.Type == message.Text {
			s += b.Text
		}
	}
	return s
}

func (r *response) calls() int {
	n := 0
	for _, b := range r.Blocks {
		if b.Type == message.ToolCall {
			n++
		}
	}
	return n
}

// toolResult is the event tool_result with what the event tool_call has about the call.
type toolResult struct {
	CallID  string          `json:"call_id"`
	Ref     string          `json:"ref"`
	IsError bool            `json:"is_error"`
	Content []message.Block `json:"content"`
	By      string          `json:"by"`

	at    int // the index of the line
	input json.RawMessage
}

// decode reads the data of a line of the conversation.
func decode(l *transcript.Line, into any) error {
	if err := l.Decode(into); err != nil {
		return diag.New(diag.TranscriptBroken, "reading the conversation: %w", err)
	}
	return nil
}

// results returns the last results of calls, the newest first, at most limit.
func results(lines []transcript.Line, limit int) ([]toolResult, error) {
	var out []toolResult
	open := map[string]int{} // call id -> index in out
	for i := len(lines) - 1; i >= 0 && (len(out) < limit || len(open) > 0); i-- {
		switch l := &lines[i]; l.Event {
		case "tool_result":
			if len(out) == limit {
				continue
			}
			r := toolResult{at: i}
			if err := decode(l, &r); err != nil {
				return nil, err
			}
			if r.By != "" {
				continue // a call of a program, not of the model
			}
			var err error
			if r.Content, err = resolveSame(lines[:i], r.Content); err != nil {
				return nil, err
			}
			open[r.CallID] = len(out)
			out = append(out, r)
		case "tool_call":
			var c struct {
				CallID string          `json:"call_id"`
				Input  json.RawMessage `json:"input"`
			}
			if err := decode(l, &c); err != nil {
				return nil, err
			}
			if at, ok := open[c.CallID]; ok {
				out[at].input = c.Input
				delete(open, c.CallID)
			}
		}
	}
	return out, nil
}

// fingerprint identifies a call with its arguments and its result.
func (r *toolResult) fingerprint() string {
	input, _ := jsonx.ParseMessage(r.input) // arguments that do not parse are equal to none
	content, _ := json.Marshal(r.Content)
	b, _ := jsonx.Marshal([]any{r.Ref, input, string(content)}) // a cut result names its artifact
	return item.DigestOf(b).String()
}

// code returns the error code in the result of a failed call, or "".
func (r *toolResult) code() string {
	if !r.IsError || len(r.Content) == 0 || r.Content[0].Type != message.Text {
		return ""
	}
	code, _ := resulttext.Code(r.Content[0].Text)
	return code
}

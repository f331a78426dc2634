package steps

import (
	"encoding/json"
	"slices"

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
	// Same identifies the result without its volatile values; "" if the content does.
	Same string `json:"fingerprint"`

	answer int // the answer that made the call, 1 is the newest; 0 is not known
	at     int // the index of the line
	input  json.RawMessage
}

// made gives the results whose calls an answer has its number, and reports whether it has
// any. A call of an earlier answer may have the same id.
func made(results []toolResult, a *response, number int) bool {
	any := false
	for i := range results {
		r := &results[i]
		if slices.ContainsFunc(a.Blocks, func(b message.Block) bool {
			return b.Type == message.ToolCall &&
				b.ID == r.CallID
		}) {
			r.answer = number
			any = true
		}
	}
	return any
}

// decode reads the data of a line of the conversation.
func decode(l *transcript.Line, into any) error {
	if err := l.Decode(into); err != nil {
		return diag.New(diag.TranscriptBroken, "reading the conversation: %w", err)
	}
	return nil
}

// maxParallel bounds the calls of one answer that are compared.
const maxParallel = 64

// results returns the results of the calls of the last answers, the newest first.
func results(lines []transcript.Line, limit int) ([]toolResult, error) {
	var out []toolResult
	open := map[string]int{} // call id -> index in out
	// later is the number of results after the newest answer not yet read
	answers := 0
	later := 0
	for i := len(lines) - 1; i >= 0 && (answers < limit || len(open) > 0); i-- {
		switch l := &lines[i]; l.Event {
		case "tool_result":
			if len(out) >= limit*maxParallel {
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
		case "model_response":
			var a response
			if err := decode(l, &a); err != nil {
				return nil, err
			}
			if made(out[later:], &a, answers+1) {
				answers = answers + 1
				later = len(out)
			}
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
	same := r.Same
	if same == "" {
		content, _ := json.Marshal(r.Content) // a cut result names its artifact
		same = string(content)
	}
	return r.identity(same)
}

// call identifies a call with its arguments, whatever its result is.
func (r *toolResult) call() string {
	return r.identity("")
}

func (r *toolResult) identity(result string) string {
	input, _ := jsonx.ParseMessage(r.input) // arguments that do not parse are equal to none
	b, _ := jsonx.Marshal([]any{r.Ref, input, result})
	return item.DigestOf(b).String()
}

// code returns the error code in the result of a failed call, or "".
func (r *toolResult) code() string {
	if !r.IsError ||
		len(r.Content) == 0 ||
		r.Content[0].Type != message.Text {
		return ""
	}
	code, _ := resulttext.Code(r.Content[0].Text)
	return code
}

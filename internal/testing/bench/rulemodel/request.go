package rulemodel

import (
	"encoding/json"
	"strings"

	"github.com/ryeos/rye/threads/provider/scripted"
)

// Request is a request in a form that is the same for all dialects.
type Request struct {
	Body  []byte
	Model string
	Tools []string // names, in the order of the request
	Texts []string // of all messages, in order; the results of tools are in Calls
	Calls []Call   // of the whole conversation, in order
}

// Call is a call that the model made before. A call without a result has Result "".
type Call struct {
	ID, Name, Arguments string
	Result              string
	Images              int // in the result, or directly after it
}

// Offers reports whether the request offers a tool.
func (r *Request) Offers(name string) bool {
	for _, t := range r.Tools {
		if t == name {
			return true
		}
	}
	return false
}

// All returns every text of the request: instructions, messages and results.
func (r *Request) All() string {
	var b strings.Builder
	for _, t := range r.Texts {
		b.WriteString(t + "\n")
	}
	for _, c := range r.Calls {
		b.WriteString(c.Result + "\n")
	}
	return b.String()
}

// wire has the members of a request that the three dialects use.
type wire struct {
	Model        string          `json:"model"`
	System       json.RawMessage `json:"system"`
	Instructions string          `json:"instructions"`
	Messages     []wireMessage   `json:"messages"`
	Input        []wireItem      `json:"input"`
	Tools        []wireTool      `json:"tools"`
}

type wireTool struct {
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"tool_call_id"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// wireItem is an item of the Responses dialect.
type wireItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
}

type wireBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	UseID   string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
}

// read reads a request of one of the dialects openai_chat, openai_responses and
// anthropic_messages.
func read(dialect string, body []byte) (*Request, error) {
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	r := &Request{Body: body, Model: w.Model}
	for _, t := range w.Tools {
		name := t.Name
		if name == "" {
			name = t.Function.Name
		}
		r.Tools = append(r.Tools, name)
	}
	if w.Instructions != "" {
		r.Texts = append(r.Texts, w.Instructions)
	}
	r.content(w.System)
	if dialect == scripted.Responses {
		r.items(w.Input)
		return r, nil
	}
	for _, m := range w.Messages {
		r.message(m)
	}
	return r, nil
}

func (r *Request) message(m wireMessage) {
	if m.CallID != "" {
		r.result(m.CallID, m.Content)
		return
	}
	r.content(m.Content)
	for _, c := range m.Calls {
		r.Calls = append(r.Calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
}

func (r *Request) items(items []wireItem) {
	for _, it := range items {
		switch it.Type {
		case "function_call", "custom_tool_call":
			arguments := it.Arguments
			if arguments == "" {
				arguments = it.Input
			}
			r.Calls = append(r.Calls, Call{ID: it.CallID, Name: it.Name, Arguments: arguments})
		case "function_call_output", "custom_tool_call_output":
			r.result(it.CallID, it.Output)
		default:
			r.content(it.Content)
		}
	}
}

// content reads the content of a message: a text, or a list of blocks.
func (r *Request) content(raw json.RawMessage) {
	for _, b := range blocks(raw) {
		switch b.Type {
		case "text", "input_text", "output_text":
			if b.Text != "" {
				r.Texts = append(r.Texts, b.Text)
			}
		case "tool_use":
			r.Calls = append(r.Calls, Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		case "tool_result":
			r.result(b.UseID, b.Content)
		case "image", "image_url", "input_image":
			if n := len(r.Calls); n > 0 {
				r.Calls[n-1].Images++
			}
		}
	}
}

// result adds the result of a call. The newest call with the id has it: some programs
// number their calls from one in each answer.
func (r *Request) result(id string, raw json.RawMessage) {
	var text strings.Builder
	images := 0
	for _, b := range blocks(raw) {
		if b.Type == "image" || b.Type == "image_url" || b.Type == "input_image" {
			images++
		}
		text.WriteString(b.Text)
	}
	for i := len(r.Calls) - 1; i >= 0; i-- {
		if r.Calls[i].ID == id {
			r.Calls[i].Result = text.String()
			r.Calls[i].Images += images
			return
		}
	}
}

// blocks returns a content as blocks: a text is one block.
func blocks(raw json.RawMessage) []wireBlock {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []wireBlock{{Type: "text", Text: text}}
	}
	var out []wireBlock
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// request is a request in the form that expectations check.
type request struct {
	body    string
	model   string
	tools   []string
	role    string   // of the last message
	texts   []string // of the last message
	results []string // of tools, in the last messages
}

// readRequest checks a request by the rules of the published description and returns its
// content for expectations, or the first rule that it breaks.
func readRequest(dialect string, r *http.Request, body []byte) (*request, string) {
	path := map[string]string{
		Anthropic: "/v1/messages",
		Chat:      "/chat/completions",
		Responses: "/responses",
		Gemini:    ":streamGenerateContent",
		Ollama:    "/api/chat",
	}[dialect]
	switch {
	case r.Method != http.MethodPost:
		return nil, "the method is " + r.Method
	case !strings.HasSuffix(r.URL.Path, path):
		return nil, "the path is " + r.URL.Path
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return nil, "Content-Type is " + r.Header.Get("Content-Type")
	}
	out := &request{body: string(body)}
	switch dialect {
	case Responses:
		return out, readResponses(r, body, out)
	case Gemini:
		return out, readGemini(r, body, out)
	case Ollama:
		return out, readOllama(r, body, out)
	}
	var in wireRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, "the body is not valid: " + err.Error()
	}
	out.model = in.Model
	if problem := in.common(); problem != "" {
		return nil, problem
	}
	if dialect == Anthropic {
		return out, in.anthropic(r, out)
	}
	return out, in.chat(out)
}

type wireRequest struct {
	Model         string        `json:"model"`
	MaxTokens     *int64        `json:"max_tokens"`
	MaxCompletion *int64        `json:"max_completion_tokens"`
	Messages      []wireMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	Tools         []struct {
		Name     string          `json:"name"`
		Schema   json.RawMessage `json:"input_schema"`
		Type     string          `json:"type"`
		Function *struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Thinking *struct {
		Type   string `json:"type"`
		Budget int64  `json:"budget_tokens"`
	} `json:"thinking"`
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"tool_call_id"`
	Calls   []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
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

func (in *wireRequest) common() string {
	switch {
	case in.Model == "":
		return "model is missing"
	case len(in.Messages) == 0:
		return "messages is empty"
	case !in.Stream:
		return "stream is not true"
	}
	return ""
}

// blocks returns the content of a message: a text is one block.
func blocks(content json.RawMessage) ([]wireBlock, bool) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []wireBlock{{Type: "text", Text: text}}, true
	}
	var out []wireBlock
	return out, json.Unmarshal(content, &out) == nil
}

func texts(bs []wireBlock) []string {
	var out []string
	for _, b := range bs {
		if b.Type == "text" || b.Type == "input_text" || b.Type == "output_text" {
			out = append(out, b.Text)
		}
	}
	return out
}

func isObject(raw json.RawMessage) bool {
	var m map[string]any
	return json.Unmarshal(raw, &m) == nil && m != nil
}

func (in *wireRequest) anthropic(r *http.Request, out *request) string {
	switch {
	case r.Header.Get("anthropic-version") == "":
		return "the header anthropic-version is missing"
	case in.MaxTokens == nil || *in.MaxTokens < 1:
		return "max_tokens is missing"
	case in.Messages[0].Role != "user":
		return "the first message is not the user's"
	case in.Thinking != nil && in.Thinking.Type == "enabled" && (in.Thinking.Budget < 1024 || in.Thinking.Budget >= *in.MaxTokens):
		return "thinking.budget_tokens must be from 1024 to max_tokens"
	case strings.Count(out.body, `"cache_control"`) > 4:
		return "more than 4 cache_control"
	}
	for _, t := range in.Tools {
		if t.Name == "" || !isObject(t.Schema) {
			return fmt.Sprintf("the tool %q has no input_schema", t.Name)
		}
		out.tools = append(out.tools, t.Name)
	}
	var open []string // calls whose results must be in the next message
	for i, m := range in.Messages {
		bs, ok := blocks(m.Content)
		if !ok || len(bs) == 0 {
			return fmt.Sprintf("messages[%d].content is empty or not valid", i)
		}
		out.role, out.texts, out.results = m.Role, texts(bs), nil
		var answered []string
		for _, b := range bs {
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) == "":
				return fmt.Sprintf("messages[%d] has an empty text", i)
			case b.Type == "tool_result":
				inner, _ := blocks(b.Content)
				answered = append(answered, b.UseID)
				out.results = append(out.results, texts(inner)...)
			case b.Type == "tool_use" && !isObject(b.Input):
				return fmt.Sprintf("messages[%d]: the input of %s is not an object", i, b.ID)
			}
		}
		if !slices.Equal(open, answered) {
			return fmt.Sprintf("messages[%d] answers the calls %q, not %q", i, answered, open)
		}
		open = nil
		for _, b := range bs {
			if b.Type == "tool_use" && m.Role == "assistant" {
				open = append(open, b.ID)
			}
		}
	}
	return unanswered(open)
}

func unanswered(open []string) string {
	if len(open) > 0 {
		return fmt.Sprintf("the calls %q have no result", open)
	}
	return ""
}

func (in *wireRequest) chat(out *request) string {
	if in.MaxTokens != nil && in.MaxCompletion != nil {
		return "both max_tokens and max_completion_tokens"
	}
	for _, t := range in.Tools {
		if t.Type != "function" ||
			t.Function == nil ||
			t.Function.Name == "" ||
			!isObject(t.Function.Parameters) {
			return "a tool is not a function with parameters"
		}
		out.tools = append(out.tools, t.Function.Name)
	}
	var open []string
	for i, m := range in.Messages {
		bs, ok := blocks(m.Content)
		switch {
		case m.Role == "tool":
			if len(open) == 0 || open[0] != m.CallID {
				return fmt.Sprintf("messages[%d] answers the call %q, not the first of %q", i, m.CallID, open)
			}
			open = open[1:]
			out.results = append(out.results, texts(bs)...)
		case len(open) > 0:
			return unanswered(open)
		case m.Role == "assistant":
			if !ok && len(m.Calls) == 0 {
				return fmt.Sprintf("messages[%d] has neither content nor tool_calls", i)
			}
			out.results = nil
		case !slices.Contains([]string{"system", "developer", "user"}, m.Role) || !ok:
			return fmt.Sprintf("messages[%d] has the role %q or no content", i, m.Role)
		}
		for _, c := range m.Calls {
			if c.Type != "function" ||
				c.ID == "" ||
				c.Function.Name == "" ||
				c.Function.Arguments == nil {
				return fmt.Sprintf("messages[%d] has a tool call that is not complete", i)
			}
			open = append(open, c.ID)
		}
		out.role, out.texts = m.Role, texts(bs)
	}
	return unanswered(open)
}

// check returns the first expectation that a request does not meet.
func (e *Expect) check(r *request) string {
	switch {
	case e.Tools != nil && !slices.Equal(e.Tools, r.tools):
		return fmt.Sprintf("the tools are %q, not %q", r.tools, e.Tools)
	case e.Model != "" && e.Model != r.model:
		return fmt.Sprintf("the model is %q, not %q", r.model, e.Model)
	case e.LastRole != "" && e.LastRole != r.role:
		return fmt.Sprintf("the last message is of %q, not %q", r.role, e.LastRole)
	}
	within := func(all []string, want string) bool {
		return slices.ContainsFunc(all, func(s string) bool {
			return strings.Contains(s, want)
		})
	}
	for _, want := range e.Text {
		if !within(r.texts, want) {
			return fmt.Sprintf("the last message has the texts %q, none with %q", r.texts, want)
		}
	}
	for _, want := range e.ToolResult {
		if !within(r.results, want) {
			return fmt.Sprintf("the results are %q, none with %q", r.results, want)
		}
	}
	for _, want := range e.Anywhere {
		if !strings.Contains(r.body, want) {
			return fmt.Sprintf("the request does not contain %q", want)
		}
	}
	for _, never := range e.Nowhere {
		if strings.Contains(r.body, never) {
			return fmt.Sprintf("the request contains %q", never)
		}
	}
	return ""
}

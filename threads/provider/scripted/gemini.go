package scripted

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// geminiEvents writes an answer as streamGenerateContent does.
func geminiEvents(step *Step, n int, model string) []event {
	s := step.Send
	w := &geminiWriter{n: n, model: model, usage: s.Usage}
	for _, p := range pieces(s.Reasoning.Text) {
		w.chunk(object{"text": p, "thought": true}, "")
	}
	if s.Unknown != nil {
		w.chunk(s.Unknown, "")
	}
	for _, p := range pieces(s.Text + s.Refusal) {
		w.chunk(object{"text": p}, "")
	}
	signature := cmp.Or(s.Reasoning.Signature, s.Reasoning.Redacted)
	for i, c := range s.Calls {
		part := object{"functionCall": object{"name": c.Name, "args": json.RawMessage(c.arguments()), "id": c.id("call", n, i)}}
		if i == 0 && signature != "" { // of parallel calls, the first one has it
			part["thoughtSignature"] = signature
		}
		w.chunk(part, "")
	}
	if len(s.Calls) == 0 && signature != "" {
		w.chunk(object{"text": "", "thoughtSignature": signature}, "")
	}
	if s.Usage.Mode == "late" {
		w.out = append(w.out, event{comment: "still counting"})
	}
	stop := cmp.Or(s.Stop, "STOP")
	if s.Refusal != "" {
		stop = "SAFETY"
	}
	w.chunk(nil, stop)
	w.out[len(w.out)-1].final = true
	return w.out
}

type geminiWriter struct {
	out   []event
	n     int
	model string
	usage Usage
}

// chunk writes a part, or with finish the end.
func (w *geminiWriter) chunk(part any, finish string) {
	candidate := object{"index": 0}
	if part != nil {
		candidate["content"] = object{"parts": []any{part}, "role": "model"}
	}
	out := object{"candidates": []any{candidate}, "modelVersion": w.model, "responseId": fmt.Sprintf("resp_%d", w.n)}
	u := w.usage
	answer := u.Output - u.Reasoning
	if finish != "" {
		candidate["finishReason"] = finish
	} else {
		answer = min(int64(len(w.out)), answer)
	}
	if u.Mode != "missing" && (finish != "" || u.Mode == "growing") {
		counts := object{"promptTokenCount": u.Input + u.CacheRead, "candidatesTokenCount": answer, "totalTokenCount": u.Input + u.CacheRead + answer + u.Reasoning}
		if u.CacheRead > 0 {
			counts["cachedContentTokenCount"] = u.CacheRead
		}
		if u.Reasoning > 0 {
			counts["thoughtsTokenCount"] = u.Reasoning
		}
		out["usageMetadata"] = counts
	}
	w.out = append(w.out, event{data: raw(out)})
}

// geminiModel returns the model that the path of a request names.
func geminiModel(path string) string {
	_, rest, _ := strings.Cut(path, "/models/")
	model, _, _ := strings.Cut(rest, ":")
	return model
}

// geminiRequest is a request of streamGenerateContent.
type geminiRequest struct {
	Contents []struct {
		Role  string       `json:"role"`
		Parts []geminiPart `json:"parts"`
	} `json:"contents"`
	Tools []struct {
		Functions []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		MaxOutput *int64 `json:"maxOutputTokens"`
	} `json:"generationConfig"`
}

type geminiPart struct {
	Text     string          `json:"text"`
	Thought  bool            `json:"thought"`
	Call     *geminiFunction `json:"functionCall"`
	Response *geminiFunction `json:"functionResponse"`
}

type geminiFunction struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

func readGemini(r *http.Request, body []byte, out *request) string {
	var in geminiRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return "the body is not valid: " + err.Error()
	}
	out.model = geminiModel(r.URL.Path)
	switch {
	case out.model == "":
		return "the path has no model"
	case r.URL.RawQuery != "alt=sse":
		return "the query is not alt=sse"
	case len(in.Contents) == 0:
		return "contents is empty"
	case in.Contents[0].Role != "user":
		return "the first content is not the user's"
	case in.Config.MaxOutput == nil:
		return "generationConfig.maxOutputTokens is missing"
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			if f.Name == "" || !isObject(f.Schema) {
				return fmt.Sprintf("the function %q has no parametersJsonSchema", f.Name)
			}
			out.tools = append(out.tools, f.Name)
		}
	}
	return in.contents(out)
}

// contents checks that a content answers exactly the calls of the one before.
func (in *geminiRequest) contents(out *request) string {
	var open []string
	for i, c := range in.Contents {
		var calls, answered []string
		out.role = map[string]string{"user": "user", "model": "assistant"}[c.Role]
		out.texts = nil
		out.results = nil
		if out.role == "" || len(c.Parts) == 0 {
			return fmt.Sprintf("contents[%d] has the role %q or no parts", i, c.Role)
		}
		for _, p := range c.Parts {
			switch {
			case p.Call != nil:
				calls = append(calls, p.Call.ID+" "+p.Call.Name)
			case p.Response != nil && !isObject(p.Response.Response):
				return fmt.Sprintf("contents[%d] has a response that is not an object", i)
			case p.Response != nil:
				answered = append(answered, p.Response.ID+" "+p.Response.Name)
				out.results = append(out.results, string(p.Response.Response))
			case p.Text != "" && !p.Thought:
				out.texts = append(out.texts, p.Text)
			}
		}
		if !slices.Equal(open, answered) {
			return fmt.Sprintf("contents[%d] answers the calls %q, not %q", i, answered, open)
		}
		open = calls
	}
	return unanswered(open)
}

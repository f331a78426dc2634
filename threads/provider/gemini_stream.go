package provider

import (
	"encoding/json"
	"slices"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// geminiStream reads the chunks of POST /v1beta/models/MODEL:streamGenerateContent.
type geminiStream struct {
	origin    wire
	turn      int // for ids of calls that the service did not name
	id, model string
	blocks    []message.Block
	text      *geminiText // the text that may go on in the next part
	calls     int
	usage     *geminiUsage
	finish    string
	blocked   bool // the service refused the request
}

// geminiText is a text without a signature, which arrives in several parts.
type geminiText struct {
	growing
	thought bool
}

func (s *geminiStream) event(e httpx.Event) ([]message.Delta, error) {
	chunk, err := readFields(e.Data)
	if err != nil {
		return nil, malformed("a chunk: %v", err)
	}
	if chunk.get("error") != nil {
		return nil, errorIn(e.Data)
	}
	if id := chunk.text("responseId"); id != "" {
		s.id = id
	}
	if model := chunk.text("modelVersion"); model != "" {
		s.model = model
	}
	if raw := chunk.get("usageMetadata"); raw != nil {
		// Counts are totals: those of the last chunk are true.
		s.usage = &geminiUsage{}
		if err := json.Unmarshal(raw, s.usage); err != nil {
			return nil, malformed("usageMetadata: %v", err)
		}
	}
	if feedback, err := readFields(chunk.get("promptFeedback")); err == nil && feedback.text("blockReason") != "" {
		s.finish, s.blocked = feedback.text("blockReason"), true
	}
	var out []message.Delta
	for _, raw := range elements(chunk.get("candidates")) {
		deltas, err := s.candidate(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, deltas...)
	}
	return out, nil
}

func (s *geminiStream) candidate(raw []byte) ([]message.Delta, error) {
	candidate, err := readFields(raw)
	if err != nil {
		return nil, malformed("a candidate: %v", err)
	}
	if index := candidate.get("index"); index != nil && string(index) != "0" {
		return nil, nil
	}
	content, err := readFields(candidate.get("content"))
	if err != nil && candidate.get("content") != nil {
		return nil, malformed("the content of a candidate: %v", err)
	}
	var out []message.Delta
	for _, raw := range elements(content.get("parts")) {
		deltas, err := s.part(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, deltas...)
	}
	if reason := candidate.text("finishReason"); reason != "" {
		s.finish = reason
	}
	return out, nil
}

// part reads a part. A part with members that rye does not know, such as a signature,
// stays a block of its own: the service checks it.
func (s *geminiStream) part(raw []byte) ([]message.Delta, error) {
	part, err := readFields(raw)
	if err != nil {
		return nil, malformed("a part: %v", err)
	}
	text, thought := part.text("text"), string(part.get("thought")) == "true"
	kind := message.DeltaText
	if thought {
		kind = message.DeltaReasoning
	}
	if part.get("text") != nil && part.only("text", "thought") {
		if text == "" {
			return nil, nil
		}
		if s.finish != "" {
			return nil, afterFinish()
		}
		if s.text == nil || s.text.thought != thought {
			s.flush()
			s.text = &geminiText{thought: thought}
		}
		s.text.WriteString(text)
		return watch(kind, text, ""), nil
	}
	if s.finish != "" {
		return nil, afterFinish()
	}
	s.flush()
	b := message.Block{Type: message.Opaque}
	var out []message.Delta
	switch {
	case part.get("functionCall") != nil:
		if b, err = s.call(part.get("functionCall")); err != nil {
			return nil, err
		}
		out = []message.Delta{{Kind: message.DeltaCallStart, CallID: b.ID, Name: b.Name}, {Kind: message.DeltaToolInput, CallID: b.ID, Text: string(b.Input)}}
	case thought:
		b.Type = message.Reasoning
		out = watch(kind, text, "")
	case text != "":
		b = message.TextBlock(text)
		out = watch(kind, text, "")
	}
	s.blocks = append(s.blocks, s.origin.mark(b, slices.Clone(raw)))
	return out, nil
}

func afterFinish() error { return malformed("a part after finishReason") }

// flush ends the text so far.
func (s *geminiStream) flush() {
	switch {
	case s.text == nil:
	case s.text.thought:
		raw := object(field{"text", s.text.raw()}, field{"thought", []byte("true")})
		s.blocks = append(s.blocks, s.origin.mark(message.Block{Type: message.Reasoning}, raw))
	default:
		s.blocks = append(s.blocks, message.TextBlock(s.text.String()))
	}
	s.text = nil
}

func (s *geminiStream) call(raw []byte) (message.Block, error) {
	call, err := readFields(raw)
	if err != nil {
		return message.Block{}, malformed("a functionCall: %v", err)
	}
	// Arguments in pieces have to be asked for, and rye does not.
	if call.get("partialArgs") != nil || string(call.get("willContinue")) == "true" {
		return message.Block{}, malformed("the arguments of %s arrive in pieces", call.text("name"))
	}
	s.calls++
	b := message.Block{Type: message.ToolCall, ID: call.text("id"), Name: call.text("name")}
	if b.ID == "" {
		b.ID = callID(s.turn, s.calls)
	}
	return arguments(b, string(call.get("args"))), nil
}

func (s *geminiStream) end() (message.Response, error) {
	switch s.finish {
	case "":
		return message.Response{}, incomplete("finishReason")
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
		return message.Response{}, malformed("the service could not read a call of the model: %s", s.finish)
	}
	s.flush()
	r := message.Response{Blocks: s.blocks, Stop: message.StopEnd, StopRaw: s.finish, Model: s.model, ID: s.id}
	switch s.finish {
	case "MAX_TOKENS":
		r.Stop = message.StopMaxOutput
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		r.Stop = message.StopRefusal
	default:
		if s.calls > 0 {
			r.Stop = message.StopToolCalls
		}
	}
	if s.blocked {
		r.Stop = message.StopRefusal
	}
	r.Usage, _ = s.seen()
	return r, nil
}

func (s *geminiStream) seen() (message.Usage, bool) {
	if s.usage == nil {
		return message.Usage{}, false
	}
	u := s.usage
	return tokens(max(u.Prompt, 0)+max(u.ToolPrompt, 0), u.Cached, 0, max(u.Candidates, 0)+max(u.Thoughts, 0), u.Thoughts), true
}

// geminiUsage is the usage of the service: thoughts are not part of the answer.
type geminiUsage struct {
	Prompt     int64 `json:"promptTokenCount"`
	ToolPrompt int64 `json:"toolUsePromptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
}

package provider

import (
	"slices"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// geminiStream reads the chunks of POST /v1beta/models/MODEL:streamGenerateContent.
type geminiStream struct {
	c         *Config
	origin    wire
	id, model string
	blocks    []message.Block
	text      *geminiText // the text that may continue in the next part
	calls     calls
	blockOf   map[*call]int // the block that a call is
	pieces    *geminiPieces // the call whose arguments are not complete, or nil
	usage     fields
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
	if chunk.get("error") != nil || chunk.get("candidates") == nil && chunk.statesError() {
		return nil, errorIn(e.Data)
	}
	if id := chunk.text("responseId"); id != "" {
		s.id = id
	}
	if model := chunk.text("modelVersion"); model != "" {
		s.model = model
	}
	if usage, err := readFields(chunk.get("usageMetadata")); err == nil {
		s.usage = usage // counts are totals: the last chunk has the true ones
	}
	if feedback, err := readFields(chunk.get("promptFeedback")); err == nil && feedback.text("blockReason") != "" {
		s.finish = feedback.text("blockReason")
		s.blocked = true
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
	index := candidate.get("index")
	if index != nil && string(index) != "0" {
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
	text := part.text("text")
	thought := string(part.get("thought")) == "true"
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
		if s.pieces != nil {
			return nil, s.pieces.interrupted()
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
	if part.get("functionCall") != nil {
		return s.call(part, raw)
	}
	if s.pieces != nil {
		return nil, s.pieces.interrupted()
	}
	b := message.Block{Type: message.Opaque}
	var out []message.Delta
	switch {
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
		raw := object(
			field{"text", s.text.raw()},
			field{"thought", []byte("true")},
		)
		s.blocks = append(s.blocks, s.origin.mark(
			message.Block{Type: message.Reasoning},
			raw,
		))
	default:
		s.blocks = append(s.blocks, message.TextBlock(s.text.String()))
	}
	s.text = nil
}

// call reads a part with a call, which is whole or a piece.
func (s *geminiStream) call(part fields, raw []byte) ([]message.Delta, error) {
	f, err := readFields(part.get("functionCall"))
	if err != nil {
		return nil, malformed("a functionCall: %v", err)
	}
	at := len(s.blocks)
	if s.pieces != nil ||
		f.get("partialArgs") != nil ||
		string(f.get("willContinue")) == "true" {
		whole, err := s.callPiece(part, f)
		if whole == nil {
			return nil, err
		}
		f = s.pieces.call
		at = s.pieces.block
		raw = whole
		s.pieces = nil
	} else {
		s.blocks = append(s.blocks, message.Block{})
	}
	args := f.get("args")
	if args == nil {
		args = []byte("{}") // the service leaves an empty object out
	}
	if f.text("name") == "" {
		return nil, unreadable("a call has no name")
	}
	c, out, err := s.calls.add(piece{
		id:    f.text("id"),
		name:  f.text("name"),
		args:  args,
		fresh: true,
	})
	if err != nil {
		return nil, err
	}
	s.setBlock(c, at, raw)
	return out, nil
}

// setBlock makes a call the block at an index.
func (s *geminiStream) setBlock(c *call, at int, raw []byte) {
	if s.blockOf == nil {
		s.blockOf = map[*call]int{}
	}
	s.blockOf[c] = at
	s.blocks[at] = s.origin.mark(
		message.Block{Type: message.Opaque},
		slices.Clone(raw),
	)
}

func (s *geminiStream) end() (message.Response, error) {
	if s.finish == "" {
		return message.Response{}, incomplete("finishReason")
	}
	stop := message.StopRefusal
	err := error(nil)
	if !s.blocked {
		stop, err = s.c.stopOf(s.finish)
	}
	if err != nil {
		return message.Response{}, err
	}
	if p := s.pieces; p != nil {
		if stop != message.StopMaxOutput {
			return message.Response{}, unreadable("the arguments of %s are not complete", short(p.call.text("name")))
		}
		// The answer was cut within the arguments: as a text, they are a part of an object.
		c, _, err := s.calls.add(piece{
			id:    p.call.text("id"),
			name:  p.call.text("name"),
			args:  encoded("{"),
			fresh: true,
		})
		if err != nil {
			return message.Response{}, err
		}
		s.setBlock(c, p.block, object(field{"functionCall", object(p.call...)}))
	}
	called, err := s.calls.end(stop == message.StopMaxOutput, func(_ *call, b message.Block) message.Block {
		return b
	})
	if err != nil {
		return message.Response{}, err
	}
	s.flush()
	for i, c := range s.calls.list {
		at := s.blockOf[c]
		s.blocks[at] = s.origin.mark(called[i], s.blocks[at].Raw)
	}
	r := message.Response{
		Blocks:  s.blocks,
		Stop:    stop,
		StopRaw: s.finish,
		Model:   s.model,
		ID:      s.id,
	}
	if len(called) > 0 && r.Stop == message.StopEnd {
		r.Stop = message.StopToolCalls
	}
	r.Usage = s.seen().Usage
	return r, nil
}

// seen returns the counts: thoughts are not part of the candidates.
func (s *geminiStream) seen() counts {
	if s.usage == nil {
		return counts{}
	}
	var c counted
	prompt := c.read(s.usage, "promptTokenCount")
	toolPrompt := c.read(s.usage, "toolUsePromptTokenCount")
	candidates := c.read(s.usage, "candidatesTokenCount")
	thoughts := c.read(s.usage, "thoughtsTokenCount")
	t := totals{cached: c.read(s.usage, "cachedContentTokenCount"), reasoning: thoughts, total: c.read(s.usage, "totalTokenCount")}
	if prompt != nil {
		in := *prompt + value(toolPrompt)
		t.input = &in
	}
	if candidates != nil || thoughts != nil {
		out := value(candidates) + value(thoughts)
		t.output = &out
	}
	t.doubtful = c.doubtful
	return t.counts()
}

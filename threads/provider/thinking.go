package provider

import (
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// thinkingTags are the marks with which models write their reasoning into the text.
func thinkingTags() [][2]string {
	return [][2]string{
		{"<think>", "</think>"},
		{"<thinking>", "</thinking>"},
		{"<reasoning>", "</reasoning>"},
		{"<seed:think>", "</seed:think>"},
		{"[THINK]", "[/THINK]"},
		{"◁think▷", "◁/think▷"},
	}
}

// thinkingText divides a text that arrives in pieces into the reasoning at its beginning and
// the answer. Later marks are a part of the answer: their meaning is not certain.
type thinkingText struct {
	held  string // may be a part of a mark
	close string // the mark that ends the reasoning, or ""
	plain bool   // the rest is the answer
	found bool
}

// feed returns the thought and the answer that a piece adds.
func (t *thinkingText) feed(text string) (thought, answer string) {
	if t.plain {
		return "", text
	}
	t.held += text
	if t.close == "" && !t.opens() {
		if t.plain {
			answer = t.held
			t.held = ""
		}
		return "", answer
	}
	before, after, closed := strings.Cut(t.held, t.close)
	if closed {
		t.plain = true
		t.held = ""
		return before, strings.TrimLeft(after, "\r\n")
	}
	keep := 0
	for n := min(len(t.close)-1, len(t.held)); n > 0 && keep == 0; n-- {
		if strings.HasPrefix(t.close, t.held[len(t.held)-n:]) {
			keep = n
		}
	}
	thought = t.held[:len(t.held)-keep]
	t.held = t.held[len(t.held)-keep:]
	return thought, ""
}

// opens reports whether what is held begins with a mark, which it removes.
func (t *thinkingText) opens() bool {
	begin := strings.TrimLeft(t.held, " \t\r\n")
	possible := begin == ""
	for _, tag := range thinkingTags() {
		if rest, ok := strings.CutPrefix(begin, tag[0]); ok {
			t.held = strings.TrimLeft(rest, "\r\n")
			t.close = tag[1]
			t.found = true
			return true
		}
		possible = possible || strings.HasPrefix(tag[0], begin)
	}
	t.plain = !possible
	return false
}

// end returns the held thought and answer at the end of the text.
func (t *thinkingText) end() (thought, answer string) {
	held := t.held
	t.held = ""
	t.plain = true
	if t.close != "" {
		return held, ""
	}
	return "", held
}

// splitThinking makes reasoning of the marked beginning of an answer. It goes back to no
// model: services whose models write it want the answers without it.
func splitThinking(r *message.Response) bool {
	for i, b := range r.Blocks {
		if b.Type == message.Reasoning || b.Type == message.Opaque {
			continue
		}
		if b.Type != message.Text {
			return false
		}
		t := &thinkingText{}
		thought, answer := t.feed(b.Text)
		lastThought, lastAnswer := t.end()
		if !t.found {
			return false
		}
		thought = strings.TrimSpace(thought + lastThought)
		b.Text = answer + lastAnswer
		var parts []message.Block
		if thought != "" {
			parts = append(parts, wire{dialect: textDialect, model: r.Model}.mark(
				message.Block{Type: message.Reasoning},
				object(field{"text", encoded(thought)}),
			))
		}
		if b.Text != "" || len(b.Raw) > 0 {
			parts = append(parts, b)
		}
		r.Blocks = append(
			append(r.Blocks[:i:i], parts...),
			r.Blocks[i+1:]...,
		)
		return true
	}
	return false
}

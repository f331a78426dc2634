package provider

import (
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// charactersPerToken is more than a token of ordinary text has on average, where a run of
// one repeated character is one character. Measured with the tokenizers o200k, cl100k and
// Claude's: Go and YAML 3 to 4, JSON 2 to 3, English prose 4.8, German 5.8, Russian 4,
// Chinese, Hindi, Thai and Tamil 1 to 4; a sentence of the longest English words only, 10.7.
// Bytes are no measure: Hindi has 9.7 bytes a token.
const charactersPerToken = 12

// characters counts the characters of a text that arrives in pieces. A run of one character
// counts once, because tokenizers have tokens for long runs of spaces and lines.
type characters struct {
	n    int64
	last rune
	part string // of a character that a piece ends within
}

func (c *characters) add(text string) {
	if c.part != "" {
		text = c.part + text
		c.part = ""
	}
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 && !utf8.FullRuneInString(text) {
			c.part = text
			return
		}
		if r != c.last || c.n == 0 {
			c.n++
		}
		c.last = r
		text = text[size:]
	}
}

// tokens returns the fewest tokens that the text can have.
func (c *characters) tokens() int64 {
	return c.n / charactersPerToken
}

// leastInput returns the fewest tokens that a request can have: the tokens of the texts that a
// model reads. Schemas of tools, images and the blocks that only the service reads are left
// out, because services count them in ways of their own or not at all.
func leastInput(req message.Request) int64 {
	var c characters
	var add func(blocks []message.Block)
	add = func(blocks []message.Block) {
		for i := range blocks {
			b := &blocks[i]
			c.add(b.Text)
			c.add(string(b.Input))
			add(b.Content)
		}
	}
	add(req.System)
	for _, t := range req.Tools {
		c.add(t.Description)
	}
	for _, m := range req.Messages {
		add(m.Blocks)
	}
	return c.tokens()
}

// leastOutput returns the fewest tokens that the text and the calls of an answer can have.
func leastOutput(blocks []message.Block) int64 {
	var c characters
	for i := range blocks {
		c.add(blocks[i].Text)
		c.add(blocks[i].Name)
		c.add(string(blocks[i].Input))
		c.add(blocks[i].InvalidInput)
	}
	return c.tokens()
}

// counted returns the usage of a complete answer: the counts of the service, or the estimate of
// what it did not state, and at least the floors of what was sent and received.
func (a *attempt) counted(r *message.Response) message.Usage {
	u := a.dec.seen().estimated(a.input, half(a.bytes))
	return a.raised(u, max(a.received.tokens(), leastOutput(r.Blocks)))
}

// raised returns counts that are at least the floors.
// A lower maximum is reserved as the raised one.
func (a *attempt) raised(u message.Usage, output int64) message.Usage {
	input := max(0, a.least-u.InputTotal())
	output = max(0, output-u.Output)
	u.Input += input
	u.Output += output
	u.Raised = input + output
	return a.whole(u)
}

// whole adds the difference between all counts and the counts of the single models to the
// counts of the model that was asked: the price is the sum of the parts.
func (a *attempt) whole(u message.Usage) message.Usage {
	if len(u.ByModel) == 0 {
		return u
	}
	rest := message.Usage{Input: u.InputTotal(), Output: u.Output}
	for _, part := range u.ByModel {
		rest.Input -= part.Usage.InputTotal()
		rest.Output -= part.Usage.Output
	}
	rest.Input = max(0, rest.Input)
	rest.Output = max(0, rest.Output)
	if rest.Total() > 0 {
		u.ByModel = append(
			u.ByModel[:len(u.ByModel):len(u.ByModel)],
			message.ModelUsage{Model: a.m.ID, Usage: rest},
		)
	}
	return u
}

// broken returns the usage of an answer that did not arrive whole: the counts so far, and the
// most that the bytes of the answer can be, within what was reserved. One that was stopped
// because it did not end is all that was reserved.
func (a *attempt) broken(reason string) message.Usage {
	usage := a.dec.seen().estimated(a.input, 0)
	received := half(a.bytes)
	if reason == endless {
		received = a.most
	}
	usage.Output = max(usage.Output, min(usage.Output+received, a.most))
	usage.Assumed = 1
	return a.whole(usage)
}

// The bytes of a stream for one token, with the rest of an event around a piece of text, and
// the bytes of a stream without any token.
const (
	wirePerToken = 1 << 10
	wireLeast    = 1 << 20
)

// endless is the reason of a stream that is longer than what was reserved for it.
const endless = "endless"

// within returns an error if the stream is longer than the longest answer that the request
// permits: a service that ignores the maximum would be paid for without one.
func (a *attempt) within(e httpx.Event) error {
	a.wire += int64(len(e.Data) + len(e.Name))
	if a.received.tokens() <= a.most && a.wire <= wireLeast+a.most*wirePerToken {
		return nil
	}
	return diag.New(diag.ProviderError, "reading the stream of the model: it has not ended after %d bytes; the request permits %d tokens", a.wire, a.most).
		WithReason(endless).
		WithDetail("bytes", a.wire).
		WithDetail("max_output", a.most)
}

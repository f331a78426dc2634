package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// Encode returns the body that Call sends for a request.
func (c *Config) Encode(req message.Request) ([]byte, error) {
	_, _, body, err := c.prepare(req)
	return body, err
}

func (c *Config) prepare(req message.Request) (*Model, shaped, []byte, error) {
	m, err := c.Model(req.Model)
	if err != nil {
		return nil, shaped{}, nil, err
	}
	err = errors.Join(checkTemperature(req.Temperature), c.CheckInput(req))
	if err != nil {
		return nil, shaped{}, nil, diag.New(diag.ValidationFailed, "calling %s: %w", c.ID, err)
	}
	s := c.shape(req, m)
	body, err := c.encode(s, m)
	return m, s, body, err
}

// Call sends a request once and returns the complete response. onDelta receives its
// parts as they arrive; nil ignores them. The error of an attempt that was made is a
// *Failure, whose Usage is to be settled. A response is complete only if the dialect's
// proof of the end arrived: otherwise nothing of it is returned.
func (c *Config) Call(
	ctx context.Context,
	req message.Request,
	onDelta func(message.Delta),
) (message.Response, error) {
	return c.call(ctx, req, onDelta, &oddities{})
}

func (c *Config) call(
	ctx context.Context,
	req message.Request,
	onDelta func(message.Delta),
	odd *oddities,
) (message.Response, error) {
	m, s, body, err := c.prepare(req)
	if err != nil {
		return message.Response{}, err
	}
	images, imageBytes := m.mediaOf(req)
	a := &attempt{
		c:       c,
		m:       m,
		req:     s,
		onDelta: onDelta,
		odd:     odd,
		input:   half(int64(len(body))-imageBytes) + images,
		least:   leastInput(req),
	}
	a.most, _ = m.output(req)
	// In the modes text and schema the parts are calls and texts only when the whole is
	// known.
	a.quiet = c.Tools.Mode != "native" && len(req.Tools) > 0
	if c.Program != nil {
		return c.callProgram(ctx, a, body)
	}
	reply, err := c.Send(
		ctx,
		strings.ReplaceAll(c.URL, "{model}", url.PathEscape(m.ID)),
		body,
	)
	if err != nil {
		f := c.failure(err, func(s string) string { return s })
		// The service may have read the request before the time or the user ended it.
		if f.Err.Code == diag.Timeout || f.Err.Code == diag.Cancelled {
			f.Usage = message.Usage{Input: a.input, Assumed: 1}
		}
		return message.Response{}, f
	}
	defer reply.Close()
	if reply.Stream == nil {
		return message.Response{}, c.statusFailure(reply)
	}
	r, err := a.read(reply)
	if err == nil {
		err = a.finish(&r)
	}
	if err != nil {
		return message.Response{}, a.failure(err, reply)
	}
	a.announce(r)
	return r, nil
}

// attempt is one call in progress.
type attempt struct {
	c       *Config
	m       *Model
	req     shaped
	onDelta func(message.Delta)
	quiet   bool  // deltas follow when the response is complete
	input   int64 // estimate of the input tokens
	least   int64 // input tokens that the request has at least
	most    int64 // output tokens that are reserved
	bytes   int64 // of the answer so far
	wire    int64 // bytes of its events so far
	dec     decoder
	odd     *oddities
	thought thinkingText

	received characters // of the answer so far
}

func (a *attempt) read(reply *httpstep.Reply) (message.Response, error) {
	a.dec = a.c.decoder(a.req, a.m, a.odd)
	err := readEvents(reply.Stream, a.c.framing(), a.odd, func(e httpx.Event) error {
		if string(bytes.TrimSpace(e.Data)) == doneMark && a.c.Dialect != Chat {
			return nil // some services write it in other dialects too; it proves nothing there
		}
		// What rye keeps as it was written goes back in the next request, and no service reads that.
		e.Data = bytes.ToValidUTF8(e.Data, []byte("\uFFFD"))
		deltas, err := a.dec.event(e)
		for _, d := range deltas {
			a.watched(d)
		}
		if err == nil {
			err = a.within(e)
		}
		return err
	})
	if err != nil {
		return message.Response{}, err
	}
	thought, answer := a.thought.end()
	a.show(message.Delta{Kind: message.DeltaReasoning, Text: thought})
	a.show(message.Delta{Kind: message.DeltaText, Text: answer})
	r, err := a.dec.end()
	if err != nil {
		return r, err
	}
	if r.Model == "" {
		r.Model = a.m.ID
	}
	seen := a.dec.seen()
	r.Usage = a.counted(&r)
	switch {
	case seen.Doubtful > 0:
		a.odd.add(OddCounts)
	case !seen.input || !seen.output:
		a.odd.add(NoCounts)
	}
	return r, nil
}

// watched counts a delta and shows it: text that is reasoning by its marks as reasoning.
func (a *attempt) watched(d message.Delta) {
	a.bytes += int64(len(d.Text) + len(d.Name))
	a.received.add(d.Name)
	a.received.add(d.Text)
	if d.Kind != message.DeltaText {
		a.show(d)
		return
	}
	thought, answer := a.thought.feed(d.Text)
	a.show(message.Delta{Kind: message.DeltaReasoning, Text: thought})
	a.show(message.Delta{Kind: message.DeltaText, Text: answer})
}

func (a *attempt) show(d message.Delta) {
	if a.onDelta == nil ||
		a.quiet ||
		d.Text == "" && d.Kind != message.DeltaCallStart {
		return
	}
	a.onDelta(d)
}

// finish reads what a model wrote into the text: reasoning, and calls. A refused answer has
// no calls: a filter can have cut them.
func (a *attempt) finish(r *message.Response) error {
	if splitThinking(r) {
		a.odd.add(ThinkingInText)
	}
	err := a.c.unshape(a.req, a.req.offered, r)
	if err != nil {
		return err
	}
	if a.c.Tools.Mode == "native" && a.req.readsTextCalls(r) {
		a.odd.add(CallsInText)
	}
	if r.Stop == message.StopToolCalls && len(r.Calls()) == 0 {
		return unreadable("the answer ended with %s, and no call arrived", short(r.StopRaw))
	}
	if r.Stop == message.StopRefusal {
		r.Blocks = slices.DeleteFunc(r.Blocks, func(b message.Block) bool {
			return b.Type == message.ToolCall
		})
	}
	return nil
}

// failure completes the failure of a stream: what arrived is billed, by the counts so
// far and by the size of the answer.
func (a *attempt) failure(err error, reply *httpstep.Reply) *Failure {
	f := a.c.failure(err, reply.Redact)
	f.Headers = retryHeaders(reply.Header)
	if f.StatusCode == 0 {
		f.StatusCode = reply.Status
	}
	f.Usage = a.broken(f.Reason)
	f.OutputBytes = a.bytes
	return f
}

// announce reports the parts of a response that was held back.
func (a *attempt) announce(r message.Response) {
	if a.onDelta == nil || !a.quiet {
		return
	}
	for _, b := range r.Blocks {
		switch b.Type {
		case message.Text:
			a.onDelta(message.Delta{Kind: message.DeltaText, Text: b.Text})
		case message.ToolCall:
			a.onDelta(message.Delta{Kind: message.DeltaCallStart, CallID: b.ID, Name: b.Name})
			a.onDelta(message.Delta{Kind: message.DeltaToolInput, CallID: b.ID, Text: string(b.Input) + b.InvalidInput})
		}
	}
}

// CountTokens asks the service for the number of input tokens of a request. The item
// must have count_tokens.
func (c *Config) CountTokens(ctx context.Context, req message.Request) (int64, error) {
	_, _, body, err := c.prepare(req)
	if err != nil {
		return 0, err
	}
	fs, err := readFields(body)
	if err != nil || c.CountURL == "" {
		return 0, diag.New(diag.ConfigError, "counting tokens with %s: the item has no count_tokens", c.ID)
	}
	for _, key := range append(sortedKeys(c.Body.Add), "max_tokens", "stream", "temperature") {
		fs.set(key, nil)
	}
	reply, err := c.Send(ctx, c.CountURL, object(fs...))
	if err != nil {
		return 0, c.failure(err, func(s string) string { return s })
	}
	defer reply.Close()
	if reply.Stream == nil {
		return 0, c.statusFailure(reply)
	}
	var out struct {
		Input *int64 `json:"input_tokens"`
	}
	err = json.NewDecoder(reply.Stream).Decode(&out)
	if err != nil || out.Input == nil || *out.Input < 0 {
		return 0, c.failure(diag.New(diag.ParsingError, "counting tokens with %s: the response has no input_tokens", c.ID), reply.Redact)
	}
	return *out.Input, nil
}

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
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
	if err := errors.Join(checkTemperature(req.Temperature), c.CheckInput(req)); err != nil {
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
func (c *Config) Call(ctx context.Context, req message.Request, onDelta func(message.Delta)) (message.Response, error) {
	m, s, body, err := c.prepare(req)
	if err != nil {
		return message.Response{}, err
	}
	images, imageBytes := imagesOf(req)
	a := &attempt{c: c, m: m, req: s, onDelta: onDelta, input: half(int64(len(body))-imageBytes) + images*m.imageTokens()}
	// In the modes text and schema the parts are calls and texts only when the whole is
	// known.
	a.quiet = c.Tools.Mode != "native" && len(req.Tools) > 0
	if c.Program != nil {
		return c.callProgram(ctx, a, body)
	}
	reply, err := c.Send(ctx, strings.ReplaceAll(c.URL, "{model}", url.PathEscape(m.ID)), body)
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
		err = c.unshape(s, req.Tools, &r)
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
	bytes   int64 // of the answer so far
	dec     decoder
}

func (a *attempt) read(reply *httpstep.Reply) (message.Response, error) {
	a.dec = a.c.decoder(a.req, a.m)
	_, err := httpx.Events(reply.Stream, a.c.framing(), func(e httpx.Event) error {
		deltas, err := a.dec.event(e)
		for _, d := range deltas {
			a.bytes += int64(len(d.Text) + len(d.Name))
			if a.onDelta != nil && !a.quiet {
				a.onDelta(d)
			}
		}
		return err
	})
	if err != nil {
		return message.Response{}, err
	}
	r, err := a.dec.end()
	if err != nil {
		return r, err
	}
	if r.Model == "" {
		r.Model = a.m.ID
	}
	if _, stated := a.dec.seen(); !stated {
		r.Usage = message.Usage{Input: a.input, Output: half(a.bytes), Assumed: 1}
	}
	return r, nil
}

// failure completes the failure of a stream: what arrived is billed, by the counts so
// far and by the size of the answer.
func (a *attempt) failure(err error, reply *httpstep.Reply) *Failure {
	f := a.c.failure(err, reply.Redact)
	f.StatusCode, f.Headers = reply.Status, retryHeaders(reply.Header)
	usage, stated := a.dec.seen()
	if !stated {
		usage.Input = a.input
	}
	usage.Output += half(a.bytes)
	usage.Assumed = 1
	f.Usage, f.OutputBytes = usage, a.bytes
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
	if err := json.NewDecoder(reply.Stream).Decode(&out); err != nil || out.Input == nil || *out.Input < 0 {
		return 0, c.failure(diag.New(diag.ParsingError, "counting tokens with %s: the response has no input_tokens", c.ID), reply.Redact)
	}
	return *out.Input, nil
}

// Package message defines what rye and a model exchange: blocks, messages, tool
// definitions, requests, responses and usage, with the JSON form that events of
// a transcript have.
//
// It knows no wire format of a service and no file of a thread.
package message

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Role is the author of a message.
type Role string

// The roles. Results of tools are blocks of a user message.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Type is the kind of a block.
type Type string

// The types of blocks.
const (
	Text       Type = "text"
	Image      Type = "image"
	File       Type = "file"
	ToolCall   Type = "tool_call"
	ToolResult Type = "tool_result"
	Reasoning  Type = "reasoning"
	Opaque     Type = "opaque"
)

// Block is one part of a message. Type states which other fields are used.
type Block struct {
	Type Type

	// Text is the text of a text block.
	Text string

	// Data is the content of an image or a file, MediaType its type such as
	// image/png, and Name the name of a file. Artifact is the id of the content in
	// the artifacts of a thread, its SHA-256 in hex: a log has blocks without Data, and
	// a request has both. An image has Width and Height in pixels, a PDF file has Pages, and
	// Bytes is the length of the content.
	MediaType string
	Data      []byte
	Artifact  string
	Width     int
	Height    int
	Pages     int
	Bytes     int64
	// Prepared states that rye itself has decoded and encoded the image. It is not part
	// of the JSON form.
	Prepared bool

	// ID, Name and Input belong to a tool_call. Input is one JSON value, whose
	// numbers are kept as written. Arguments that are not valid JSON are
	// InvalidInput; Input is then nil.
	ID           string
	Name         string
	Input        json.RawMessage
	InvalidInput string

	// CallID, Content and IsError belong to a tool_result.
	CallID  string
	Content []Block
	IsError bool

	// Raw is a reasoning or opaque block as the service sent it, byte for byte, and also
	// a text or tool_call whose other fields are not the whole block.
	// Dialect, Provider and Model state who can read it.
	Dialect  string
	Provider string
	Model    string
	Raw      []byte
}

// TextBlock returns a block of text.
func TextBlock(s string) Block {
	return Block{Type: Text, Text: s}
}

// ArtifactID returns the id of content in the artifacts of a thread.
func ArtifactID(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// IsMedia reports whether the block is an image or a file.
func (b *Block) IsMedia() bool {
	return b.Type == Image || b.Type == File
}

// Describe returns an image or a file in one line for people: its type, size and name.
func (b *Block) Describe() string {
	words := []string{b.MediaType}
	if b.Width > 0 {
		words = append(words, fmt.Sprintf("%d x %d", b.Width, b.Height))
	}
	if b.Pages > 0 {
		words = append(words, fmt.Sprintf("%d pages", b.Pages))
	}
	size := max(b.Bytes, int64(len(b.Data)))
	if size > 0 {
		words = append(words, fmt.Sprintf("%d kB", (size+999)/1000))
	}
	if b.Name != "" {
		words = append(words, b.Name)
	}
	return "[" + strings.Join(words, " ") + "]"
}

// Message is one message of a conversation.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
}

// ToolDef is a tool that a model may call.
type ToolDef struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the input, an object
}

// Request is one call of a model.
type Request struct {
	Model    string    `json:"model"`
	System   []Block   `json:"system"` // text blocks
	Messages []Message `json:"messages"`
	Tools    []ToolDef `json:"tools"`
	// MaxOutput is the largest number of output tokens, without those that Effort
	// adds for reasoning.
	MaxOutput int64 `json:"max_output"`
	// Effort may be none, low, medium or high; "" is the default of the provider.
	Effort string `json:"effort,omitempty"`
	// Temperature is a decimal number from 0 to 2; "" leaves it to the service.
	Temperature json.Number `json:"temperature,omitempty"`
	// Serial asks the service for at most one call in the response.
	Serial bool `json:"serial,omitempty"`
	// CacheKey is equal for all requests of one conversation: a service that takes one sends
	// them where their beginning is cached. The digest of the request does not include it.
	CacheKey string `json:"cache_key,omitempty"`
}

// Stop is why a response ended.
type Stop string

// The reasons. An answer that ended for another reason is a failure with the word of the
// service. Response.StopRaw has the word.
const (
	StopEnd       Stop = "end"
	StopToolCalls Stop = "tool_calls"
	StopMaxOutput Stop = "max_output"
	StopRefusal   Stop = "refusal"
	StopPause     Stop = "pause"
)

// Response is a complete answer of a model.
type Response struct {
	Blocks  []Block `json:"blocks"`
	Stop    Stop    `json:"stop"`
	StopRaw string  `json:"stop_raw,omitempty"` // as the service wrote it
	Usage   Usage   `json:"usage"`
	Model   string  `json:"model"` // that answered, as the service names it
	ID      string  `json:"id,omitempty"`
}

// Calls returns the tool calls of the response, in order.
func (r *Response) Calls() []Block {
	var out []Block
	for _, b := range r.Blocks {
		if b.Type == ToolCall {
			out = append(out, b)
		}
	}
	return out
}

// Text returns the text of the response, without reasoning.
func (r *Response) Text() string {
	s := ""
	for _, b := range r.Blocks {
		if b.Type == Text {
			s += b.Text
		}
	}
	return s
}

// Usage are the counts of one response. No token is in two counters, except that
// Output includes Reasoning.
type Usage struct {
	Input        int64            `json:"input"` // neither read from a cache nor written to one
	CacheRead    int64            `json:"cache_read,omitempty"`
	CacheWrite5m int64            `json:"cache_write_5m,omitempty"`
	CacheWrite1h int64            `json:"cache_write_1h,omitempty"`
	Output       int64            `json:"output"`
	Reasoning    int64            `json:"reasoning,omitempty"`
	Requests     map[string]int64 `json:"requests,omitempty"` // of tools that the service runs, by name
	// ByModel divides the counts by the model that made them, if more than one did.
	ByModel []ModelUsage `json:"by_model,omitempty"`
	// Raised are the tokens in Input and Output that the service did not state: the bytes
	// that were sent and received have at least so many.
	Raised int64 `json:"raised,omitempty"`
	// Assumed is 1 if the service did not state the counts, so that they are an
	// estimate.
	Assumed int64 `json:"assumed,omitempty"`
	// Doubtful is how many counters the service stated that no answer can have, such as a
	// negative one: they are left out as if they were not stated.
	Doubtful int64 `json:"doubtful,omitempty"`
}

// ModelUsage are the counts of one model.
type ModelUsage struct {
	Model string `json:"model"`
	Usage Usage  `json:"usage"`
}

// InputTotal returns all input tokens, cached or not.
func (u Usage) InputTotal() int64 {
	return u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h
}

// Total returns all tokens.
func (u Usage) Total() int64 {
	return u.InputTotal() + u.Output
}

// Add returns the sum of two usages. ByModel is concatenated.
func (u Usage) Add(v Usage) Usage {
	u.Input += v.Input
	u.CacheRead += v.CacheRead
	u.CacheWrite5m += v.CacheWrite5m
	u.CacheWrite1h += v.CacheWrite1h
	u.Output += v.Output
	u.Reasoning += v.Reasoning
	u.Raised += v.Raised
	u.Assumed += v.Assumed
	u.Doubtful += v.Doubtful
	u.ByModel = append(
		u.ByModel[:len(u.ByModel):len(u.ByModel)],
		v.ByModel...,
	)
	sum := make(map[string]int64, len(u.Requests)+len(v.Requests))
	for name, n := range u.Requests {
		sum[name] += n
	}
	for name, n := range v.Requests {
		sum[name] += n
	}
	u.Requests = nil
	if len(sum) > 0 {
		u.Requests = sum
	}
	return u
}

// DeltaKind is what a Delta is part of.
type DeltaKind string

// The kinds of deltas.
const (
	DeltaText      DeltaKind = "text"
	DeltaReasoning DeltaKind = "reasoning"
	DeltaCallStart DeltaKind = "tool_call_start" // CallID and Name are set
	DeltaToolInput DeltaKind = "tool_input"      // CallID is set
)

// Delta is a part of a response as it arrives. Deltas are for people who watch: only
// the Response is complete and checked.
type Delta struct {
	Kind   DeltaKind `json:"kind"`
	Text   string    `json:"text,omitempty"`
	CallID string    `json:"call_id,omitempty"`
	Name   string    `json:"name,omitempty"`
}

// EnvironmentSource is the source of the system text about the machine and the working copy.
// It differs between machines, so that recorded tests leave it out.
const EnvironmentSource = "environment"

package steps

import (
	"encoding/json"

	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
)

// Call is one call of a tool by the model, with arguments that fit the tool's schema.
type Call struct {
	CallID string          `json:"call_id"`
	Name   string          `json:"name"` // as the model reads it
	Ref    string          `json:"ref"`
	Digest string          `json:"digest,omitempty"`
	Tier   policy.Tier     `json:"tier"`
	Input  json.RawMessage `json:"input"`
}

// Result is the result of a call as the model will read it.
type Result struct {
	CallID     string          `json:"call_id"`
	Ref        string          `json:"ref,omitempty"`
	IsError    bool            `json:"is_error"`
	Content    []message.Block `json:"content"`
	Denied     bool            `json:"denied,omitempty"`  // it was not started
	Skipped    bool            `json:"skipped,omitempty"` // a hook left it out
	Waits      bool            `json:"waits,omitempty"`   // for the answer of a person: it has no content
	DurationMS int64           `json:"duration_ms,omitempty"`
}

package steps

import (
	"encoding/json"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
)

// Material is what compose makes the prompt of, the params of the step. The kernel has
// verified each item in it, merged what a directive extends, and checked the inputs.
type Material struct {
	Directive    DirectiveText  `json:"directive"`
	Inputs       map[string]any `json:"inputs,omitempty"`
	Outputs      []Field        `json:"outputs,omitempty"`
	System       *SystemItem    `json:"system,omitempty"` // nil: the thread has no such text
	Facts        Facts          `json:"facts"`
	Capabilities []policy.Cap   `json:"capabilities,omitempty"` // of the thread

	// Context are the entries of config:agent/agent, then the entries of the directive, after
	// the entries of its base.
	Context []ContextItem `json:"context,omitempty"`
	Hooks   []HookText    `json:"hooks,omitempty"` // of thread_started

	Attachments []message.Block `json:"attachments,omitempty"`
	Message     string          `json:"message,omitempty"` // of the person

	Verbs   []VerbTool `json:"verbs,omitempty"`   // that the thread may use for any item
	Direct  []Offer    `json:"direct,omitempty"`  // the tools that Capabilities match, the preferred ones first
	Accepts []string   `json:"accepts,omitempty"` // kinds of input of the model; absent: text
	Window  int64      `json:"window,omitempty"`
}

// DirectiveText is the directive that a thread follows, with the text of its bases.
// Its input references are not filled in.
type DirectiveText struct {
	Ref     string `json:"ref"`
	Digest  string `json:"digest"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Body    string `json:"body"`
}

// Field is one declared output.
type Field struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"` // "" is string
	Required    bool   `json:"required,omitempty"`
	Description string `json:"description,omitempty"`
}

// Fields returns the outputs of a directive.
func Fields(outputs []item.Input) []Field {
	var out []Field
	for _, o := range outputs {
		out = append(out, Field{
			Name:        o.Name,
			Type:        o.Type,
			Required:    o.Required,
			Description: o.Description,
		})
	}
	return out
}

// SystemItem is the directive whose body is the first system text.
type SystemItem struct {
	Ref    string `json:"ref"`
	Digest string `json:"digest"`
	Text   string `json:"text"`
}

// Facts are the values of texts.facts. They stay the same for the life of a thread, so
// the date has no time of day.
type Facts struct {
	Date      string `json:"date"`
	System    string `json:"system"`
	Project   string `json:"project"`
	Workspace string `json:"workspace"`

	// What differs from machine to machine: a recorded test has none of it.
	Path     string `json:"path,omitempty"` // of the directory in which tools work
	Platform string `json:"platform,omitempty"`
	Shell    string `json:"shell,omitempty"`
	Git      string `json:"git,omitempty"` // branch and state at the start
	// Environment is the whole text about these, in place of them: the text of a recording.
	Environment string `json:"environment,omitempty"`
}

// ContextItem is one entry of context with the text of its item.
type ContextItem struct {
	Ref       string `json:"ref"`
	Digest    string `json:"digest,omitempty"`
	Verdict   string `json:"verdict,omitempty"` // as trust.Verdict.Word
	Draft     bool   `json:"draft,omitempty"`   // the thread has rye.draft for the item
	At        string `json:"at"`                // system, before or after
	Text      string `json:"text,omitempty"`
	MaxTokens int64  `json:"max_tokens,omitempty"`
	Optional  bool   `json:"optional,omitempty"`
	Missing   bool   `json:"missing,omitempty"` // no space has it
}

// Offer is a tool with the item behind it.
type Offer struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Ref         string          `json:"ref,omitempty"`
	Digest      string          `json:"digest,omitempty"`
	Verb        policy.Verb     `json:"verb,omitempty"` // of rye_search, rye_load, rye_execute, rye_sign
	Tier        policy.Tier     `json:"tier"`
}

// VerbTool is one of the four verbs as its item defines it.
type VerbTool struct {
	Offer
	// Items are the ids that the thread may use, if they are known and few.
	Items []string `json:"items,omitempty"`
}

// Prompt is the result of compose.
type Prompt struct {
	System   []SystemText    `json:"system"`
	Message  message.Message `json:"message"`
	Tools    []Offer         `json:"tools"`
	Estimate int64           `json:"estimate"` // tokens
}

// SystemText is one block of the system text.
type SystemText struct {
	Source string `json:"source"`
	Digest string `json:"digest,omitempty"`
	Text   string `json:"text"`
}

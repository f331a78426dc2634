package primary

import (
	"context"
	"encoding/json"
)

// Definition is one of the four verbs as a model sees it. The texts and the
// schema come from the item tool:rye/primary/NAME.
type Definition struct {
	Name         string
	Title        string
	Description  string
	InputSchema  json.RawMessage // root: type object, no further properties
	OutputSchema json.RawMessage // nil: none
	Hints        Hints
}

// Hints tell a client what a verb may do; all four are always said.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Definitions is what a server shows of itself.
type Definitions struct {
	Instructions string
	Tools        []Definition // those that the capability set leaves, sorted by name
}

// Request is one call of a verb with arguments as JSON.
type Request struct {
	Name string // search, load, execute or sign
	Args json.RawMessage
	// Progress hears each line of output while the call works. Nil: nobody does.
	Progress func(line string)
	// Ask puts a yes-or-no question to the person at the client. Nil: the
	// client cannot ask.
	Ask func(ctx context.Context, question string) (bool, error)
}

// Reply is the answer to a Request.
type Reply struct {
	Text       []byte          // the envelope as one compact JSON document, at most MaxReply characters
	Structured json.RawMessage // the same for clients that read it; search only, else nil
	Failed     bool            // the envelope says success: false
	Unknown    bool            // no such verb, or one that the capability set withholds
}

// Prompt is a directive as clients list it.
type Prompt struct {
	Name        string // the directive's id
	Title       string
	Description string
	Arguments   []PromptArgument
}

// PromptArgument is an input of a directive.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
}

// PromptText is a directive with its inputs filled in.
type PromptText struct {
	Description string
	Text        string
}

// Resource is a knowledge item as clients list it.
type Resource struct {
	URI         string // "rye://knowledge/ID"
	Name        string
	Title       string
	Description string
	MIMEType    string
	Size        int64
}

// MaxReply is the largest text of a reply, in characters. What goes beyond is
// in a file that the reply names.
const MaxReply = 40_000

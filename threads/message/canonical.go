package message

import (
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
)

// MaxInputDepth is the deepest nesting of the arguments of a call.
const MaxInputDepth = 100

// Canonical returns the blocks of an answer as a log has them. They are what every reader of the log, the model and a tool
// read: a service, or who writes into its answers, cannot send one value to one of them and a different one to another.
//
// Arguments with two meanings are not arguments: a key twice, half of a surrogate pair, a number that no program can keep, or
// nesting that a program refuses. They become InvalidInput, and the model reads why its call was not made.
func Canonical(blocks []Block) []Block {
	out := make([]Block, len(blocks))
	for i, b := range blocks {
		out[i] = b.canonical()
	}
	return out
}

func (b Block) canonical() Block {
	b.Text = text(b.Text)
	b.MediaType, b.Name, b.Artifact = text(b.MediaType), text(b.Name), text(b.Artifact)
	b.ID, b.CallID, b.InvalidInput = text(b.ID), text(b.CallID), text(b.InvalidInput)
	b.Dialect, b.Provider, b.Model = text(b.Dialect), text(b.Provider), text(b.Model)
	if b.Input != nil {
		b.Input = []byte(text(string(b.Input)))
		if jsonx.Ambiguous(b.Input, MaxInputDepth) != "" {
			b.InvalidInput = string(b.Input)
			b.Input = nil
		}
	}
	if len(b.Content) > 0 {
		b.Content = Canonical(b.Content)
	}
	return b
}

// text returns a text in UTF-8.
func text(s string) string {
	return strings.ToValidUTF8(s, "\uFFFD")
}

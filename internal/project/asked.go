package project

import (
	"context"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/policy"
)

// Asked is the question to a person about a call. An answer for the whole thread permits Rule; one
// for beginnings of commands permits Prefixes, nil if it is not offered.
type Asked struct {
	Thread         string // whose call it is, "" outside of threads
	Question, Rule string
	Prefixes       []string
	Tier           string             // the class of its risk
	Details        []string           // lines about what the call would use
	Change         *policy.FileChange // that the call makes in files, nil without one
	// Queue returns the number of the question and of those that are open, nil for one.
	Queue func() (at, of int)
}

type askedKey struct{}

// AskedOf returns the facts about the call that ctx asks about, without its question. They are
// empty for other questions.
func AskedOf(ctx context.Context) Asked {
	a, ok := ctx.Value(askedKey{}).(*Asked)
	if ok {
		return *a
	}
	return Asked{}
}

// WithAsked returns a context for a question about a call that the log of a run has.
func WithAsked(ctx context.Context, a Asked) context.Context {
	return context.WithValue(ctx, askedKey{}, &a)
}

// ChangesOf returns the lines of a difference, nil if this process cannot show one.
func (e *Env) ChangesOf(dir string, c *policy.FileChange) []string {
	if e.Changes == nil {
		return nil
	}
	return e.Changes(dir, c)
}

// maxRecorded is the size of the largest parameters of a call that the log of a question repeats,
// in bytes of JSON.
const maxRecorded = 256 << 10

// ChangeForLog returns the change that a log has of a question, nil if it is too long for that.
func ChangeForLog(c *policy.FileChange) *policy.FileChange {
	if c == nil {
		return nil
	}
	b, err := jsonx.Marshal(c.Params)
	if err != nil || len(b) > maxRecorded {
		return nil
	}
	return c
}

package project

import (
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/policy"
)

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

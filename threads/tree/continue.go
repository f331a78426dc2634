package tree

import (
	"context"

	"github.com/ryeos/rye/internal/project"
)

// Process is how a person has a thread continue in a process of its own.
type Process struct {
	Limits          []string // NAME=VALUE
	Model, Provider string   // "" is the one of the thread
	Attended        bool     // the person is at a terminal
}

// ContinueProcess continues a thread in a process of its own, and returns the process when the
// log has the line of it. The caller asks the person about its calls.
func ContinueProcess(ctx context.Context, p *project.Project, id string, o Process) (pid int, err error) {
	return continueProcess(ctx, p, id, resumeStart{
		Limits:   o.Limits,
		Model:    o.Model,
		Provider: o.Provider,
		Relayed:  true,
		Attended: o.Attended,
	})
}

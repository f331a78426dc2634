package control

import (
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
)

// Chain returns the threads of a chain, from its root.
func Chain(p *project.Project, id string) ([]threads.Link, error) {
	return threads.Chain(p.Spaces.ProjectDir, id)
}

// EndOfChain returns the last thread of the chain of a thread that has a log. A run of a
// graph is its own chain.
func EndOfChain(p *project.Project, id string) string {
	return endOfChain(p.Spaces.ProjectDir, id)
}

func endOfChain(project, id string) string {
	links, err := threads.Chain(project, id)
	if err != nil {
		return id
	}
	return links[len(links)-1].ID
}

// ChainRoot returns the thread whose account the chain of a thread has.
func ChainRoot(project, id string) string {
	if s, err := threads.ReadStarted(project, id); err == nil {
		return s.Carried.RootOf(id)
	}
	return id
}

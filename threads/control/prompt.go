package control

import (
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/handle"
)

// LastPrompt returns the newest thread of a directive that a person started in this project, or
// outside of projects in this directory.
func LastPrompt(p *project.Project, ref item.Ref) (string, error) {
	return handle.Newest(p.Spaces.ProjectDir, func(s *threads.Started) bool {
		return s.Directive.Ref == ref.String() &&
			(p.SeenDir == nil || s.Workspace.Dir == p.SeenDir.Dir && s.Workspace.Empty == p.SeenDir.Empty)
	})
}

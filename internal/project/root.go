package project

import (
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve/space"
)

// SpaceParams returns the directories in which the spaces on disk are searched.
func (e *Env) SpaceParams() space.Params {
	return space.Params{
		Project: e.Named,
		Dir:     e.Base,
		Home:    e.Home(),
		Getenv:  e.Getenv,
	}
}

// CheckNewProject returns an error if dir, an absolute path, cannot become the root
// of a project: a project there would not be found afterwards, or would be refused
// because dir belongs to another user.
func (e *Env) CheckNewProject(dir string) error {
	if what := e.SpaceParams().Reserved(dir); what != "" {
		return diag.New(diag.Usage, "making a project: %s is %s, which is never a project", dir, what).WithReason("reserved")
	}
	for outer := dir; outer != filepath.Dir(outer); outer = filepath.Dir(outer) {
		if filepath.Base(outer) == space.Dir {
			return diag.New(diag.Usage, "making a project: %s is inside a directory %s", dir, space.Dir).
				WithReason("inside").
				WithDetail("outer", filepath.Dir(outer))
		}
	}
	return (&Project{Env: e, Dirs: e.UserDirs()}).checkOwner(dir)
}

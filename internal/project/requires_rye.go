package project

import (
	"sync"

	"github.com/ryeos/rye/lock"
)

// uncompared has the projects whose requires_rye this program noted that it cannot
// compare with its version. A command may open a project several times.
var uncompared sync.Map

// checkProgram returns an error if rye.yaml requires another version of rye. A file
// that cannot be read is reported by its reader.
func (p *Project) checkProgram() error {
	dir := p.Spaces.ProjectDir
	if dir == "" {
		return nil
	}
	b, err := lock.Dir(dir).ReadFile(lock.ProjectFileName, lock.MaxProjectFile)
	if err != nil {
		return nil // there is no rye.yaml, or its reader reports it
	}
	known, err := lock.CheckProgram(b, p.Env.Version)
	_, noted := uncompared.Load(dir)
	if err == nil && !known && !noted {
		uncompared.Store(dir, true)
		p.Env.Person.Notef("the project requires rye %s; this is a development build, which is not compared", lock.RequiresRye(b))
	}
	return err
}

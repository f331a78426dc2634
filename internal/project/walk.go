package project

import (
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// Verifier returns a resolver for a walk: lenient, and each file is read once.
func (p *Project) Verifier(spaces *space.Spaces) *resolve.Resolver {
	return resolve.New(p.walking(spaces))
}

// Walker is Verifier of the project's spaces for commands that change no item: it uses the
// extractors that the project has read.
func (p *Project) Walker() *resolve.Resolver {
	walking := p.walking(p.Spaces)
	walking.Readers = p.Resolver
	return resolve.New(walking)
}

func (p *Project) walking(spaces *space.Spaces) resolve.Params {
	return resolve.Params{
		Spaces:  spaces,
		Trust:   p.Trust,
		Locked:  p.locks,
		WasTool: p.wasTool,
		Check:   itemcheck.New(p.natives),
		Plain:   p.plain(),
		Lenient: true,
		NoCache: true,
	}
}

// With returns the spaces with another root in place of the project's.
func (p *Project) With(project *space.Root) *space.Spaces {
	s := *p.Spaces
	s.Roots = []*space.Root{project}
	for _, r := range p.Spaces.Roots {
		if r.Space != space.Project {
			s.Roots = append(s.Roots, r)
		}
	}
	return &s
}

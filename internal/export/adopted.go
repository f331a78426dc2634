package export

import (
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock/treehash"
	"github.com/ryeos/rye/packages/adopt"
)

// Usable returns the components of adopted sources that enough people have reviewed. Hooks
// and MCP servers are not among them: other programs execute them. Their files are read
// from the install directories of the project at base when they are written.
func Usable(base string, sources []adopt.Source) ([]Component, error) {
	var out []Component
	for _, s := range sources {
		for _, r := range s.Results {
			if !r.Verdict.OK() {
				continue
			}
			c := Component{
				Kind:   r.Component.Kind,
				Name:   r.Component.Name,
				Source: s.Entry.ID.String(),
			}
			for _, file := range r.Component.Files {
				at, err := adopt.InstalledFile(s.Entry, r.Component, file.Path)
				if err != nil {
					return nil, err
				}
				c.Files = append(c.Files, File{
					Path:       file.Path,
					Digest:     file.Digest,
					Executable: file.Mode == treehash.Executable,
					Read: func() ([]byte, error) {
						b, _, err := openat.Read(base, at, treehash.MaxFile)
						return b, err
					},
				})
			}
			out = append(out, c)
		}
	}
	return out, nil
}

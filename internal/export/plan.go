package export

import (
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Component is a component that enough people have reviewed.
type Component struct {
	Kind   string
	Name   string
	Source string // the id of its source
	Files  []File // sorted by path
}

// File is a file of a component. Read returns bytes with the digest.
type File struct {
	Path       string // relative to the component
	Digest     item.Digest
	Executable bool
	Read       func() ([]byte, error)
}

// Copy is one component at the path where clients read it.
type Copy struct {
	Ref     string   `json:"component"`
	Source  string   `json:"source"`
	Path    string   `json:"path"` // with / at the end for a directory
	Clients []string `json:"clients"`
	files   map[string]File
}

// Plan is what the copies should be.
type Plan struct {
	Copies []*Copy  `json:"copies"`
	Notes  []string `json:"notes,omitempty"` // components that a client cannot read
}

// NewPlan returns the copies of components for clients. Clients that read the same
// directory share a copy.
func NewPlan(t Table, clients []string, components []Component) (*Plan, error) {
	plan := &Plan{}
	byPath := map[string]*Copy{}
	for _, client := range clients {
		kinds, ok := t[client]
		if !ok {
			return nil, diag.New(
				diag.Usage,
				"exporting: the client %q is not known; known are %s",
				client,
				strings.Join(t.Clients(), ", "),
			).
				WithReason("export_client")
		}
		for _, c := range components {
			pattern, ok := kinds[c.Kind]
			if !ok {
				// a text in another format is not converted: the copy would not be the reviewed one
				plan.Notes = append(plan.Notes, "not exported to "+client+": "+c.ref())
				continue
			}
			at := strings.ReplaceAll(pattern, namePart, c.Name)
			// some file systems have one file for both spellings
			key := strings.ToLower(at)
			shared := byPath[key]
			if shared == nil {
				shared = c.copyAt(at)
				byPath[key] = shared
				plan.Copies = append(plan.Copies, shared)
			}
			if shared.Ref != c.ref() || shared.Source != c.Source {
				return nil, diag.New(
					diag.AmbiguousItem,
					"exporting: %s of %s and %s of %s have the same path %s",
					shared.Ref,
					shared.Source,
					c.ref(),
					c.Source,
					at,
				)
			}
			shared.Clients = append(shared.Clients, client)
		}
	}
	slices.SortFunc(plan.Copies, func(a, b *Copy) int {
		return strings.Compare(a.Path, b.Path)
	})
	return plan, nil
}

func (c Component) ref() string {
	return c.Kind + ":" + c.Name
}

// copyAt returns the copy of a component at a path.
func (c Component) copyAt(at string) *Copy {
	out := &Copy{
		Ref:    c.ref(),
		Source: c.Source,
		Path:   at,
		files:  map[string]File{},
	}
	for _, file := range c.Files {
		p := at
		if out.isDir() {
			p = path.Join(at, file.Path)
		}
		out.files[p] = file
	}
	return out
}

func (c *Copy) isDir() bool {
	return strings.HasSuffix(c.Path, "/")
}

// has reports whether a path is the copy or below it.
func (c *Copy) has(p string) bool {
	return p == c.Path || c.isDir() && strings.HasPrefix(p, c.Path)
}

// Package export keeps copies of reviewed components where other programs read them: it
// writes them byte for byte, records them, and finds every difference.
//
// It decides about no review, and overwrites no file that it did not write.
package export

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/policy"
)

// ConfigID is the configuration with the table of clients.
const ConfigID = "export/clients"

// namePart is replaced by the name of a component.
const namePart = "{name}"

// Table has, for each client, the path of the copies of each kind. A path that ends with /
// is a directory.
type Table map[string]map[string]string

// ReadTable reads the layers of ConfigID, the farthest first. A later layer replaces the
// paths of a client.
func ReadTable(layers []policy.Layer) (Table, error) {
	out := Table{}
	for _, layer := range layers {
		r := tree.NewReader(layer.Doc, diag.ValidationFailed)
		clients := r.Map("clients")
		for _, client := range clients.Keys() {
			kinds := clients.Map(client)
			paths := map[string]string{}
			for _, kind := range kinds.Keys() {
				p := kinds.Text(kind)
				if why := wrongPath(p); why != "" {
					kinds.Reject(kind, "%s", why)
				}
				paths[kind] = p
			}
			out[client] = paths
		}
		err := diag.FromFindings("reading "+layer.Name, r.Findings())
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wrongPath returns why copies cannot be at a path of the table, "" if they can.
func wrongPath(p string) string {
	// the layers are the user's, but a mistake must not reach git or the items
	first, _, _ := strings.Cut(p, "/")
	first = strings.ToLower(first)
	switch {
	case strings.Count(p, namePart) != 1:
		return "must have {name} once"
	case openat.CheckRel(strings.TrimSuffix(p, "/")) != nil:
		return "must be a path inside the project"
	case first == ".git" || first == ".ai":
		return "must be outside .git and .ai"
	case strings.Contains(first, namePart):
		return "must have a directory above {name}"
	}
	return ""
}

// Clients returns the names of the clients.
func (t Table) Clients() []string {
	return slices.Sorted(maps.Keys(t))
}

// Directories returns the directories that have copies, each once.
func (t Table) Directories() (out []string) {
	for _, kinds := range t {
		for _, p := range kinds {
			dir, _, _ := strings.Cut(p, namePart)
			out = append(out, path.Clean(dir))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

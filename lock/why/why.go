// Package why explains a lock: the requirements that lead to a bundle, and all of them as a
// tree. It does not read rye.yaml and selects no version.
package why

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ryeos/rye/lock"
)

// Step is one edge of the requirement graph as the lock records it.
type Step struct {
	ID       string `json:"id"`                 // the required bundle
	Wanted   string `json:"wanted"`             // the required version
	Selected string `json:"selected,omitempty"` // the locked version; "" for a workspace member
	From     string `json:"from,omitempty"`     // the requiring bundle: an id, or the path of a member; "" for the root
	Dropped  string `json:"dropped,omitempty"`  // the version of From that requires it, if a different version was selected
}

// Node is one line of the tree.
type Node struct {
	Step
	Seen     bool   `json:"seen,omitempty"` // its needs are shown at its first occurrence
	Children []Node `json:"children,omitempty"`
}

// Path returns a path of requirements from the root, or a workspace member, to a
// bundle: the shortest one to a bundle that requires the locked version, if there is
// one. It is nil if the lock has no such bundle.
func Path(l *lock.Lock, id string) []Step {
	edges := edgesOf(l)
	from := map[string]Step{}
	depth := map[string]int{}
	queue := append([]string{""}, memberNames(l)...)
	for _, at := range queue {
		depth[at] = 0
	}
	var last []Step // the edges to it
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, s := range edges[at] {
			if s.ID == id {
				last = append(last, s)
			}
			if _, known := depth[s.ID]; !known {
				from[s.ID] = s
				depth[s.ID] = depth[at] + 1
				queue = append(queue, s.ID)
			}
		}
	}
	if len(last) == 0 {
		return nil
	}
	// A shorter way to a bundle that requires an older version does not explain the locked one.
	slices.SortStableFunc(last, func(a, b Step) int {
		selected := order(a.Wanted == a.Selected, b.Wanted == b.Selected)
		return cmp.Or(selected, cmp.Compare(depth[a.From], depth[b.From]))
	})
	path := []Step{last[0]}
	at := last[0].From
	for len(path) <= len(from) { // the bundle itself can be on the way: two bundles may require each other
		s, ok := from[at]
		if !ok {
			break
		}
		path = append(path, s)
		at = s.From
	}
	slices.Reverse(path)
	return path
}

// order sorts true before false.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// memberNames returns the names of the members in Step.From.
func memberNames(l *lock.Lock) []string {
	var out []string
	for _, m := range l.Members {
		out = append(out, m.Name())
	}
	return out
}

// Tree returns the requirements of the root and the members, recursively. The needs
// of each bundle appear once, at its first occurrence.
func Tree(l *lock.Lock) []Node {
	edges := edgesOf(l)
	seen := map[string]bool{}
	var out []Node
	for _, s := range edges[""] {
		out = append(out, grow(s, edges, seen))
	}
	for _, m := range l.Members {
		if !seen[m.Name()] {
			out = append(out, grow(Step{ID: m.Name()}, edges, seen))
		}
	}
	return out
}

func grow(s Step, edges map[string][]Step, seen map[string]bool) Node {
	n := Node{Step: s, Seen: seen[s.ID] && len(edges[s.ID]) > 0}
	if seen[s.ID] {
		return n
	}
	seen[s.ID] = true
	for _, c := range edges[s.ID] {
		n.Children = append(n.Children, grow(c, edges, seen))
	}
	return n
}

// edgesOf returns the requirements by the requiring bundle, sorted by id.
func edgesOf(l *lock.Lock) map[string][]Step {
	selected := map[string]string{}
	for _, b := range l.Bundles {
		selected[b.ID.String()] = b.Version
	}
	out := map[string][]Step{}
	add := func(from, dropped string, m lock.Module) {
		id := m.ID.String()
		out[from] = append(out[from], Step{
			ID:       id,
			Wanted:   m.Version,
			Selected: selected[id],
			From:     from,
			Dropped:  dropped,
		})
	}
	for _, b := range l.Bundles {
		if b.Require != "" {
			add("", "", lock.Module{ID: b.ID, Version: b.Require})
		}
		for _, need := range b.Needs {
			add(b.ID.String(), "", need)
		}
		for _, via := range b.Via {
			add(via.ID.String(), via.Version, b.Module())
		}
	}
	for _, m := range l.Members {
		for _, need := range m.Needs {
			add(m.Name(), "", need)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(out)) {
		slices.SortStableFunc(out[from], func(a, b Step) int {
			return cmp.Or(
				cmp.Compare(a.ID, b.ID),
				cmp.Compare(a.Wanted, b.Wanted),
			)
		})
	}
	return out
}

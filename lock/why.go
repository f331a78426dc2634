package lock

import (
	"cmp"
	"maps"
	"slices"
)

// Step is one edge of the requirement graph as the lock records it.
type Step struct {
	ID       string `json:"id"`                 // the required bundle
	Wanted   string `json:"wanted"`             // the required version
	Selected string `json:"selected,omitempty"` // the locked version; "" for a workspace member
	From     string `json:"from,omitempty"`     // the requiring bundle: an id, or the path of a member; "" for the root
	Dropped  string `json:"dropped,omitempty"`  // the version of From that requires it, if another one was selected
}

// Node is one line of the tree.
type Node struct {
	Step
	Seen     bool   `json:"seen,omitempty"` // its needs are shown at its first occurrence
	Children []Node `json:"children,omitempty"`
}

// Why returns a path of requirements from the root, or a workspace member, to a
// bundle: the shortest one to a bundle that requires the locked version, if there is
// one. It is nil if the lock has no such bundle.
func (l *Lock) Why(id string) []Step {
	edges := l.edges()
	from, depth := map[string]Step{}, map[string]int{}
	queue := append([]string{""}, l.memberNames()...)
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
				from[s.ID], depth[s.ID] = s, depth[at]+1
				queue = append(queue, s.ID)
			}
		}
	}
	if len(last) == 0 {
		return nil
	}
	slices.SortStableFunc(last, func(a, b Step) int {
		return cmp.Or(order(a.Wanted == a.Selected, b.Wanted == b.Selected), cmp.Compare(depth[a.From], depth[b.From]))
	})
	path := []Step{last[0]}
	for s, ok := from[last[0].From]; ok && len(path) <= len(from); s, ok = from[s.From] {
		path = append(path, s)
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
func (l *Lock) memberNames() []string {
	var out []string
	for _, m := range l.Members {
		out = append(out, m.name())
	}
	return out
}

func (m Member) name() string {
	return cmp.Or(m.ID.String(), m.Path)
}

// Tree returns the requirements of the root and the members, recursively. The needs
// of each bundle appear once, at its first occurrence.
func (l *Lock) Tree() []Node {
	edges := l.edges()
	seen := map[string]bool{}
	var out []Node
	for _, s := range edges[""] {
		out = append(out, grow(s, edges, seen))
	}
	for _, m := range l.Members {
		if !seen[m.name()] {
			out = append(out, grow(Step{ID: m.name()}, edges, seen))
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

// edges returns the requirements by the requiring bundle, sorted by id.
func (l *Lock) edges() map[string][]Step {
	selected := map[string]string{}
	for _, b := range l.Bundles {
		selected[b.ID.String()] = b.Version
	}
	out := map[string][]Step{}
	add := func(from, dropped string, m Module) {
		id := m.ID.String()
		out[from] = append(out[from], Step{ID: id, Wanted: m.Version, Selected: selected[id], From: from, Dropped: dropped})
	}
	for _, b := range l.Bundles {
		if b.Require != "" {
			add("", "", Module{ID: b.ID, Version: b.Require})
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
			add(m.name(), "", need)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(out)) {
		slices.SortStableFunc(out[from], func(a, b Step) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Wanted, b.Wanted)) })
	}
	return out
}

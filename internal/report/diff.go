package report

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/hidden"
)

// Change is what a component has in one report and not in an earlier one.
type Change struct {
	Ref     string   `json:"component"`
	Scripts []Script `json:"scripts,omitempty"`
	Asks    []string `json:"asks,omitempty"`
	Runs    []string `json:"runs,omitempty"`
	Hosts   []string `json:"hosts,omitempty"`
	Fetches []string `json:"fetches,omitempty"`
	Notices []Notice `json:"notices,omitempty"`
	Packed  []string `json:"packed,omitempty"` // archives and executables
}

// Diff returns the changes of the components that both reports have, without those that
// have nothing new.
func Diff(before, after *Report) (out []Change) {
	for _, now := range after.Components {
		i := slices.IndexFunc(before.Components, func(c Component) bool {
			return c.Ref == now.Ref
		})
		if i < 0 {
			// a new component is shown as a whole
			continue
		}
		change := changeOf(before.Components[i], now)
		lines := change.Lines()
		// the first line is the name alone
		if len(lines) > 1 {
			out = append(out, change)
		}
	}
	return out
}

func changeOf(was, now Component) Change {
	return Change{
		Ref:     now.Ref,
		Scripts: added(was.Scripts, now.Scripts),
		Asks:    added(was.Asks, now.Asks),
		Runs:    added(was.Runs, now.Runs),
		Hosts: added(
			slices.Concat(was.Hosts, was.TextHosts),
			slices.Concat(now.Hosts, now.TextHosts),
		),
		Fetches: added(was.Fetches, now.Fetches),
		Notices: newNotices(was.Notices, now.Notices),
		Packed: added(
			slices.Concat(was.Archives, was.Executables),
			slices.Concat(now.Archives, now.Executables),
		),
	}
}

// added returns the entries that a list did not have.
func added[T comparable](was, now []T) (out []T) {
	for _, entry := range now {
		if !slices.Contains(was, entry) {
			out = append(out, entry)
		}
	}
	return out
}

// newNotices returns the last notices of each kind and file that has more of them: lines
// move when a text changes.
func newNotices(was, now []Notice) (out []Notice) {
	type kind struct{ id, path string }
	count := map[kind]int{}
	for _, n := range was {
		key := kind{n.ID, n.Path}
		count[key]++
	}
	for _, n := range now {
		key := kind{n.ID, n.Path}
		count[key]--
		if count[key] < 0 {
			out = append(out, n)
		}
	}
	return out
}

// Lines returns the text form, which is safe to print: the component, and a line for each
// list that has new entries.
func (c Change) Lines() []string {
	out := []string{c.Ref}
	row := func(name string, entries []string) {
		if len(entries) > 0 {
			out = append(out, hidden.Visible("  new "+name+": "+strings.Join(entries, ", ")))
		}
	}
	row("scripts", scriptTexts(c.Scripts))
	row("archives and executables", c.Packed)
	row("requests", c.Asks)
	row("programs", c.Runs)
	row("hosts", c.Hosts)
	row("fetches", c.Fetches)
	for _, n := range c.Notices {
		row("notice", []string{n.line()})
	}
	return out
}

package main

import (
	"testing"

	rcli "github.com/ryeos/rye/internal/cli"
)

// TestCommandTableIsSound holds what every command of the table owes its user.
func TestCommandTableIsSound(t *testing.T) {
	w := hostWorld()
	root := w.rootCommand()
	var walk func(path []*command)
	walk = func(path []*command) {
		c := path[len(path)-1]
		name := pathName(path)
		if (c.run == nil) == (len(c.subs) == 0) && c != root {
			t.Errorf("%s: a command has either subcommands or a run function", name)
		}
		if c.usage == "" || c.usage[len(c.usage)-1] == '.' {
			t.Errorf("%s: usage %q is empty or ends with a period", name, c.usage)
		}
		if c != root && !c.hidden && c.run != nil && len(c.examples) == 0 {
			t.Errorf("%s: the help has no example", name)
		}
		for _, code := range c.codes {
			if exitMeaning(rcli.ExitStatus(code)) == "" {
				t.Errorf("%s: code %s has no exit status", name, code)
			}
		}
		seen := map[string]bool{}
		for _, p := range path {
			for _, f := range p.flags {
				for _, n := range f.Names() {
					if seen[n] {
						t.Errorf("%s: flag %s is declared twice on the way to it", name, dashed(n))
					}
					seen[n] = true
				}
			}
		}
		names := map[string]bool{}
		for _, s := range c.subs {
			if names[s.name] {
				t.Errorf("%s: two commands are called %s", name, s.name)
			}
			names[s.name] = true
			walk(append(path[:len(path):len(path)], s))
		}
	}
	walk([]*command{root})
}

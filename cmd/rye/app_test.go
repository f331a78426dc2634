package main

import (
	"testing"

	"github.com/ryeos/rye/internal/cli"
)

// TestCommandTableIsSound holds what every command of the table owes its user.
func TestCommandTableIsSound(t *testing.T) {
	root := bothPrograms()
	var walk func(path []*cli.Command)
	walk = func(path []*cli.Command) {
		c := path[len(path)-1]
		name := cli.PathName(path)
		if c.Run == nil && len(c.Subs) == 0 {
			t.Errorf("%s: a command has subcommands or a run function", name)
		}
		if c.Usage == "" || c.Usage[len(c.Usage)-1] == '.' {
			t.Errorf("%s: usage %q is empty or ends with a period", name, c.Usage)
		}
		if c != root && !c.Hidden && c.Run != nil && len(c.Examples) == 0 {
			t.Errorf("%s: the help has no example", name)
		}
		for _, code := range c.Codes {
			if cli.ExitMeaning(cli.ExitStatus(code)) == "" {
				t.Errorf("%s: code %s has no exit status", name, code)
			}
		}
		seen := map[string]bool{}
		for _, p := range path {
			for _, f := range p.Flags {
				for _, n := range f.Names() {
					if seen[n] {
						t.Errorf("%s: flag %s is declared twice on the way to it", name, cli.Dashed(n))
					}
					seen[n] = true
				}
			}
		}
		names := map[string]bool{}
		for _, s := range c.Subs {
			if names[s.Name] {
				t.Errorf("%s: two commands are called %s", name, s.Name)
			}
			names[s.Name] = true
			walk(append(path[:len(path):len(path)], s))
		}
	}
	walk([]*cli.Command{root})
}

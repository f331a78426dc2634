package policy

import (
	"slices"
	"strings"
)

// Prefixes returns the beginnings of the commands that a person is asked about: one for each
// simple command. An answer for them permits commands that begin with the same words. It is
// nil if that would not state what it permits: for a question that is not about commands
// alone, and for a command whose beginning is one word, is computed, or is not what the text
// has, as behind sudo or xargs.
func (d Decision) Prefixes() (out []string) {
	found := d.dangers()
	if d.plain || len(found) == 0 {
		return nil
	}
	for _, x := range found {
		if len(x.commands) == 0 {
			return nil
		}
		for _, c := range x.commands {
			p := c.prefix()
			if !c.begins(p) {
				return nil
			}
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Within reports whether every command that a person would be asked about begins with one of
// the prefixes.
func (d Decision) Within(prefixes []string) bool {
	found := d.dangers()
	if d.plain || len(found) == 0 {
		return false
	}
	return !slices.ContainsFunc(found, func(x Danger) bool {
		return len(x.commands) == 0 || slices.ContainsFunc(x.commands, func(c shellCommand) bool {
			return !slices.ContainsFunc(prefixes, c.begins)
		})
	})
}

// prefix returns the program, a subcommand, and the options before the first argument.
func (c shellCommand) prefix() string {
	var words []string
	for i, w := range c.argv {
		option := strings.HasPrefix(w.text, "-") && w.text != "-" && w.text != "--" && !strings.Contains(w.text, "=")
		if w.dynamic || i > 0 && !option && (i > 1 || strings.Trim(w.text, "abcdefghijklmnopqrstuvwxyz-") != "") {
			break
		}
		words = append(words, w.text)
	}
	return strings.Join(words, " ")
}

// begins reports whether a command begins with the words of a prefix, and its text, too.
func (c shellCommand) begins(prefix string) bool {
	words := strings.Split(prefix, " ")
	if len(words) < 2 || len(c.argv) < len(words) || c.shown != prefix && !strings.HasPrefix(c.shown, prefix+" ") {
		return false
	}
	for i, w := range words {
		if c.argv[i].dynamic || c.argv[i].text != w {
			return false
		}
	}
	return true
}

package policy

import (
	"slices"
	"strings"
)

// Prefixes returns the beginnings of the commands that a person is asked about. An answer for
// them permits commands that begin with the same words. It is nil if that would not state
// what it permits: only a text that is one simple command, whose first words are what makes
// it dangerous, has a prefix. Another text would run more than the prefix names, and the
// words after a prefix could be what matters.
func (d Decision) Prefixes() []string {
	c, ok := d.sole()
	if !ok {
		return nil
	}
	if p := c.prefix(); d.permits(c, p) {
		return []string{p}
	}
	return nil
}

// Within reports whether the text of the call is one simple command that one of the prefixes
// permits.
func (d Decision) Within(prefixes []string) bool {
	c, ok := d.sole()
	return ok && slices.ContainsFunc(prefixes, func(p string) bool {
		return d.permits(c, p)
	})
}

// sole returns the command if the question is about one simple command that is a whole text
// and that the shell does not compute.
func (d Decision) sole() (c shellCommand, ok bool) {
	found := d.dangers()
	if d.plain || len(found) == 0 {
		return c, false
	}
	for _, x := range found {
		if len(x.commands) != 1 ||
			x.unread ||
			x.commands[0].shown != strings.TrimSpace(x.whole) ||
			x.whole != found[0].whole {
			return c, false
		}
	}
	return found[0].commands[0], true
}

// permits reports whether a command begins with a prefix that has all that the patterns look
// for.
func (d Decision) permits(c shellCommand, prefix string) bool {
	if !c.begins(prefix) {
		return false
	}
	start := shellCommand{argv: c.argv[:len(strings.Split(prefix, " "))], shown: prefix}
	return !slices.ContainsFunc(d.dangers(), func(x Danger) bool {
		return !x.includes(start)
	})
}

// prefix returns the program, a subcommand, and the options before the first argument.
func (c shellCommand) prefix() string {
	var words []string
	for i, w := range c.argv {
		option := strings.HasPrefix(w.text, "-") &&
			w.text != "-" &&
			w.text != "--" &&
			!strings.Contains(w.text, "=")
		if w.dynamic ||
			i > 0 && !option && (i > 1 || strings.Trim(w.text, "abcdefghijklmnopqrstuvwxyz-") != "") {
			break
		}
		words = append(words, w.text)
	}
	return strings.Join(words, " ")
}

// begins reports whether a command begins with the words of a prefix, and its text, too: one
// behind sudo or xargs does not.
func (c shellCommand) begins(prefix string) bool {
	words := strings.Split(prefix, " ")
	if len(words) < 2 ||
		len(c.argv) < len(words) ||
		c.shown != prefix && !strings.HasPrefix(c.shown, prefix+" ") {
		return false
	}
	for i, w := range words {
		if c.argv[i].dynamic || c.argv[i].text != w {
			return false
		}
	}
	return true
}

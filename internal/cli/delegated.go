package cli

import (
	"context"
	"slices"
	"strings"
)

// Row is a command of rye-server as the help of rye lists it. Nothing else about it is in rye.
type Row struct{ Name, Usage string }

// Delegated returns the commands of rows.
func Delegated(rows []Row) []*Command {
	var out []*Command
	for _, r := range rows {
		out = append(out, &Command{
			Name:      r.Name,
			Usage:     r.Usage,
			Delegated: true,
		})
	}
	return out
}

// sortedWords is the command line as it was read.
type sortedWords struct {
	root *Command
	line *line
	err  error
}

// sort reads the command line, once.
func (w *World) sort() (root *Command, l *line, err error) {
	if w.sorted == nil {
		words := versionAsCommand(w.Args)
		verb := ""
		if len(words) > 0 {
			verb = words[0]
		}
		root := w.rootOf(verb)
		l, err := SortArgs(root, words)
		w.sorted = &sortedWords{
			root: root,
			line: l,
			err:  err,
		}
	}
	return w.sorted.root, w.sorted.line, w.sorted.err
}

// Delegated returns the name of the command of rye-server that the command line is about, such as
// registry serve, "" if rye has the command itself. The help and the completion of such a command
// are in rye-server, too.
func (w *World) Delegated() string {
	_, l, _ := w.sort() // errors in the line are reported when it runs
	if l.cmd().Delegated {
		return l.name()
	}
	if len(l.Path) != 2 {
		return ""
	}
	switch l.cmd().Name {
	case "help":
		return w.delegatedPath(l.Args)
	case "__complete":
		words := l.Args
		if len(words) > 0 {
			words = words[:len(words)-1] // the last one is typed at the moment
		}
		l, _ := SortArgs(w.RootCommand(), words)
		if l.cmd().Delegated {
			return l.name()
		}
	}
	return ""
}

// delegatedPath returns the name of the first delegated command on a path, "" if it has none.
func (w *World) delegatedPath(words []string) string {
	path := []*Command{w.RootCommand()}
	for _, word := range words {
		next := path[len(path)-1].sub(word)
		if next == nil {
			return ""
		}
		path = append(path, next)
		if next.Delegated {
			return strings.TrimPrefix(PathName(path), path[0].Name+" ")
		}
	}
	return ""
}

// ProjectFlags returns the values of --project and -C as they are typed anywhere on the command line.
// The words of a delegated command are not sorted, so a value of another flag that looks like one
// is among them.
func (w *World) ProjectFlags() []string {
	var out []string
	for i, word := range w.Args {
		name, value, has := strings.Cut(word, "=")
		if !slices.Contains([]string{"--project", "-C"}, name) {
			continue
		}
		if !has && i+1 < len(w.Args) {
			value = w.Args[i+1]
		}
		out = append(out, absolute(w.Dir, value))
	}
	return out
}

// Fail reports the error of a command that did not run, and returns its exit status.
func Fail(ctx context.Context, w *World, command string, err error) int {
	u := newUI(w)
	u.Command = command
	return u.finish(ctx, err)
}

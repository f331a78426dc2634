package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// HelpCommand is rye help.
func HelpCommand() *Command {
	return &Command{
		Name:  "help",
		Group: "About rye",
		Usage: "print the help of a command or a topic",
		Args:  "[COMMAND|TOPIC…]",
		Examples: []string{
			"rye help",
			"rye help explain",
			"rye help topics        # what else there is to read",
			"rye help exit-codes",
		},
		Run:      runHelp,
		Complete: completeHelp,
	}
}

func runHelp(_ context.Context, c *Call) error {
	root := c.RootCommand()
	if len(c.Args) == 1 {
		if c.Args[0] == "topics" {
			return listTopics(c.UI)
		}
		if t, ok := findTopic(c.Args[0]); ok {
			return c.UI.Show(t, func() {
				c.UI.Text(c.UI.fitted(t.text()))
			})
		}
	}
	path := []*Command{root}
	for _, word := range c.Args {
		next := path[len(path)-1].sub(word)
		if next == nil {
			return unknownHelp(path, word)
		}
		path = append(path, next)
	}
	return showHelp(c.UI, root, path, fullHelp)
}

// unknownHelp is unknownCommand with the topics among the candidates.
func unknownHelp(path []*Command, word string) error {
	names := path[len(path)-1].subNames()
	if len(path) == 1 {
		names = append(names, "topics")
		for _, t := range topics() {
			names = append(names, t.Name)
		}
	}
	err := diag.New(diag.UnknownCommand, "finding help: there is no command or topic %q", word)
	if near := Nearest(word, names); near != "" {
		return err.
			WithReason("nearest").
			WithDetail("nearest", near).
			WithDetail("command", "rye help")
	}
	return err.WithReason("topics")
}

func completeHelp(_ context.Context, c *Call) []string {
	at := c.RootCommand()
	for _, word := range c.Args {
		if at = at.sub(word); at == nil {
			return nil
		}
	}
	out := candidates(at.Subs)
	if len(c.Args) == 0 {
		out = append(out, "topics\tlist the topics")
		for _, t := range topics() {
			out = append(out, t.Name+"\t"+t.Title)
		}
	}
	return out
}

func listTopics(u *UI) error {
	return u.Show(map[string]any{"topics": topics()}, func() {
		t := Tables()["help"]
		for _, topic := range topics() {
			t.Add("  "+topic.Name, topic.Title)
		}
		u.Out("Topics, each read with rye help TOPIC:")
		u.Out("")
		u.Table(t)
	})
}

// CommandDoc is the help of one command in the JSON form.
type CommandDoc struct {
	Name     string      `json:"name"`
	Usage    string      `json:"usage"`
	Summary  string      `json:"summary"`
	Text     string      `json:"text,omitempty"`
	Examples []string    `json:"examples,omitempty"`
	Commands []summary   `json:"commands,omitempty"`
	Flags    []FlagDoc   `json:"flags,omitempty"`
	Global   []FlagDoc   `json:"global_flags"`
	Exits    []exitUse   `json:"exit_codes,omitempty"`
	groups   []helpGroup // commands under their headings
}

type summary struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

type helpGroup struct {
	title string
	cmds  []summary
}

// exitUse is one exit status of a command and the codes that lead to it.
type exitUse struct {
	exitCode
	Codes []diag.Code `json:"codes,omitempty"`
}

// DocOf gathers the help of the command at the end of path.
func DocOf(root *Command, path []*Command) CommandDoc {
	c := path[len(path)-1]
	d := CommandDoc{
		Name:     PathName(path),
		Usage:    usageLine(path),
		Summary:  c.Usage,
		Text:     c.Long,
		Examples: c.Examples,
		Global:   FlagDocs(root.Flags),
		Exits:    exitsOf(c),
	}
	if c != root {
		d.Flags = FlagDocs(c.Flags)
	}
	for _, s := range c.Subs {
		if s.Hidden {
			continue
		}
		entry := summary{s.Name, s.Usage}
		d.Commands = append(d.Commands, entry)
		d.groups = addToGroup(d.groups, s.Group, entry)
	}
	return d
}

func addToGroup(groups []helpGroup, title string, s summary) []helpGroup {
	for i := range groups {
		if groups[i].title == title {
			groups[i].cmds = append(groups[i].cmds, s)
			return groups
		}
	}
	return append(groups, helpGroup{title, []summary{s}})
}

// usageLine renders how a command is called.
func usageLine(path []*Command) string {
	c := path[len(path)-1]
	words := []string{PathName(path)}
	if len(c.Subs) > 0 && c.Run == nil {
		words = append(words, "COMMAND")
	}
	if c.Args != "" {
		words = append(words, c.Args)
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// exitsOf lists the exit statuses of a command with its codes. Success, usage,
// bugs and interrupts are everyone's.
func exitsOf(c *Command) []exitUse {
	if c.Run == nil {
		return nil
	}
	codes := append(
		[]diag.Code{diag.Usage, diag.UnknownFlag, diag.Internal},
		c.Codes...,
	)
	var out []exitUse
	for _, e := range ExitCodes() {
		use := exitUse{exitCode: e}
		for _, code := range codes {
			if ExitStatus(code) == e.Status && !slices.Contains(use.Codes, code) {
				use.Codes = append(use.Codes, code)
			}
		}
		if len(use.Codes) > 0 || e.Status == 0 || e.Status == ExitInterrupted {
			out = append(out, use)
		}
	}
	return out
}

func showHelp(u *UI, root *Command, path []*Command, detail helpDetail) error {
	d := DocOf(root, path)
	return u.Show(d, func() { u.help(d, detail) })
}

// helpDetail is how much of a command's help is printed.
type helpDetail int

const (
	noHelp    helpDetail = iota
	shortHelp            // -h: fits a screen
	longHelp             // --help: adds the rest of the text, all examples and the global flags
	fullHelp             // rye help COMMAND: adds the exit codes
)

// helpDetailOf returns the detail that a typed help flag requests.
func helpDetailOf(word string) helpDetail {
	if word == "-h" {
		return shortHelp
	}
	return longHelp
}

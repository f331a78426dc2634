package main

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	rcli "github.com/ryeos/rye/internal/cli"
)

func helpCommand() *command {
	return &command{
		name: "help", group: "About rye",
		usage: "print the help of a command or a topic",
		args:  "[COMMAND|TOPIC…]",
		examples: []string{
			"rye help",
			"rye help explain",
			"rye help topics        # what else there is to read",
			"rye help exit-codes",
		},
		run:      runHelp,
		complete: completeHelp,
	}
}

func runHelp(_ context.Context, c *call) error {
	root := c.rootCommand()
	if len(c.args) == 1 {
		if c.args[0] == "topics" {
			return listTopics(c.ui)
		}
		if t, ok := findTopic(c.args[0]); ok {
			return c.ui.Show(t, func() { c.ui.Text(t.text()) })
		}
	}
	path := []*command{root}
	for _, word := range c.args {
		next := path[len(path)-1].sub(word)
		if next == nil {
			return unknownHelp(path, word)
		}
		path = append(path, next)
	}
	return showHelp(c.ui, root, path)
}

// unknownHelp is unknownCommand with the topics among the candidates.
func unknownHelp(path []*command, word string) error {
	names := path[len(path)-1].subNames()
	if len(path) == 1 {
		names = append(names, "topics")
		for _, t := range topics() {
			names = append(names, t.Name)
		}
	}
	err := diag.New(diag.UnknownCommand, "finding help: there is no command or topic %q", word)
	if near := nearest(word, names); near != "" {
		return err.WithHint("did you mean %q?", "rye help "+near).WithDetail("nearest", near)
	}
	return err.WithHint("rye --help lists the commands, rye help topics the topics")
}

func completeHelp(_ context.Context, c *call) []string {
	at := c.rootCommand()
	for _, word := range c.args {
		if at = at.sub(word); at == nil {
			return nil
		}
	}
	out := candidates(at.subs)
	if len(c.args) == 0 {
		out = append(out, "topics\tlist the topics")
		for _, t := range topics() {
			out = append(out, t.Name+"\t"+t.Title)
		}
	}
	return out
}

func listTopics(u *ui) error {
	return u.Show(map[string]any{"topics": topics()}, func() {
		t := &table{}
		for _, topic := range topics() {
			t.add("  "+topic.Name, topic.Title)
		}
		u.Out("Topics, each read with rye help TOPIC:")
		u.Out("")
		u.Table(t)
	})
}

// commandDoc is the help of one command in the JSON form.
type commandDoc struct {
	Name     string      `json:"name"`
	Usage    string      `json:"usage"`
	Summary  string      `json:"summary"`
	Text     string      `json:"text,omitempty"`
	Examples []string    `json:"examples,omitempty"`
	Commands []summary   `json:"commands,omitempty"`
	Flags    []flagDoc   `json:"flags,omitempty"`
	Global   []flagDoc   `json:"global_flags"`
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

// docOf gathers the help of the command at the end of path.
func docOf(root *command, path []*command) commandDoc {
	c := path[len(path)-1]
	d := commandDoc{
		Name: pathName(path), Usage: usageLine(path), Summary: c.usage, Text: c.long,
		Examples: c.examples, Global: flagDocs(root.flags), Exits: exitsOf(c),
	}
	if c != root {
		d.Flags = flagDocs(c.flags)
	}
	for _, s := range c.subs {
		if s.hidden {
			continue
		}
		entry := summary{s.name, s.usage}
		d.Commands = append(d.Commands, entry)
		d.groups = addToGroup(d.groups, s.group, entry)
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
func usageLine(path []*command) string {
	c := path[len(path)-1]
	words := []string{pathName(path)}
	if len(c.subs) > 0 {
		words = append(words, "COMMAND")
	}
	if c.args != "" {
		words = append(words, c.args)
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// exitsOf lists the exit statuses of a command with its codes. Success, usage,
// bugs and interrupts are everyone's.
func exitsOf(c *command) []exitUse {
	if len(c.subs) > 0 {
		return nil
	}
	codes := append([]diag.Code{diag.Usage, diag.UnknownFlag, diag.Internal}, c.codes...)
	var out []exitUse
	for _, e := range exitCodes() {
		use := exitUse{exitCode: e}
		for _, code := range codes {
			if rcli.ExitStatus(code) == e.Status && !slices.Contains(use.Codes, code) {
				use.Codes = append(use.Codes, code)
			}
		}
		if len(use.Codes) > 0 || e.Status == 0 || e.Status == exitInterrupted {
			out = append(out, use)
		}
	}
	return out
}

func showHelp(u *ui, root *command, path []*command) error {
	d := docOf(root, path)
	return u.Show(d, func() { u.help(d) })
}

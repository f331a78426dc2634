package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

// flagDoc is one flag in a help text.
type flagDoc struct {
	Names   []string `json:"names"`
	Value   string   `json:"value,omitempty"` // what stands for the value
	Usage   string   `json:"usage"`
	Default string   `json:"default,omitempty"`
}

func flagDocs(flags []cli.Flag) []flagDoc {
	var out []flagDoc
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		doc := flagDoc{Usage: strings.ReplaceAll(d.GetUsage(), "`", "")}
		for _, n := range f.Names() {
			doc.Names = append(doc.Names, dashed(n))
		}
		if d.TakesValue() {
			doc.Value = valueName(d.GetUsage())
			doc.Default = strings.Trim(d.GetValue(), `"`)
		}
		out = append(out, doc)
	}
	return out
}

// valueName returns the word that a usage text sets in backquotes.
func valueName(usage string) string {
	if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 {
		return parts[1]
	}
	return "VALUE"
}

func (d flagDoc) label() string {
	long, short := "", "   "
	for _, n := range d.Names {
		if strings.HasPrefix(n, "--") {
			long = n
		} else {
			short = n + ","
		}
	}
	return strings.TrimRight(fmt.Sprintf("  %s %s %s", short, long, d.Value), " ")
}

func (d flagDoc) text() string {
	if d.Default != "" && d.Default != "0" && d.Default != "0s" && d.Default != "[]" {
		return d.Usage + " (default " + d.Default + ")"
	}
	return d.Usage
}

// help prints the help of one command.
func (u *ui) help(d commandDoc) {
	u.Out("%s: %s", d.Name, d.Summary)
	u.heading("Usage")
	u.Out("  %s", d.Usage)
	if d.Text != "" {
		u.Out("")
		u.Text(d.Text)
	}
	u.helpCommands(d)
	if len(d.Examples) > 0 {
		u.heading("Examples")
		for _, e := range d.Examples {
			u.Out("  %s", e)
		}
	}
	u.helpFlags("Flags", d.Flags)
	u.helpFlags("Global flags", d.Global)
	u.helpExits(d.Exits)
	if len(d.Commands) > 0 {
		u.Out("")
		u.Out("%s COMMAND --help tells more about one command.", d.Name)
		if d.Name == "rye" {
			u.Out("rye help topics lists what else there is to read.")
		}
	}
}

func (u *ui) heading(title string) {
	u.Out("")
	u.Out("%s", u.Style(bold, title+":"))
}

func (u *ui) helpCommands(d commandDoc) {
	for _, g := range d.groups {
		title := g.title
		if title == "" {
			title = "Commands"
		}
		u.heading(title)
		t := &table{wrap: true}
		for _, c := range g.cmds {
			t.add("  "+c.Name, c.Summary)
		}
		u.Table(t)
	}
}

func (u *ui) helpFlags(title string, flags []flagDoc) {
	if len(flags) == 0 {
		return
	}
	u.heading(title)
	t := &table{wrap: true}
	for _, f := range flags {
		t.add(f.label(), f.text())
	}
	u.Table(t)
}

func (u *ui) helpExits(exits []exitUse) {
	if len(exits) == 0 {
		return
	}
	u.heading("Exit codes")
	t := &table{wrap: true}
	for _, e := range exits {
		t.add("  "+itoa(e.Status), e.Meaning)
		for _, code := range e.Codes {
			row, _ := diag.Lookup(code)
			t.add("", fmt.Sprintf("  %s: %s", code, row.When))
		}
	}
	u.Table(t)
}

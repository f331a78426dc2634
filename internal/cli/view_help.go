package cli

import (
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/inline"
)

// FlagDoc is one flag in a help text.
type FlagDoc struct {
	Names   []string `json:"names"`
	Value   string   `json:"value,omitempty"` // the placeholder of the value
	Usage   string   `json:"usage"`
	Default string   `json:"default,omitempty"`
}

// FlagDocs returns the help of flags.
func FlagDocs(flags []urfave.Flag) []FlagDoc {
	var out []FlagDoc
	for _, f := range flags {
		d, ok := f.(urfave.DocGenerationFlag)
		if !ok {
			continue
		}
		doc := FlagDoc{Usage: strings.ReplaceAll(d.GetUsage(), "`", "")}
		for _, n := range f.Names() {
			doc.Names = append(doc.Names, Dashed(n))
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
	parts := strings.SplitN(usage, "`", 3)
	if len(parts) == 3 {
		return parts[1]
	}
	return "VALUE"
}

// Label returns the flag with its short form and value.
func (d FlagDoc) Label() string {
	long := ""
	short := "   "
	for _, n := range d.Names {
		switch {
		case !strings.HasPrefix(n, "--"):
			short = n + ","
		case long == "": // further names are old spellings
			long = n
		}
	}
	return strings.TrimRight(fmt.Sprintf("  %s %s %s", short, long, d.Value), " ")
}

// Text returns the usage with the default.
func (d FlagDoc) Text() string {
	if d.Default != "" &&
		d.Default != "0" &&
		d.Default != "0s" &&
		d.Default != "[]" {
		return d.Usage + " (default " + d.Default + ")"
	}
	return d.Usage
}

// shortExamples is the number of examples that -h prints.
const shortExamples = 3

// help prints the help of one command. The root has no flags of its own and is
// always printed whole.
func (u *UI) help(d CommandDoc, detail helpDetail) {
	short := detail == shortHelp && d.Name != "rye"
	text := d.Text
	examples := d.Examples
	if short {
		text, _, _ = strings.Cut(text, "\n\n")
		examples = examples[:min(len(examples), shortExamples)]
	}
	u.Text(u.fitted(d.Name + ": " + d.Summary))
	u.heading("Usage")
	u.Out("  %s", d.Usage)
	if text != "" {
		u.Out("")
		u.Text(u.fitted(text))
	}
	u.helpCommands(d)
	u.helpFlags("Flags", d.Flags)
	if len(examples) > 0 {
		u.heading("Examples")
		for _, e := range examples {
			u.Out("  %s", e)
		}
	}
	if !short {
		u.helpFlags("Global flags", d.Global)
	}
	if detail == fullHelp {
		u.helpExits(d.Exits)
	}
	u.Out("")
	switch {
	case d.Name == "rye":
		u.Out("rye COMMAND --help prints the help of one command.")
		u.Out("rye help topics lists other topics.")
	case len(d.Commands) > 0:
		u.Out("%s COMMAND --help prints the help of one command.", d.Name)
	case short:
		u.Out("%s --help prints more, rye help %s the exit codes too.", d.Name, strings.TrimPrefix(d.Name, "rye "))
	case detail == longHelp:
		u.Out("rye help %s prints the exit codes too.", strings.TrimPrefix(d.Name, "rye "))
	}
}

// fitted returns a text with the paragraphs wrapped between words that have a line wider
// than the terminal. Without a terminal, and for indented lines, the lines stay.
func (u *UI) fitted(text string) string {
	if u.width < 12 {
		return text
	}
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		lines := strings.Split(p, "\n")
		wide := slices.ContainsFunc(lines, func(l string) bool {
			return inline.Width(l) > u.width
		})
		if !wide ||
			slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, " ") }) {
			continue
		}
		var out []string
		for _, word := range strings.Fields(p) { // one that is too long stays whole, so that it can be copied
			last := len(out) - 1
			if last < 0 ||
				inline.Width(out[last])+1+inline.Width(word) > u.width {
				out = append(out, word)
				continue
			}
			out[last] += " " + word
		}
		paragraphs[i] = strings.Join(out, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

func (u *UI) heading(title string) {
	u.Out("")
	u.Out("%s", u.Style(Bold, title+":"))
}

func (u *UI) helpCommands(d CommandDoc) {
	for _, g := range d.groups {
		title := g.title
		if title == "" {
			title = "Commands"
		}
		u.heading(title)
		t := Tables()["help"]
		for _, c := range g.cmds {
			t.Add("  "+c.Name, c.Summary)
		}
		u.Table(t)
	}
}

func (u *UI) helpFlags(title string, flags []FlagDoc) {
	if len(flags) == 0 {
		return
	}
	u.heading(title)
	t := Tables()["help"]
	for _, f := range flags {
		t.Add(f.Label(), f.Text())
	}
	u.Table(t)
}

func (u *UI) helpExits(exits []exitUse) {
	if len(exits) == 0 {
		return
	}
	u.heading("Exit codes")
	t := Tables()["help"]
	for _, e := range exits {
		t.Add("  "+Itoa(e.Status), e.Meaning)
		for _, code := range e.Codes {
			row, _ := diag.Lookup(code)
			t.Add("", fmt.Sprintf("  %s: %s", code, row.When))
		}
	}
	u.Table(t)
}

package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/hidden"
)

// maxShown is how many entries of a list the text form shows.
const maxShown = 8

// maxDescription is how many characters of a description the text form shows.
const maxDescription = 100

// Remark ends the text form.
const Remark = "A review states that you accept these files. It does not make their author known. rye finds patterns, not intentions."

// Lines returns the text form, which is safe to print. A component without notices has no
// line about them.
func (r *Report) Lines() []string {
	head := []string{r.Source}
	if r.Commit != "" {
		short := r.Commit[:min(8, len(r.Commit))]
		head = append(head, " "+short)
	}
	if !r.Made.IsZero() {
		// the publisher chooses the date of a commit
		day := r.Made.UTC().Format("2006-01-02")
		head = append(head, "("+day+" by its own date)")
	}
	licence := "no licence file"
	if r.Licence != "" {
		licence = "licence " + r.Licence + " (repository)"
	}
	head = append(head, "  not signed for rye   "+licence)
	out := []string{hidden.Visible(strings.Join(head, " "))}
	for _, c := range r.Components {
		out = append(out, c.lines()...)
	}
	for _, p := range r.Elsewhere {
		line := "plugin " + p.Plugin + " is in another source, which is not followed: " + p.Address
		out = append(out, hidden.Visible(line))
	}
	for _, left := range r.Left {
		out = append(out, hidden.Visible(left.line()))
	}
	return append(out, Remark)
}

func (l Left) line() string {
	at := l.Path
	if l.Line > 0 {
		at += ":" + strconv.Itoa(l.Line)
	}
	name := l.Ref
	if name != "" {
		name += " "
	}
	return "left out: " + name + at + ": " + l.Code + ": " + l.Why
}

// lines is the text form of one component.
func (c Component) lines() []string {
	files := "1 file"
	if c.Files != 1 {
		files = strconv.Itoa(c.Files) + " files"
	}
	head := fmt.Sprintf("%s   %s, %s", c.Ref, files, size(c.Size))
	// the description decides when a model loads a skill
	if c.Description != "" {
		head += "   " + cut(c.Description)
	}
	out := []string{hidden.Visible(head)}
	row := func(name string, entries []string) {
		if len(entries) > 0 {
			out = append(out, hidden.Visible(
				"  "+name+strings.Repeat(" ", 12-len(name))+shown(entries),
			))
		}
	}
	var scripts []string
	for _, s := range c.Scripts {
		scripts = append(scripts, s.Path+" ("+s.Language+")")
	}
	row("scripts", scripts)
	row("executables", c.Executables)
	row("archives", c.Archives)
	row("asks", c.Asks)
	row("runs", c.Runs)
	row("hosts", c.Hosts)
	// texts name many hosts, which no program asks by itself
	row("links", countOf(c.TextHosts))
	row("fetches", c.Fetches)
	row("variables", c.Environment)
	row("paths", c.Outside)
	for _, n := range c.Notices {
		row("notice", []string{n.line()})
	}
	for _, note := range c.Notes {
		row("note", []string{note})
	}
	return out
}

// countOf returns the number of hosts in texts.
func countOf(hosts []string) []string {
	switch len(hosts) {
	case 0:
		return nil
	case 1:
		return []string{"1 host in texts"}
	}
	return []string{strconv.Itoa(len(hosts)) + " hosts in texts"}
}

// scriptTexts returns scripts with their languages.
func scriptTexts(scripts []Script) (out []string) {
	for _, s := range scripts {
		out = append(out, s.Path+" ("+s.Language+")")
	}
	return out
}

func (n Notice) line() string {
	text := n.Path + ":" + strconv.Itoa(n.Line) + " " + n.Text
	if n.Lines > 1 {
		text += ", " + strconv.Itoa(n.Lines) + " lines"
	}
	return text
}

func shown(entries []string) string {
	if len(entries) <= maxShown {
		return strings.Join(entries, ", ")
	}
	first := strings.Join(entries[:maxShown], ", ")
	return fmt.Sprintf("%s, %d more", first, len(entries)-maxShown)
}

func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= maxDescription {
		return text
	}
	return string(runes[:maxDescription-1]) + "…"
}

func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

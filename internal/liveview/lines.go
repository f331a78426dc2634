package liveview

import (
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/threads/activity"
)

// shownLines is how many lines of the output of a call are printed when it has ended; of one
// that failed, all that are kept.
const shownLines = 6

// column is where the outcome of a call ends on a wide screen.
const column = 76

func (v *View) bold(s string) string {
	return v.styled("1", s)
}
func (v *View) dim(s string) string {
	return v.styled("2", s)
}

func (v *View) styled(style, s string) string {
	if v.mode != inline.Live || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[m"
}

func (v *View) colored(color, s string) string {
	if !v.p.Color {
		return s
	}
	return v.styled(color, s)
}

// uncolored returns a line without the colours that a program printed, so that the rest can be
// read.
func uncolored(line string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(line, "\x1b[")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		end := strings.TrimLeft(rest, "0123456789;:")
		if end == "" || end[0] != 'm' && end[0] != 'K' {
			out.WriteString("\x1b[")
			line = rest
			continue
		}
		line = end[1:]
	}
}

// printable returns a line that a program printed.
func printable(line string) string {
	line = uncolored(strings.TrimRight(line, "\r\n "))
	if at := strings.LastIndexByte(line, '\r'); at >= 0 { // it was drawn again and again
		line = line[at+1:]
	}
	return hidden.Visible(strings.ReplaceAll(line, "\t", "    "))
}

// oneLine returns a text of a model or an item on one line.
func oneLine(s string) string {
	return hidden.Visible(strings.Join(strings.Fields(cuttext.Short(s, 2000)), " "))
}

// seconds renders a time that has passed.
func seconds(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// took renders how long something lasted.
func elapsed(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return seconds(d)
}

// aligned returns a line with a text at its right, which is not shortened.
func (v *View) aligned(left, detail, right string, width int) string {
	limit := min(width, column)
	if v.mode != inline.Live {
		return strings.TrimRight(
			strings.Join(strings.Fields(left+" "+detail), " "),
			" ",
		) + "  " + right
	}
	free := limit - inline.Width(right) - 2
	line := inline.Cut(left, free)
	rest := free - inline.Width(line) - 2
	if detail != "" && rest > 3 {
		line += "  " + inline.Cut(detail, rest)
	}
	return line + strings.Repeat(" ", max(
		2,
		limit-inline.Width(right)-inline.Width(line),
	)) + right
}

// name returns the name by which a person calls a thread or run.
func (v *View) name(id string) string {
	if v.p.Named == nil {
		return id
	}
	return v.p.Named(id)
}

func (v *View) head(b *activity.Block) []string {
	if v.mode == inline.Plain {
		return []string{fmt.Sprintf(
			"Thread %s follows %s by %s with the model %s. It may spend $%s.",
			v.name(b.ID),
			oneLine(b.Title),
			oneLine(b.Args),
			oneLine(b.Text),
			activity.Money(b.Max),
		)}
	}
	line := fmt.Sprintf(
		"%s  %s by %s  %s  $%s/$%s",
		v.bold(v.name(b.ID)),
		oneLine(b.Title),
		oneLine(b.Args),
		oneLine(b.Text),
		activity.Money(b.Spent),
		activity.Money(b.Max),
	)
	columns, _ := v.p.Screen.Size()
	if v.mode == inline.Live && inline.Width(line) >= columns {
		return v.wrap(line, "")
	}
	return []string{line}
}

// begins returns the line of a call that starts, where no block shows it.
func (v *View) begins(b *activity.Block) string {
	return strings.TrimSpace("Tool: " + oneLine(b.Title) + " " + oneLine(b.Args))
}

// call returns the lines of a call that has ended.
func (v *View) call(b *activity.Block) []string {
	columns, _ := v.p.Screen.Size()
	outcome := "ok"
	color := "32"
	why := ""
	switch {
	case b.State == activity.Denied:
		outcome = "denied"
		color = "33"
		why = b.Text
	case b.State == activity.Failed && strings.HasPrefix(b.Text, "exit "):
		outcome = oneLine(b.Text)
		color = "31"
	case b.State == activity.Failed:
		outcome = "failed"
		color = "31"
		why = b.Text
	}
	lasted := elapsed(b.Took(b.Ended))
	name := oneLine(b.Title)
	args := oneLine(b.Args)
	var out []string
	switch v.mode {
	case inline.Plain:
		line := "Tool: " + name + " " + outcome + ", " + lasted
		if why != "" {
			line += ": " + oneLine(why)
		}
		out = append(out, line)
	case inline.Live:
		right := v.colored(color, outcome) + fmt.Sprintf("%8s", lasted) // outcomes are below each other
		if b.State == activity.Denied {
			right = v.colored(color, outcome)
		}
		out = append(out, v.aligned(
			v.colored(color, "●")+" "+v.bold(name),
			args,
			right,
			columns-1,
		))
		if why != "" {
			out = append(out, v.wrap(oneLine(why), "  ")...)
		}
	default:
		line := strings.TrimRight("  "+name+" "+inline.Cut(args, 80), " ") + "  " + outcome
		if b.State != activity.Denied {
			line += "  " + lasted
		}
		if why != "" {
			line += "  " + oneLine(why)
		}
		out = append(out, line)
	}
	if v.p.Full && (len(args) > 40 || strings.Contains(b.Args, "\n")) {
		for l := range strings.SplitSeq(strings.TrimRight(b.Args, "\n"), "\n") {
			out = append(out, v.dim("  > "+printable(l)))
		}
	}
	return append(out, v.outputOf(b, columns-1)...)
}

// reasoning returns the lines of what the model thought.
func (v *View) reasoning(b *activity.Block) []string {
	out := []string{v.dim("thinking:")}
	for l := range strings.SplitSeq(strings.TrimSpace(b.Text), "\n") {
		for _, part := range v.wrap(hidden.Visible(l), "  ") {
			out = append(out, v.dim(part))
		}
	}
	return out
}

// outputOf returns the lines that a call printed, as far as they are shown.
func (v *View) outputOf(b *activity.Block, width int) []string {
	if b.State == activity.Denied {
		return nil
	}
	shown := b.Output
	if b.State != activity.Failed && !v.p.Full {
		shown = shown[max(0, len(shown)-shownLines):]
	}
	var out []string
	for _, l := range shown {
		l = printable(l)
		switch {
		case v.p.Full:
		case v.mode == inline.Live:
			l = inline.Cut(l, width-2)
		default:
			l = inline.Cut(l, 200)
		}
		out = append(out, v.dim("  "+l))
	}
	if more := b.Printed - len(shown); more > 0 {
		line := fmt.Sprintf("  … %s more", counted(more, "line"))
		if v.p.Whole != nil && b.Number > 0 {
			line += ": " + v.p.Whole(b.Log, b.Number)
		}
		out = append([]string{v.dim(line)}, out...)
	}
	if v.mode == inline.Appended {
		for i := range out {
			out[i] = "  " + out[i]
		}
	}
	return out
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// wrap divides a text at words.
func (v *View) wrap(text, indent string) []string {
	columns, _ := v.p.Screen.Size()
	var out []string
	line := indent
	for word := range strings.FieldsSeq(text) {
		if line != indent && inline.Width(line)+1+inline.Width(word) > columns-1 {
			out = append(out, line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

// turn returns the line of a turn. At a terminal the last line of the block has it.
func (v *View) turn(b *activity.Block) []string {
	if v.mode == inline.Live {
		return nil
	}
	return []string{fmt.Sprintf(
		"turn %d/%d  %s tok  $%s/$%s",
		b.Number,
		b.MaxTurns,
		activity.Thousands(b.Tokens),
		activity.Money(b.Spent),
		activity.Money(b.Max),
	)}
}

func (v *View) note(b *activity.Block) []string {
	columns, _ := v.p.Screen.Size()
	switch {
	case v.mode == inline.Plain:
		return []string{"Note: " + b.Text}
	case v.mode != inline.Live || inline.Width(b.Text)+2 < columns:
		return []string{v.colored("33", "  "+b.Text)}
	}
	out := v.wrap(b.Text, "  ")
	for i := range out {
		out[i] = v.colored("33", out[i])
	}
	return out
}

func (v *View) node(b *activity.Block) string {
	status := "ok"
	color := "32"
	why := oneLine(b.Text)
	switch b.State {
	case activity.Failed:
		status = "failed"
		color = "31"
	case activity.Suspended:
		status = "suspended:"
		color = "33"
	}
	lasted := ""
	if d := b.Took(b.Ended); d >= 100*time.Millisecond {
		lasted = elapsed(d)
	}
	if b.Total > 0 && b.State == activity.Done {
		entries := fmt.Sprintf("%d/%d", b.Done, b.Total)
		if b.Failures > 0 {
			entries += fmt.Sprintf(", %d failed", b.Failures)
		}
		why = strings.TrimSpace(entries + " " + why)
	}
	indent := strings.Repeat("  ", b.Depth)
	name := oneLine(b.Title)
	if v.mode == inline.Live {
		columns, _ := v.p.Screen.Size()
		return v.aligned(
			indent+v.colored(color, "●")+" node "+position(b)+" "+v.bold(name),
			why,
			strings.TrimSpace(
				v.colored(color, strings.TrimSuffix(status, ":"))+fmt.Sprintf("%8s", lasted),
			),
			columns-1,
		)
	}
	run := b.Log[:max(strings.LastIndexByte(b.Log, '-'), 0)]
	line := fmt.Sprintf("%s[%s] %s %s %s", indent, oneLine(run), position(b), name, status)
	if why != "" {
		line += " " + why
	}
	return strings.TrimRight(line+" "+lasted, " ")
}

func (v *View) question(b *activity.Block, ended bool) []string {
	if ended {
		return []string{v.colored("33", "  answered: "+oneLine(b.Args))}
	}
	var out []string
	for i, l := range strings.Split(b.Text, "\n") {
		if i == 0 {
			l = "waiting for you: " + l
			if v.mode == inline.Plain {
				l = "Question: " + l
			}
		}
		out = append(out, v.colored("33", "  "+hidden.Visible(l)))
	}
	return out
}

func (v *View) end(b *activity.Block) []string {
	text := b.Title
	if b.Args != "" {
		text += " (" + oneLine(b.Args) + ")"
	}
	what := "thread"
	if v.p.Tree.IsGraph() {
		what = "run"
	}
	return []string{fmt.Sprintf(
		"%s %s %s  $%s",
		what,
		v.name(b.ID),
		text,
		activity.Money(b.Spent),
	)}
}

package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/vtmode"
)

// UI is the one door to the terminal. Results go to stdout, everything else to
// stderr. What it prints from arguments is untrusted and made visible first:
// control and hidden characters never reach the terminal. Only styled text,
// which the ui itself makes, passes as it is.
type UI struct {
	Stdout   *bufio.Writer
	Stderr   io.Writer
	AsJSON   bool // stdout holds JSON only
	Lines    bool // each JSON document is one line
	Quiet    bool
	Detailed bool
	color    bool // stdout takes colour
	errTint  bool // stderr takes colour
	width    int  // columns of the terminal at stdout, 0 without a terminal
	wide     bool // tables have every column and whole cells
	plain    bool // tables have a line for each cell
	Command  string
	wrote    bool // a JSON document was printed

	numbers func(id string) int64 // of threads and runs, nil: none has one

	// Screen draws below what is printed, nil if nothing does. It makes room for questions.
	Screen interface{ Suspend() (resume func()) }

	interrupted atomic.Bool // a question was

	asking  sync.Mutex    // of turn and reading
	turn    chan struct{} // has an element while a question is open
	reading *lineRead

	above atomic.Pointer[func(write func())] // prints above the question that is drawn
}

// newUI reads the global switches straight from the words, so that even an
// error in them is shown the way the user asked for.
func newUI(w *World) *UI {
	u := &UI{Stdout: bufio.NewWriter(vtmode.Writer(w.Stdout)), Stderr: w.Stderr}
	noColor := w.NoEscapes || w.Getenv("NO_COLOR") != "" || w.Getenv("TERM") == "dumb"
	for _, word := range w.Args {
		switch word {
		case "--json", "--json=true":
			u.AsJSON = true
		case "--no-color", "--no-color=true":
			noColor = true
		case "-q", "--quiet":
			u.Quiet = true
		case "-v", "--verbose":
			u.Detailed = true
		}
		if word == "--" {
			break
		}
	}
	if w.Isatty != nil && !noColor {
		u.color, u.errTint = w.Isatty(w.Stdout), w.Isatty(w.Stderr)
	}
	u.width = TerminalWidth(w.Stdout)
	u.plain = u.width > 0 && w.PlainTerminal() // a pipe is read by a program, whatever TERM is there
	u.numbers = w.Numbers
	return u
}

// Number returns the number of a thread or run, 0 if it has none.
func (u *UI) Number(id string) int64 {
	if u.numbers == nil {
		return 0
	}
	return u.numbers(id)
}

// settle takes the switches as the parser understood them.
func (u *UI) settle(g *Globals) {
	u.AsJSON = g.JSON
	u.Quiet = g.Quiet
	u.Detailed = g.Verbose
	u.wide = g.Wide
	u.plain = u.plain || g.Plain
	if g.NoColor {
		u.color = false
		u.errTint = false
	}
}

// Out prints a line of the result for people; nothing with --json.
func (u *UI) Out(format string, args ...any) {
	if !u.AsJSON {
		fmt.Fprintf(u.Stdout, format+"\n", visible(args)...)
	}
}

// Text prints a text of many lines, each made visible; nothing with --json.
func (u *UI) Text(text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		u.Out("%s", Line(line))
	}
}

// Line makes a line of another program's text visible, and leaves its tabs.
func Line(s string) Styled {
	parts := strings.Split(s, "\t")
	for i, part := range parts {
		parts[i] = hidden.Visible(part)
	}
	return Styled(strings.Join(parts, "\t"))
}

// Note prints progress to stderr, unless -q is given.
func (u *UI) Note(format string, args ...any) {
	if !u.Quiet {
		u.PrintErr(format, args...)
	}
}

// Verbose prints details to stderr if -v is given.
func (u *UI) Verbose(format string, args ...any) {
	if u.Detailed && !u.Quiet {
		u.PrintErr(format, args...)
	}
}

// Warn prints a warning to stderr, with -q too.
func (u *UI) Warn(format string, args ...any) {
	u.PrintErr("%s "+format, append(
		[]any{u.ErrStyle(Yellow, "rye: warning:")},
		args...,
	)...)
}

// PrintErr prints a line to stderr, after everything printed to stdout so far.
func (u *UI) PrintErr(format string, args ...any) {
	write := func() {
		u.Stdout.Flush() // keeps the order when both streams are one terminal
		fmt.Fprint(u.Stderr, diag.Redact(fmt.Sprintf(format+"\n", visible(args)...)))
	}
	if above := u.above.Load(); above != nil {
		(*above)(write)
		return
	}
	write()
}

// Above has lines of stderr printed by a function until end is called: a question is drawn, and
// they are printed above it.
func (u *UI) Above(printer func(write func())) (end func()) {
	u.above.Store(&printer)
	return func() { u.above.Store(nil) }
}

// Metadata states which command made the document. Commands embed it to add
// more.
type Metadata struct {
	Command string `json:"command"`
}

// JSON prints the document of a success around data; nothing without --json.
func (u *UI) JSON(data any) error {
	if !u.AsJSON {
		return nil
	}
	return u.Document(diag.Envelope{Success: true, Data: data})
}

// Document prints the JSON document of a command.
func (u *UI) Document(e diag.Envelope) error {
	if e.Metadata == nil {
		e.Metadata = Metadata{u.Command}
	}
	return u.encode(e)
}

// encode prints one JSON document. Characters that could act on a terminal or that
// a reader cannot see are escaped.
func (u *UI) encode(v any) error {
	render := jsonx.MarshalIndent
	if u.Lines {
		render = jsonx.Marshal
	}
	b, err := render(v)
	if err != nil {
		return err
	}
	u.wrote = true
	_, err = u.Stdout.Write(append(hidden.JSON(b), '\n'))
	return err
}

// Event prints one JSON document on a line, before the document of the command.
func (u *UI) Event(v any) error {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	_, err = u.Stdout.Write(append(hidden.JSON(b), '\n'))
	if err != nil {
		return err
	}
	return u.Flush()
}

// Raw prints a program's own text: made visible, but with its line ends and
// tabs, and a final line end.
func (u *UI) Raw(s string) {
	u.Text(s)
}

// Show prints data as JSON or calls human, whichever was asked for.
func (u *UI) Show(data any, human func()) error {
	if u.AsJSON {
		return u.JSON(data)
	}
	human()
	return nil
}

// Flush hands the result over; a full disk is an error like any other.
func (u *UI) Flush() error {
	if err := u.Stdout.Flush(); err != nil {
		return diag.New(diag.FileSystemError, "writing output: %w", err)
	}
	return nil
}

// Styled is text that the ui made: escape sequences in it are meant.
type Styled string

// The styles, as SGR parameters.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

const styleEnd = "\x1b[0m"

// Style colours text for stdout.
func (u *UI) Style(style, text string) Styled {
	return tint(u.color, style, text)
}

// ErrStyle colours text for stderr.
func (u *UI) ErrStyle(style, text string) Styled {
	return tint(u.errTint, style, text)
}

// Color reports whether stdout takes colour.
func (u *UI) Color() bool {
	return u.color
}

// ErrColor reports whether stderr takes colour.
func (u *UI) ErrColor() bool {
	return u.errTint
}

func tint(on bool, style, text string) Styled {
	text = hidden.Visible(text)
	if !on {
		return Styled(text)
	}
	return Styled("\x1b[" + style + "m" + text + styleEnd)
}

// visible makes the arguments of a format safe to print.
func visible(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case Styled, bool, int, int64, uint64, float64:
			out[i] = v
		case string:
			out[i] = hidden.Visible(v)
		case error:
			out[i] = hidden.Visible(v.Error())
		default:
			out[i] = hidden.Visible(fmt.Sprint(v))
		}
	}
	return out
}

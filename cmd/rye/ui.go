package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/primary"
)

// ui is the one door to the terminal. Results go to stdout, everything else to
// stderr. What it prints from arguments is untrusted and made visible first:
// control and hidden characters never reach the terminal. Only styled text,
// which the ui itself makes, passes as it is.
type ui struct {
	out     *bufio.Writer
	errOut  io.Writer
	json    bool // stdout holds JSON only
	quiet   bool
	verbose bool
	color   bool // stdout takes colour
	errTint bool // stderr takes colour
	width   int  // columns of the terminal at stdout, 0 when it is none
	command string
	wrote   bool // a JSON document was printed
}

// newUI reads the global switches straight from the words, so that even an
// error in them is shown the way the user asked for.
func newUI(w *world) *ui {
	u := &ui{out: bufio.NewWriter(w.Stdout), errOut: w.Stderr}
	noColor := w.Getenv("NO_COLOR") != "" || w.Getenv("TERM") == "dumb"
	for _, word := range w.Args {
		switch word {
		case "--json", "--json=true":
			u.json = true
		case "--no-color", "--no-color=true":
			noColor = true
		case "-q", "--quiet":
			u.quiet = true
		case "-v", "--verbose":
			u.verbose = true
		}
		if word == "--" {
			break
		}
	}
	if w.Isatty != nil && !noColor {
		u.color, u.errTint = w.Isatty(w.Stdout), w.Isatty(w.Stderr)
	}
	u.width = terminalWidth(w.Stdout)
	return u
}

// settle takes the switches as the parser understood them.
func (u *ui) settle(c *call) {
	u.json, u.quiet, u.verbose = c.bool("json"), c.bool("quiet"), c.bool("verbose")
	if c.bool("no-color") {
		u.color, u.errTint = false, false
	}
}

// Out prints a line of the result for people; nothing with --json.
func (u *ui) Out(format string, args ...any) {
	if !u.json {
		fmt.Fprintf(u.out, format+"\n", visible(args)...)
	}
}

// Text prints a text of many lines, each made visible; nothing with --json.
func (u *ui) Text(text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		u.Out("%s", line)
	}
}

// Note tells what happens, on stderr; nothing with -q.
func (u *ui) Note(format string, args ...any) {
	if !u.quiet {
		u.tell(format, args...)
	}
}

// Verbose tells more, on stderr, with -v only.
func (u *ui) Verbose(format string, args ...any) {
	if u.verbose && !u.quiet {
		u.tell(format, args...)
	}
}

// Warn tells what may be wrong, on stderr, even with -q.
func (u *ui) Warn(format string, args ...any) {
	u.tell("%s "+format, append([]any{u.errStyle(yellow, "rye: warning:")}, args...)...)
}

func (u *ui) tell(format string, args ...any) {
	u.out.Flush() // keeps the order when both streams are one terminal
	fmt.Fprintf(u.errOut, format+"\n", visible(args)...)
}

// envelope is the one JSON document of a command.
type envelope struct {
	Success  bool          `json:"success"`
	Error    *diag.Failure `json:"error,omitempty"`
	Data     any           `json:"data,omitempty"`
	Metadata metadata      `json:"metadata"`

	Run *primary.Metadata `json:"-"` // what a run adds to the metadata
}

type metadata struct {
	Command string `json:"command"`
	*primary.Metadata
}

// JSON prints the document of a success around data; nothing without --json.
func (u *ui) JSON(data any) error {
	if !u.json {
		return nil
	}
	return u.document(envelope{Success: true, Data: data})
}

func (u *ui) document(e envelope) error {
	e.Metadata = metadata{u.command, e.Run}
	u.wrote = true
	enc := json.NewEncoder(u.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(e)
}

// raw prints a program's own text: made visible, but with its line ends and
// tabs, and a final line end.
func (u *ui) raw(s string) { u.Text(s) }

// Show prints data as JSON or calls human, whichever was asked for.
func (u *ui) Show(data any, human func()) error {
	if u.json {
		return u.JSON(data)
	}
	human()
	return nil
}

// flush hands the result over; a full disk is an error like any other.
func (u *ui) flush() error {
	if err := u.out.Flush(); err != nil {
		return diag.New(diag.FileSystemError, "writing output: %w", err)
	}
	return nil
}

// styled is text that the ui made: escape sequences in it are meant.
type styled string

// The styles, as SGR parameters.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// Style colours text for stdout.
func (u *ui) Style(style, text string) styled { return tint(u.color, style, text) }

func (u *ui) errStyle(style, text string) styled { return tint(u.errTint, style, text) }

func tint(on bool, style, text string) styled {
	text = hidden.Visible(text)
	if !on {
		return styled(text)
	}
	return styled("\x1b[" + style + "m" + text + "\x1b[0m")
}

// visible makes the arguments of a format safe to print.
func visible(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case styled, bool, int, int64, uint64, float64:
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

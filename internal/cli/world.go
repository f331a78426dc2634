package cli

import (
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/term"
)

// World is everything a run may touch. Commands reach the machine through it
// and through nothing else, so that a test can put another in its place.
type World struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        func() []string
	Now            func() time.Time
	Rand           io.Reader
	Self           string                       // path of this executable, "" when it cannot be known
	Program        VersionInfo                  // what this build records about itself
	Stdlib         fs.FS                        // the embedded system space, rooted above .ai
	Dir            string                       // working directory, "" when it cannot be known
	Etc            string                       // directory of the machine's own files; "" means the system's
	Rung           string                       // the strongest rung of the sandbox to use; "" means the system's
	Guard          time.Duration                // in which keys do not answer a question; 0: the constant; negative: none
	Isatty         func(any) bool               // whether a stream is a terminal
	NoEscapes      bool                         // the terminal prints escape sequences as characters
	Commands       func(only string) []*Command // all, or the one of this name
	Numbers        func(id string) int64        // the number of a thread or run, 0 if it has none; nil: none has one

	sorted *sortedWords // set once
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalSize returns the columns and rows of a terminal, 0 if the stream is not a terminal.
func TerminalSize(stream any) (columns, rows int) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// PlainTerminal reports whether the terminal only appends lines: nothing is drawn again, and no
// single keys are read.
func (w *World) PlainTerminal() bool {
	term := w.Getenv("TERM")
	windows := w.Getenv("OS") == "Windows_NT" // sets no TERM
	if w.NoEscapes || w.Getenv("RYE_PLAIN") == "1" || w.Getenv("ACCESSIBLE") == "1" {
		return true
	}
	return term == "dumb" || term == "" && !windows
}

// TerminalWidth returns the columns of a terminal, 0 if the stream is not a terminal.
func TerminalWidth(stream any) int {
	columns, _ := TerminalSize(stream)
	return columns
}

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
	Rung           string                       // the strongest rung of the sandbox to use; "" means that of the system
	Isatty         func(any) bool               // whether a stream is a terminal
	Commands       func(only string) []*Command // all, or the one of this name
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth returns the columns of a terminal, 0 if the stream is not a terminal.
func TerminalWidth(stream any) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

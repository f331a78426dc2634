// Package proc runs one program as a subprocess: its own process group, a
// complete environment and nothing inherited, bounded output, and an end that
// always comes.
//
// It is mechanism only. Which program may run, with which parameters, limits
// and sandbox, is decided by rooms above; proc knows no items.
package proc

import (
	"io"
	"os"
	"time"
)

// Defaults of Cmd.
const (
	DefaultGrace     = 3 * time.Second
	DefaultMaxOutput = 10 << 20
)

// Stream names one of the two outputs.
type Stream int

// Streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
	Live   Stream = 3 // what only tells how far a program is: no part of its outputs
)

// LiveMark begins a line that a program of rye writes to stderr for Live.
const LiveMark = "\x1erye-live "

// Cmd says what to run. Only Argv is required.
type Cmd struct {
	// Path is the program; empty means that Argv[0] is looked up in the PATH
	// of Env. A relative path counts from Dir and is never searched.
	Path string
	Argv []string // whole argument vector, the program's name first
	Dir  string   // working directory; empty means ours
	Env  []string // complete environment; nil means an empty one. The later of two equal names wins

	// Stdin is what the program reads; nil means the null device. A reader
	// that can block without end must be closed by the caller after Run.
	Stdin io.Reader

	Timeout     time.Duration // zero means none but that of ctx
	Grace       time.Duration // from SIGTERM to SIGKILL; zero means DefaultGrace, negative means none
	CancelGrace time.Duration // Grace once ctx has ended; zero means Grace
	MaxStdout   int64         // bytes kept; zero means DefaultMaxOutput, negative keeps none
	MaxStderr   int64         // as MaxStdout

	// Orderly says that the program ends all that it has started when it gets
	// SIGTERM. Where the system tells a program of the sudden death of this
	// process, it gets that then, and any other program SIGKILL.
	Orderly bool

	ExtraFiles []*os.File // become descriptors 3, 4, ...; not on Windows

	// OnLine, if set, receives every line of both streams as it arrives,
	// without its newline, also beyond the maxima; lines above 64 KiB come in
	// pieces. Calls never overlap; line is valid only during the call, and a
	// slow callback slows the program.
	OnLine func(s Stream, line []byte)

	// OnStdout, if set, receives what the program writes to stdout as it
	// arrives, cut nowhere in particular, also beyond MaxStdout. It is valid
	// only during the call, and a slow callback slows the program.
	OnStdout func(b []byte)
}

// Result is what a program that was started did.
type Result struct {
	Stdout, Stderr               []byte
	StdoutDropped, StderrDropped int64  // bytes beyond the maxima
	ExitCode                     int    // 128 plus the number for a signal, as shells say
	Signal                       string // "SIGKILL", or empty
	TimedOut                     bool
	Cancelled                    bool
	Orphans                      bool // a descendant outside the group still held an output and was cut off
	Duration                     time.Duration
	CPU                          time.Duration // user and system, with waited-for children
	MaxRSS                       int64         // bytes, an upper bound; 0 where unknown
}

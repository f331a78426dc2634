// Package proc runs one program as a subprocess, in its own process group, with a
// complete environment, no inherited descriptors except Cmd.Files, and bounded
// output. A call always returns, also if the program does not end.
//
// The package does not decide which program may run, with which parameters, limits
// or sandbox, and knows no items.
package proc

import (
	"io"
	"os"
	"syscall"
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
	Live   Stream = 3 // progress of the program, not part of its outputs
)

// LiveMark begins a line that a program of rye writes to stderr for Live.
const LiveMark = "\x1erye-live "

// Cmd describes a program to run. Only Argv is required.
type Cmd struct {
	// Path is the program; "" means that Argv[0] is looked up in the PATH of Env.
	// A relative path is below Dir and is not looked up.
	Path string
	Argv []string // whole argument vector, the program's name first
	Dir  string   // working directory; "" means the one of this process
	Env  []string // complete environment; nil means an empty one. The later of two equal names is used

	// Stdin is the program's input; nil means the null device. A reader
	// that can block without end must be closed by the caller after Run.
	Stdin io.Reader

	// Files are passed to the program as its descriptors from 3 on. Run closes them in
	// this process as soon as the program has them, or could not be started. Windows
	// passes none.
	Files []*os.File

	Timeout     time.Duration // zero means only the deadline of ctx
	Grace       time.Duration // from SIGTERM to SIGKILL; zero means DefaultGrace, negative means none
	CancelGrace time.Duration // Grace once ctx has ended; zero means Grace
	MaxStdout   int64         // bytes kept; zero means DefaultMaxOutput, negative keeps none
	MaxStderr   int64         // as MaxStdout

	// Orderly states that the program ends all its children when it receives
	// SIGTERM. If this process is killed, Linux sends it SIGTERM instead of
	// SIGKILL.
	Orderly bool

	// Job are limits of the job object of Windows; other systems ignore them.
	Job Job

	// Attr, if set, changes the attributes with which the program is started.
	Attr func(*syscall.SysProcAttr)

	// Spawn, if set, starts the program in place of Run, with the files as its descriptors
	// from 0 on; Path and Attr are ignored. The process is a child of this one, as Start
	// returns it.
	Spawn func(files []*os.File) (*os.Process, error)

	// OnStart, if set, receives the process id before any output is read.
	OnStart func(pid int)

	// OnExit, if set, is called when the program itself has ended, before Run waits for
	// descendants that have its outputs open. It must not block.
	OnExit func()

	// Ended, if set, is closed when the program, which is trusted, has done everything and
	// no child of it is left. Run then does not wait until the system has taken its
	// process apart, and the result has no exit code of it.
	Ended <-chan struct{}

	// OnLine, if set, receives every line of both streams as it arrives,
	// without its newline, also beyond the maxima; lines above 64 KiB come in
	// pieces. Calls never overlap; line is valid only during the call, and a
	// slow callback slows the program.
	OnLine func(s Stream, line []byte)

	// OnStdout, if set, receives the program's stdout as it arrives, divided at
	// any byte, also beyond MaxStdout. It is valid
	// only during the call, and a slow callback slows the program.
	OnStdout func(b []byte)
}

// Job are the limits of a job object; zero means none.
type Job struct {
	Memory     int64 // bytes of all processes together
	Processes  int64
	CPUSeconds int64 // of all processes together
}

// Result is the outcome of a program that was started.
type Result struct {
	Stdout, Stderr               []byte
	StdoutDropped, StderrDropped int64  // bytes beyond the maxima
	ExitCode                     int    // 128 plus the number for a signal, as in shells
	Signal                       string // "SIGKILL", or empty
	TimedOut                     bool
	Cancelled                    bool
	Orphans                      bool // a descendant outside the group still had an output open, which was closed
	Duration                     time.Duration
	CPU                          time.Duration // user and system, with waited-for children
	MaxRSS                       int64         // bytes, an upper bound; 0 if unknown
}

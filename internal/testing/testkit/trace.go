package testkit

import (
	"errors"
	"os"
)

// ErrNoTracer is wrapped by errors of systems that have no tracer or refuse
// ptrace or seccomp.
var ErrNoTracer = errors.New("processes cannot be traced here")

// Trace describes a command whose changes of files are counted.
//
// Kill is the number of the change at which the command and all its descendants
// are killed, before the kernel makes that change. 0 kills nothing. The changes
// are counted over all threads and processes of Program, in the order in which
// the kernel sees them. Writes to pipes, terminals, sockets and memory are not
// counted. Changes by other programs, for example git, are not counted either:
// their crashes are their own.
type Trace struct {
	// Filter is a program that calls FilterMain and nothing else.
	Filter  string
	Program string
	Args    []string // the command, beginning with the absolute path of the executable
	Dir     string
	Env     []string
	Output  *os.File // receives stdout and stderr, which are not counted; nil discards them
	Kill    int
}

// Traced is the result of a traced command.
type Traced struct {
	Changes []Change // the last one was not made if Killed
	Killed  bool
	Status  int // the exit status, -1 if a signal ended the command
}

// Change is a system call that changes files.
type Change struct {
	Call string // without "at": rename, unlink, mkdir, …
	Path string // absolute; the new name of a rename or link
}

// String returns the call with its path.
func (c Change) String() string {
	return c.Call + " " + c.Path
}

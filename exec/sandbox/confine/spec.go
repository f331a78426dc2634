// Package confine is the helper process of package sandbox: it applies the restrictions
// of a Spec to itself, starts the program, ends it with all its children, and reports
// the outcome.
//
// A second process of the package, the starter, starts helpers for a process that needs
// several.
//
// It decides nothing: the process that started it has turned the profile into steps.
// The program starts with all restrictions of the Spec, or not at all.
//
// The package has an init function, unlike the others of this program, because the
// helper is the same executable: the other packages need as long to initialise as the
// rest of a start, for every program that is started. Go initialises this one before
// them because of what it does not import: nothing that needs reflect, strconv or strings
// (encoding/json, fmt, golang.org/x/sys/unix).
//
// The helper begins in an init function and not in main: other packages need milliseconds to
// initialise, and each run would pay twice. This package imports nothing that needs reflect, so
// Go initialises it before all others.
package confine

// Command is the first argument of the helper. With Early as the second one it is started
// before its request exists, and receives SpecFD and the descriptors of the program in one
// message on ReportFD. With Starter the process is the one that starts helpers.
const (
	Command = "sandbox-helper"
	Early   = "early"
	Starter = "starter"
)

// Descriptors of the helper. The descriptors of the program follow Report.
const (
	SpecFD   = 3 // a file with the words of AppendSpec
	ReportFD = 4 // a socket that keeps the limits of messages: each is one of AppendMessage
)

// Failed is the exit status of the helper if a step failed.
const Failed = 125

// Environ is the environment of the helper itself, which the program does not get. The
// helper works on two things at a time, ends before its garbage counts, and need not know
// the share of the processors that it may use.
func Environ() []string {
	return []string{"GOMAXPROCS=2", "GOGC=off", "GODEBUG=containermaxprocs=0,updatemaxprocs=0"}
}

// StarterEnviron is the environment of the starter. It collects its garbage, after each
// megabyte: it lives as long as its parent, and a clone copies the tables of its pages.
func StarterEnviron() []string {
	env := Environ()
	return []string{env[0], "GOGC=25", env[2]}
}

// Spec is what the helper does, in the order of the fields.
type Spec struct {
	Namespaces bool // the helper is process 1 of its own namespaces
	Mounts     []Step

	Loopback bool // set the loopback interface up
	Listen   int  // port on 127.0.0.1 whose listener goes to the parent; 0 means none

	Landlock *Ruleset
	Rlimits  []Rlimit
	Filter   []uint64 // the seccomp filter, one instruction each
	Watch    Watch

	Path  string
	Argv  []string
	Env   []string
	Dir   string
	Files int // descriptors after ReportFD that the program gets, from 3

	// Linger is how long, in milliseconds, children that have an output of the program
	// open may run after its end. Grace is how long it may run after SIGTERM.
	Linger int64
	Grace  int64
}

// Step is one change of the mount namespace. The new root is an empty file system; the
// old one is not visible in it, except through steps.
type Step struct {
	Do   Op
	Dst  string // in the new root
	Src  string // in the old root, without links; of Symlink the target; of TmpDir a name
	Size int64  // of Tmp in bytes; of Proc the highest process number of the namespace, if not 0
	Mode uint32
	// In is the directory that contains Src and Dst when the step was planned: if a different
	// directory has its path, the step fails. The zero value is not compared.
	In Dir
	// Is is the directory that Src is, or the zero value.
	Is Dir
}

// Dir names a directory, whatever its path is.
type Dir struct{ Device, Inode uint64 }

// Op is the operation of a Step. Bind steps create a missing mount point.
type Op string

// Operations.
const (
	MakeDir  Op = "dir"
	Symlink  Op = "link"
	ReadOnly Op = "ro"   // bind with everything that is mounted below
	Writable Op = "rw"   // the same, writable
	Device   Op = "dev"  // bind of a device file
	MaskFile Op = "hide" // an empty file in place of one
	MaskDir  Op = "void" // an empty directory in place of one
	Tmp      Op = "tmp"  // a file system in memory of Size bytes, for the TmpDir steps
	TmpDir   Op = "tmpdir"
	Proc     Op = "proc"
)

// Ruleset is a Landlock ruleset.
type Ruleset struct {
	ABI    int
	FS     uint64 // handled rights
	Net    uint64 // handled rights, without rules
	Scoped uint64 // ABI 6
	Rules  []Rule
}

// Rule grants rights below a path of the new root.
type Rule struct {
	Path   string
	Access uint64
}

// Rlimit is a limit of setrlimit.
type Rlimit struct {
	Resource int
	Soft     uint64
	Hard     uint64
	// Own adds the threads of the helper to the limit, which includes them.
	Own bool
	// Child keeps the limit from the helper, which could not live under it.
	Child bool
}

// Watch are the limits that the helper measures for the program and all its children
// together; 0 means none. Exceeding one ends them.
type Watch struct {
	Every     int64 // milliseconds between measurements
	CPU       int64 // seconds
	Memory    int64 // bytes
	Processes int64
	Disk      int64 // bytes
	Files     int64
	Roots     []string // the writable directories on a disk, in the new root
}

// Start is what the starter does for one helper: it starts the file at Path as an early
// helper in new namespaces.
type Start struct {
	Number uint64 // of the request, which its answer repeats
	Path   string
	Flags  uint64 // the namespaces, flags of clone
	UID    int    // the only ids that exist in the user namespace
	GID    int
	Caps   []uint64 // ambient capabilities
}

// Message is what the helper reports: exactly one of its fields is set. Without
// Starting or End, the process was not the helper, or failed before it could report.
type Message struct {
	Starting  bool // of a helper that becomes the program: the next step is exec
	Failure   *Failure
	Listening bool // with the listener's descriptor
	Exited    bool // the program has ended, its children perhaps not
	End       *End
}

// Failure is the step that failed. The program was not started.
type Failure struct {
	Step  string // mounts, network, landlock, rlimits, seccomp, exec
	What  string
	Errno int
}

// End is how the program ended.
type End struct {
	Code     int
	Signal   int
	MaxRSS   int64  // bytes, of the largest process
	CPU      int64  // microseconds, of all processes
	Exceeded string // the key of the limit
	Measured int64  // in the unit of the key
}

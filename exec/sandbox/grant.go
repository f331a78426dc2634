package sandbox

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/runsoutside"
	"github.com/ryeos/rye/policy"
)

// Rung is a step of the ladder of isolation.
type Rung string

// Rungs, from the strongest.
const (
	Strict   Rung = "strict"   // namespaces, Landlock, seccomp, limits
	Landlock Rung = "landlock" // the same without namespaces
	Basic    Rung = "basic"    // process group, environment, descriptors, limits
)

// Grant is a profile for one run on this machine: paths are absolute and exist, or are
// skipped. Nothing in it is a template.
type Grant struct {
	Self string // the executable of rye, which is also the helper
	Rung Rung   // the rung to use; "" means the best one that can enforce the rest

	Starter *Starter // may start the helper, in the rung strict; nil starts none

	Project string   // real path of the project, "" without one
	Read    []string // files and directories with everything below them
	Write   []string // the same; write implies read
	// Sockets are Unix sockets that the program may connect to, or directories with some.
	// OwnSockets permits those that it makes itself. Without both it has socketpair only.
	Sockets    []string
	OwnSockets bool
	Fixed      []string // read-only in addition to the system directories: prefix of the interpreter, copy of the tool
	// Hidden are files and directories that the program does not see, also below a
	// granted directory: keys, trust and state of rye, and of other programs.
	Hidden []string

	// Tmp permits a private directory for temporary files, which TMPDIR names.
	Tmp bool
	// Cache, if set, is the directory of {cache} on this machine, with 0700. It is
	// writable, and its directory home is the home directory of the program.
	Cache string
	// Home is the home directory of the user: an empty directory, but for what is
	// granted in it.
	Home string

	Net string // a mode of policy.Profile
	// Listen receives, with NetHosts, a listener in the network namespace of the program
	// at ProxyAddr. It must serve a proxy there and not block.
	Listen func(net.Listener)

	// Exec are the programs that the program may start, as absolute paths; nil permits
	// all. The program itself is always permitted, with its interpreter.
	Exec *[]string

	Limits policy.Limits // absent ones have their default

	// Quarantine is a directory below the project, or elsewhere, for protected files that
	// the program created. It is created when it is needed.
	Quarantine string
	// Protected decides which paths of writable directories are protected, as
	// policy.Protected does; nil means that function.
	Protected func(rel string) (row policy.ProtectedPath, matched string, ok bool)
	// Repositories is what the program may change of the repositories in writable directories.
	Repositories Repositories
	// Git finds what repositories name; nil reads their own settings only.
	Git *runsoutside.Finder
	// Listings are the listings of earlier runs of the process, or nil.
	Listings *Listings
}

// Repositories is what a program may change of the repositories in writable directories.
type Repositories string

// Values of Repositories.
const (
	ReadRepositories   Repositories = ""       // nothing: .git is read-only
	CommitRepositories Repositories = "commit" // objects, refs and logs, but not the index
	CloneRepositories  Repositories = "clone"  // all but what makes git run programs: the working copy of a thread
)

// ProxyAddr is where programs with NetHosts reach the proxy. Nothing else uses the port:
// the network namespace is new.
const ProxyAddr = "127.0.0.1:3128"

const proxyPort = 3128

// Report is the isolation of one run, as results contain it.
type Report struct {
	Rung    Rung     `json:"rung"`
	Layers  []string `json:"layers"`
	Missing []string `json:"missing"`
	// Notes are facts about the grant that are not missing layers: skipped paths.
	Notes []string `json:"notes,omitempty"`
}

// End completes a run that Wrap prepared: call it once, with the result of proc.Run, or
// with nil if Run returned an error. It replaces the exit status of the helper by the exit
// status of the program, and returns
//   - SANDBOX_UNAVAILABLE if a layer could not be applied: the program was not started
//   - the error of proc.Run if the program could not be started
//   - RESOURCE_EXCEEDED with limit, max and measured
//   - POLICY_DENIED with quarantined, if the program created protected paths
//
// A program that failed otherwise is not an error here.
type End func(res *proc.Result) error

// otherVersion returns the error for a helper that is another version of rye than this
// process: Self was replaced since the process started.
func otherVersion(self string) error {
	return diag.New(diag.SandboxUnavailable, "starting the sandbox: %q is another version of rye than this process", self).
		WithReason("sandbox_version").WithDetail("file", self)
}

// unreported returns the error for a helper that ended by itself without a report: the
// program perhaps was not started, for example because Self was replaced by another
// file, and the exit status is not the program's. err is the error of reading reports.
func unreported(res *proc.Result, err error) error {
	e := fmt.Sprintf("the helper ended with exit status %d and without a report", res.ExitCode)
	line, _, _ := strings.Cut(strings.TrimSpace(string(res.Stderr)), "\n")
	switch {
	case err != nil:
		e += ": reading its reports: " + err.Error()
	case line != "":
		e += "; stderr begins with " + strconv.Quote(cuttext.Start(line, 200))
	case res.ExitCode == confine.Failed: // it reports every failure after that
		e += ": it did not get its request"
	}
	return diag.New(diag.Internal, "running in the sandbox: %s", e)
}

package project

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/credentials"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
)

// Env is what opening a project depends on besides its files: the machine, the
// caller and the settings of the command line. The zero value of every field
// but the functions Getenv, Environ and Now works.
type Env struct {
	Getenv     func(string) string
	Environ    func() []string
	Now        func() time.Time
	Self       string   // path of this executable
	ThreadArgs []string // with which it runs RunThreadProcess
	Stdlib     fs.FS    // the embedded system space, rooted above .ai
	Etc        string   // directory of the machine's own files; "" means the system's
	Cwd        string   // working directory of the process
	Base       string   // absolute: relative paths of the caller start here
	Named      string   // directory of the project; "" looks for it from Base upwards

	TrustRoot string        // a file or directory of trust documents, as the user typed it
	Grace     time.Duration // how long a program may take to end after the signal to do so; 0 is the default
	Resolving bool          // the packages of Python tools may be resolved and fetched
	Locked    bool          // use only what rye.lock names, also outside of CI
	AsCI      bool          // judge as in CI
	Unlocked  bool          // the user gave --locked=false, which is honoured in CI too
	// ThreadLogs marks a command about threads: outside of projects it uses the logs of the account.
	ThreadLogs bool
	NoMemo     bool // compute what the memo knows, too
	Offline    bool
	Terminal   string // the name of the terminal at which a person gives answers, "" if it is not known
	Key        string // which key signs: a fingerprint, an owner or a file

	Surface  string    // what asks for signatures; "" is the command line
	Command  string    // the verb, for the record of runs
	Version  string    // of this program
	Build    string    // identifies the build, for caches
	Released time.Time // when this program was built; the clock cannot be earlier

	// Parts are what packages above this one do for the project.
	Parts Parts

	// Broker serves the verbs to a program; nil serves none.
	Broker func(ctx context.Context, b *agent.Broker) (exec.Connection, error)

	// ServeTools serves tools to a program that calls models by itself; nil serves none.
	ServeTools func(ctx context.Context, tools ToolVerbs) (*ToolServer, error)

	// Ladder returns the sandbox that this system can enforce; nil means sandbox.Probe.
	Ladder func() sandbox.Ladder

	// Starter starts the helpers of the sandbox in a process with many runs; nil starts none.
	Starter *sandbox.Starter

	// Applet runs an applet in this process; nil starts a process for each.
	Applet func(context.Context, exec.AppletCall) int
	// Changes returns the lines of the difference that a call makes of files in the directory dir
	// where tools work; nil shows none.
	Changes func(dir string, c *policy.FileChange) []string

	// Listings are what the sandbox of a server remembers of directories, or nil.
	Listings *sandbox.Listings

	Servers *mcpclient.Pool // external MCP servers in use; the owner closes them

	// Hint returns the advice to a person about a finding, or ""; nil knows nothing.
	Hint func(diag.Finding) string

	// Person is the terminal. Every function may be nil: then nothing is
	// printed and questions are errors.
	Person Person
}

// Person is how an opened project reaches its user.
type Person struct {
	Note    func(format string, args ...any)
	Warn    func(format string, args ...any)
	Finding func(f diag.Finding)                // warns of a finding, with its hint
	Secret  func(prompt string) ([]byte, error) // reads without echo
	All     bool                                // print every line of long lists
	Asks    bool                                // a program started for the project may ask at the terminal
}

// Notef prints a line for the user.
func (p Person) Notef(format string, args ...any) {
	if p.Note != nil {
		p.Note(format, args...)
	}
}

// Warnf prints a warning for the user.
func (p Person) Warnf(format string, args ...any) {
	if p.Warn != nil {
		p.Warn(format, args...)
	}
}

// WarnOf warns of a finding.
func (p Person) WarnOf(f diag.Finding) {
	if p.Finding != nil {
		p.Finding(f)
	}
}

// KeyParams returns the parameters of a keychain that has no trust documents and records
// no signature.
func (e *Env) KeyParams(dirs userdirs.Dirs) keychain.Params {
	return keychain.Params{
		Dirs:   dirs,
		Now:    e.Now,
		Getenv: e.Getenv,
		Path:   e.Path,
		Named:  e.Key,
		Secret: e.Person.Secret,
		Note:   e.Person.Note,
	}
}

// Path returns a path that the user typed as an absolute one.
func (e *Env) Path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(e.Base, p)
}

// In returns the same environment for another project.
func (e *Env) In(dir string) *Env {
	other := *e
	other.Base = dir
	other.Named = dir
	return &other
}

// InCI reports whether the process runs in CI, where no command changes a lock
// that it was not asked to change.
func (e *Env) InCI() bool {
	if e.AsCI {
		return true
	}
	switch e.Getenv("CI") {
	case "", "0", "false":
		return false
	}
	return true
}

// ToolServer is an MCP server of this process that programs reach by a command.
type ToolServer struct {
	Command []string // that connects its input and output with the server
	Dir     string   // a directory that the program must be able to read
	Close   func()   // ends the server and its calls
}

// KeyValues returns the named keys that the user has.
func (e *Env) KeyValues(names []string) (map[string]string, error) {
	found, err := e.Keys().Find(names...)
	out := map[string]string{}
	for name, k := range found {
		out[name] = k.Value
	}
	return out, err
}

// ToolVerbs are the tools, prompts and resources that a server offers to a program.
type ToolVerbs interface {
	Definitions(ctx context.Context) (*agent.Definitions, error)
	Call(ctx context.Context, req agent.Request) *agent.Reply
	Prompts(ctx context.Context) ([]agent.Prompt, error)
	Prompt(ctx context.Context, name string, args map[string]string) (*agent.PromptText, error)
	Resources(ctx context.Context) ([]agent.Resource, error)
	Resource(ctx context.Context, uri string) (text string, mime string, err error)
}

// Keys finds and stores the keys of services for this user.
func (e *Env) Keys() credentials.Keys {
	return credentials.Keys{Getenv: e.Getenv, Dir: e.UserDirs().Config}
}

// Outside returns an environment whose PATH has no directory of the project: a program that
// a project brings must not get what the user's programs get.
func (p *Project) Outside(environ []string) []string {
	path, _ := proc.Lookup(environ, "PATH")
	return proc.Merge(environ, []string{"PATH=" + proc.OutsidePath(path, p.Spaces.ProjectDir)})
}

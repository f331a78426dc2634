package project

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/account"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/consent"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/memo"
	"github.com/ryeos/rye/internal/once"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/internal/workcopy"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/transcript"
	"github.com/ryeos/rye/trust"
)

// Project is an opened project: what commands, servers and hooks work with. It is
// opened once for a command and shared by everything that the command does.
type Project struct {
	asking context.Context // for questions to git of a run, which end by themselves

	Env *Env // what it was opened with

	Dirs     userdirs.Dirs
	Spaces   *space.Spaces
	Trust    *trust.Store
	BadTrust []diag.Finding // trust documents that were skipped

	Cache    string     // directory of the cache, "" if there is none
	Files    lock.Files // rye.yaml, rye.lock and rye.sum; nil without a project
	Lock     *SpaceLock // of the project, nil if it has none
	LockErrs []error    // errors in spite of which a lenient project is opened
	System   func() lock.System
	Rules    packages.Rules // of the machine and the user; they apply to every project

	TrustParams   trust.Params
	Resolver      *resolve.Resolver
	Index         *search.Index
	Executor      *exec.Executor
	Verbs         *primary.Verbs
	memo          *memo.Memo        // nil without one
	seen          *sandbox.Listings // what searches for protected paths remember, nil for nothing
	Settings      *agent.Settings   // of the server that opened the project, else nil
	Copied        *workcopy.Copy    // where the tools work, nil for the project itself
	SeenDir       *account.Seen     // what they see outside of projects, else nil
	Caller        Caller            // that it works for, nil for none
	Graph         GraphCaller       // the call of a graph that it works for, nil for none
	ReadOnly      bool              // tools change no file
	allowance     *once.Map[struct{}, readAllowance]
	PriceSettings *once.Map[struct{}, *resolve.Settings] // that replace the prices of provider items
	Numbers       *store.Brief                           // of threads, for runs of graphs

	// passed returns the metadata of embedded items for the processes that this one starts.
	// It is made once, when the first of them starts: by then, the project has read every
	// item that a child reads.
	Passed func() []byte

	Keys *keychain.Keychain
}

// Mode states how an opened project treats its own broken locks and extractors.
type Mode bool

const (
	Strict  Mode = false // they are errors: for commands that run an item or show it as trusted
	Lenient Mode = true  // they are remembered: for sign, verify and trust, which repair them
)

// Open opens the project that Env names.
func (e *Env) Open(ctx context.Context, m Mode) (*Project, error) {
	p := &Project{
		asking:        context.WithoutCancel(ctx),
		Env:           e,
		Dirs:          e.UserDirs(),
		allowance:     &once.Map[struct{}, readAllowance]{},
		PriceSettings: &once.Map[struct{}, *resolve.Settings]{},
	}
	p.Numbers = store.NewBrief(
		store.Dir(p.Dirs.State),
		store.Params{Now: e.Now},
	)

	// Before anything is read from them.
	if err := p.checkUserDirs(); err != nil {
		return nil, err
	}
	// The system bundle depends on the compiled-in key only. It is checked while the rest
	// is read: a reader of its items waits.
	system := e.system()
	err := p.open(ctx, m, system)
	if system != nil {
		if _, bad := system.Wait(); bad != nil {
			return nil, bad // the other error may follow from it
		}
	}
	if err != nil {
		return nil, err
	}

	// The rest reads no file before it is asked.
	p.Resolver = resolve.New(resolve.Params{
		Spaces:  p.Spaces,
		Trust:   p.Trust,
		Locked:  p.locks,
		WasTool: p.wasTool,
		Check:   itemcheck.New(p.natives),
		Plain:   p.plain(),
		Lenient: bool(m),
		Parsed:  parsedItems(),
	})
	p.Passed = sync.OnceValue(func() []byte {
		return p.Resolver.Passed(func(item.Ref) bool { return true })
	})
	p.Index = p.newIndex()
	p.Executor = p.NewExecutor()
	p.Verbs = p.NewVerbs()
	if e.ThreadLogs && p.Dirs.Account() != "" {
		return InAccount(p)
	}
	return p, nil
}

// open reads what decides about every item of the project. The order of the steps
// matters: each depends on what the comment above it names.
func (p *Project) open(ctx context.Context, m Mode, system *bundle.Opening) error {
	e := p.Env
	cache, err := e.Cache()
	if err != nil {
		return err
	}
	p.Cache = cache.Dir
	p.System = systemOf(system)

	// Spaces: the system bundle is the lowest of them.
	where := e.SpaceParams()
	where.Layer = stdlib.Bundle
	if system != nil {
		where.System = system
	}
	if p.Spaces, err = space.Discover(where); err != nil {
		return err
	}

	// The directory of the account is not a project: it has logs, and no items.
	dir := p.Dirs.Account()
	if dir != "" && p.Spaces.ProjectDir == dir {
		p.Spaces = ofAccount(p.Spaces, dir)
		p.SeenDir = seenIn(p, e.Base)
		p.ReadOnly = true
	}

	// The owner of the project: before any file of it is read.
	if err := p.checkProjectOwner(); err != nil {
		return err
	}

	own := p.ownLock()

	// The versions of rye that may use the project: before any other error of its
	// files, which may be written for a newer program.
	if err := p.checkProgram(); err != nil {
		return err
	}

	// Rules of the machine and the user: before the locks, because a locked bundle
	// that a rule refuses must not become a layer.
	if p.Rules, err = e.policies(p.Dirs); err != nil {
		return err
	}

	// Trust: depends on the project directory only. It is loaded once, while the lock is
	// read, and the layers ask it when they are used.
	untrusted := p.loadTrust(ctx)

	// Locks: depends on the spaces and adds the locked bundles to them as layers.
	if err := p.readLocks(ctx, m, own); err != nil {
		return err
	}
	if untrusted != nil {
		return untrusted
	}

	// The lock names revocations that must still be present. This needs both.
	return p.checkRevoked(m)
}

// Recorder returns the recorder of the signatures that are made for the project.
func (p *Project) Recorder() *auditlog.Recorder {
	return &auditlog.Recorder{Log: auditlog.New(auditlog.Params{Dir: p.Dirs.State, Now: p.Env.Now}), Surface: p.Env.Surface, Project: p.Spaces.ProjectDir}
}

// UserDirs returns the directories of rye in the user's home.
func (e *Env) UserDirs() userdirs.Dirs {
	return userdirs.For(e.Getenv, runtime.GOOS)
}

// Home returns the user's home directory, "" if it is unknown.
func (e *Env) Home() string {
	key := "HOME"
	if runtime.GOOS == "windows" {
		key = "USERPROFILE"
	}
	if dir := e.Getenv(key); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// systemTrust returns the directories of the machine's own trust documents.
func (e *Env) systemTrust() []string {
	if dir := e.MachineDir(); dir != "" {
		return []string{filepath.Join(dir, "trust")}
	}
	return nil
}

func (p *Project) NewExecutor() *exec.Executor {
	dir := p.Spaces.ProjectDir
	if dir == "" {
		dir = p.Env.Base
	}
	boundary := p.Boundary(dir)
	p.seen = p.listings()
	var fixed []string
	project := p.Spaces.ProjectDir
	if c := p.Copied; c != nil {
		dir = c.Dir()
		boundary = p.copyBoundary(boundary)
		if c.Objects != "" {
			fixed = []string{c.Objects}
		}
	}
	if p.SeenDir != nil {
		dir = p.ToolDir()
		boundary = p.seenBoundary(boundary)
		project = ""
	}
	boundary.ReadOnly = p.ReadOnly
	var locked *lock.Lock
	if p.Lock != nil {
		locked = p.Lock.Lock
	}
	consents := consent.Record(p.Dirs.State)
	return exec.New(exec.Params{
		Resolver:    p.Resolver,
		Cache:       p.Cache,
		Project:     project,
		Records:     transcript.Dir,
		Dir:         dir,
		UserSpace:   p.Spaces.UserDir,
		SystemSpace: p.Env.Getenv("RYE_SYSTEM_SPACE"),
		Environ:     p.Env.Environ(),
		Self:        p.Env.Self,
		Ladder:      p.Env.Ladder,
		Starter:     p.Env.Starter,
		Listings:    p.seen,
		Git:         p.GitFinder(),
		Applet:      p.Env.Applet,
		Boundary:    boundary,
		Fixed:       fixed,
		Ceiling:     p.ceiling,
		Approve:     p.approve,
		Removed:     p.Removed,
		Unconfined:  p.unconfined,
		Lock:        locked,
		System:      p.System,
		Locked:      p.Env.KeepsLock(),
		Grace:       p.Env.Grace,
		Warn:        p.warnDrift(),
		Keys:        p.Env.KeyValues,
		Consent:     consents.CheckInterpreter,
		Consented: func(config string, settings map[string]any) []string {
			return consents.ServersOf(p.Spaces.ProjectDir, config, settings)
		},
		Natives:  p.natives(),
		Provider: p.provide,
		Broker:   p.broker(),
		Now:      p.Env.Now,
	})
}

// NewVerbs returns the verbs over the project.
func (p *Project) NewVerbs() *primary.Verbs {
	return primary.New(primary.Params{
		Resolver:     p.Resolver,
		Executor:     p.Executor,
		Index:        p.Index,
		Dir:          p.Env.Base,
		Record:       p.Recorder().Record,
		Dependencies: p.dependencies,
		Ignored:      p.Ignored(),
		Ran:          p.ran(),
		Now:          p.Env.Now,
		Chains:       p.chains(),
		Refuse:       p.refuseItems(),
	})
}

// newIndex returns the search index. It reads nothing before the first query.
func (p *Project) newIndex() *search.Index {
	return search.New(p.IndexParams())
}

// IndexParams are the parameters of an index over the project.
func (p *Project) IndexParams() search.Params {
	return search.Params{
		Resolver: p.Resolver,
		CacheDir: p.Cache,
		Build:    p.Env.Build,
		Now:      p.Env.Now,
		Record:   p.Keys.IsRecorder,
	}
}

// ForBroker returns the project for calls of a program: the log of signatures states
// that a program made them.
func (p *Project) ForBroker() *Project {
	env := *p.Env
	own := *p
	env.Surface = auditlog.SurfaceBroker
	own.Env = &env
	own.Keys = p.Keys.RecordedBy(own.recordDocuments) // with the surface of the broker
	own.Verbs = own.NewVerbs()
	return &own
}

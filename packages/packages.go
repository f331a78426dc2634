// Package packages manages the bundles of a project: it selects the versions
// that rye.yaml requires, fetches and judges them, installs them into the space,
// and keeps rye.yaml, rye.lock and rye.sum consistent.
//
// It joins packages with one job each: lock reads and writes the files, source
// fetches, bundle verifies manifests, trust judges keys. It does not use git,
// parse items, run anything of a bundle, print, or make installed bundles layers
// of their space.
//
// # Directories
//
// The install directory of a locked bundle is
// <base>/.ai/bundles/<lock.ID.Dir(version)>. It has the whole tree whose hash the
// lock records, with an .ai directory of its own. A directory below .ai/bundles
// is an install directory if and only if its name contains "@". Files are
// written below <base>/.ai/cache first and renamed when they are complete.
//
// A changed text of an existing tool needs no consent: the grant is the consent to run what the
// key signs, and a question for every patch release would make --yes a habit. A new tool or
// directive needs it. So does a change of an item that replaces one of another space. The first time
// only items that replace others are asked about. rye sync asks about what it locks itself, not about
// a lock that a colleague changed.
//
// A locked bundle that is not installed is read as a whole. Files that match the lock are
// compared with the signed manifest by their digests.
package packages

import (
	"cmp"
	"context"
	"errors"
	"path"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/stagedir"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// Below .ai: the directory of staged files and the lock file in it.
const (
	cacheDir = "cache"
	lockName = "bundles.lock"
)

// Params configures an engine. Base, Source and Cache are required.
type Params struct {
	Base   string        // absolute: the directory that contains .ai
	Files  string        // absolute: the directory of rye.yaml, rye.lock and rye.sum; "" is Base
	Space  string        // the name of the space, for reasons only
	Source source.Source // of bundles in repositories and of directories on this machine
	Cache  *source.Cache
	Trust  *trust.Store // who may sign manifests; nil trusts no key
	// Revoked are the revocations that the project has now. A lock that was
	// written with revocations which are missing now is refused.
	Revoked lock.Revoked
	Rules   Rules // of the user and the machine; rye.yaml cannot weaken them
	// Registries are the logs of registries that Source reads. Nil: it reads none.
	Registries Registries
	// Caps returns the capabilities that the items of a bundle may ask for, sorted. guess
	// is what the lock has for the same files, which may be wrong, or nil. Nil records none.
	Caps func(ctx context.Context, s *source.Snapshot, guess []string) ([]string, error)
	// Contents lists the files of a bundle with the items that they are. Nil lists
	// none.
	Contents func(ctx context.Context, s *source.Snapshot) ([]Content, error)
	// Others returns who else has an item, without the bundle that is named.
	Others func(ctx context.Context, ref item.Ref, bundle string) ([]Holder, error)
	Seen   string // the file that records when versions were first seen; "" records nothing
	// Ignore excludes installed bundles from git. It is called before a bundle is
	// installed, so that a crash leaves none that git would take in. Nil does nothing.
	Ignore func() error

	// Known returns the lock as the caller has read it, which is not parsed again while the
	// file has the same text, or nil. Nil returns nil.
	Known func() *lock.Known
	// Expect has the manifests that a user was shown: a different one is refused. Nil
	// expects none.
	Expect map[lock.Module]item.Digest

	Locked  bool             // refuse every change of the lock
	Offline bool             // use no network
	Now     func() time.Time // nil means time.Now
	// Progress is called for every event, from several goroutines. Nil ignores them.
	Progress func(Event)
}

// Event is one step of the work on one bundle.
type Event struct {
	Stage   Stage
	ID      string
	Version string
}

// Stage names a step.
type Stage string

// The steps of the work on a bundle.
const (
	Waiting    Stage = "waiting" // for another process
	Resolving  Stage = "resolving"
	Fetching   Stage = "fetching"
	Fetched    Stage = "fetched"
	Installing Stage = "installing"
	Installed  Stage = "installed"
)

// Engine works on the bundles of one space. It keeps no state between calls.
type Engine struct{ p Params }

// New returns an engine.
func New(p Params) *Engine {
	if p.Files == "" {
		p.Files = p.Base
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Trust == nil {
		p.Trust = &trust.Store{}
	}
	return &Engine{p}
}

func (e *Engine) report(stage Stage, m lock.Module) {
	if e.p.Progress != nil {
		e.p.Progress(Event{stage, m.ID.String(), m.Version})
	}
}

// bundles returns the directory of install directories.
func (e *Engine) bundles() string {
	return filepath.Join(e.p.Base, space.Dir, space.BundlesFolder)
}

// space returns the base for writing below .ai. The .ai of a project must not be a
// link; the .ai of the user, which has the project files in it, may be one.
func (e *Engine) space() atomicfile.Base {
	dir := filepath.Join(e.p.Base, space.Dir)
	if e.p.Files == dir {
		return atomicfile.Space(dir)
	}
	return atomicfile.Project(e.p.Base).Below(space.Dir)
}

// files returns the base for writing rye.yaml, rye.lock and rye.sum.
func (e *Engine) files() atomicfile.Base {
	return e.space().At(e.p.Files)
}

// hold locks the space against other processes and removes what killed processes
// left there.
func (e *Engine) hold(ctx context.Context) (release func(), err error) {
	e.report(Waiting, lock.Module{})
	if release, err = hold(ctx, e.space(), e.p.Base); err != nil {
		return nil, err
	}
	stagedir.SweepOld(e.space(), cacheDir, "bundles-")
	e.files().SweepIn(".") // of earlier versions
	e.removeEmpty()
	return release, nil
}

// holdState is hold, then load: the state cannot change until release.
func (e *Engine) holdState(ctx context.Context) (*state, func(), error) {
	release, err := e.hold(ctx)
	if err != nil {
		return nil, nil, err
	}
	st, err := e.load()
	if err != nil {
		release()
		return nil, nil, err
	}
	return st, release, nil
}

// holdWait bounds the wait for another process. A fetch in it is bounded too, but a
// process that never ends must not stop this one forever.
const holdWait = 2 * time.Minute

// Hold waits until no other process changes the bundles of a space or the lock
// of its project. Base is the directory that contains .ai.
func Hold(ctx context.Context, base string) (release func(), err error) {
	return hold(ctx, atomicfile.Project(base).Below(space.Dir), base)
}

func hold(ctx context.Context, at atomicfile.Base, base string) (release func(), err error) {
	at.Sweep()
	l, err := at.LockWithin(ctx, path.Join(cacheDir, lockName), holdWait)
	var held *filelock.Held
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, diag.New(diag.Cancelled, "waiting for another rye: %w", context.Cause(ctx))
	case errors.As(err, &held):
		return nil, diag.New(diag.FileSystemError, "waiting for another rye: %w, and was not released within %s; nothing changed", err, holdWait).
			WithReason("lock_held").WithDetail("holder", held.Holder())
	default:
		out := diag.Doing("locking the bundles of "+base, err)
		out.Message += "; nothing changed"
		out.Reason = cmp.Or(out.Reason, "disk")
		return nil, out
	}
	return func() { _ = l.Release() }, nil
}

// Package packages is the engine of a project's bundles: it decides which
// versions a project needs, brings and judges them, installs them into the
// space, and keeps rye.yaml, rye.lock and rye.sum in step.
//
// It joins rooms that each know one thing: lock the files, source the remotes,
// bundle the manifests, trust the keys. It does NOT speak git, parse items, run
// anything of a bundle, print, or make installed bundles layers of their space.
//
// # What is where
//
// A locked bundle is installed at <base>/.ai/bundles/<lock.ID.Dir(version)>,
// the whole tree whose hash the lock records, with an .ai of its own. Folders
// below .ai/bundles whose name holds "@" are installed bundles and nothing else
// is. Whatever is being written lies in <base>/.ai/cache until it is whole.
package packages

import (
	"context"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/trust"
)

const (
	aiDir      = ".ai"
	bundlesDir = "bundles"
	workDir    = "cache"
	lockName   = "bundles.lock"
)

// Params is what an engine works with. Base, Source and Cache are required.
type Params struct {
	Base   string        // absolute: the folder that holds .ai
	Files  string        // absolute: the folder of rye.yaml, rye.lock and rye.sum; "" is Base
	Space  string        // the name of the space, for reasons only
	Source source.Source // where bundles come from, folders of this machine too
	Cache  *source.Cache
	Trust  *trust.Store // who may sign manifests; nil trusts nobody
	// Revoked are the revocations that the project holds now; a lock that was
	// written with others is refused.
	Revoked lock.Revoked
	Rules   Rules // of the user and the machine, which rye.yaml cannot loosen
	// Caps says what the items of a bundle may ask for. Nil: nobody knows.
	Caps   func(ctx context.Context, s *source.Snapshot) ([]string, error)
	System lock.System // the system bundle of this program; zero records none
	Seen   string      // the file that remembers when versions were first seen; "" remembers nothing

	Locked  bool             // refuse what would change the lock
	Offline bool             // use no network
	Now     func() time.Time // nil means time.Now
	// Progress hears what happens, from several goroutines. Nil: nobody.
	Progress func(Event)
}

// Event is one step of the work on one bundle.
type Event struct {
	Stage   Stage
	ID      string
	Version string
}

// Stage says what is done.
type Stage string

// The stages of a bundle.
const (
	Waiting    Stage = "waiting" // for another process
	Resolving  Stage = "resolving"
	Fetching   Stage = "fetching"
	Fetched    Stage = "fetched"
	Installing Stage = "installing"
	Installed  Stage = "installed"
)

// Engine works on the bundles of one space. Each call stands for itself.
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

func (e *Engine) tell(stage Stage, m lock.Module) {
	if e.p.Progress != nil {
		e.p.Progress(Event{stage, m.ID, m.Version})
	}
}

// bundles returns the folder of installed bundles.
func (e *Engine) bundles() string { return filepath.Join(e.p.Base, aiDir, bundlesDir) }

func (e *Engine) file(name string) string { return filepath.Join(e.p.Files, name) }

// hold waits until no other process changes this space, and removes what one
// that died has left.
func (e *Engine) hold(ctx context.Context) (release func(), err error) {
	e.tell(Waiting, lock.Module{})
	if release, err = Hold(ctx, e.p.Base); err != nil {
		return nil, err
	}
	e.sweepStages()
	atomicfile.Sweep(e.p.Files, e.p.Now().Add(-time.Minute))
	return release, nil
}

// holdState is hold, and the state of the space as it is then.
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

// Hold waits until no other process changes the bundles of a space or the lock
// of its project. Base is the folder that holds .ai.
func Hold(ctx context.Context, base string) (release func(), err error) {
	dir := filepath.Join(base, aiDir, workDir)
	l, err := filelock.Acquire(ctx, filepath.Join(dir, lockName))
	if err != nil {
		if ctx.Err() != nil {
			return nil, diag.New(diag.Cancelled, "waiting for another rye: %w", context.Cause(ctx))
		}
		return nil, diag.New(diag.FileSystemError, "locking the bundles of %s: %w", base, err).
			WithHint("nothing was changed; see that the disk is not full and the folder can be written, then run the command again")
	}
	hide(dir)
	return func() { _ = l.Release() }, nil
}

// hide keeps a folder out of git, whatever the project says about it. That it
// cannot be is no reason to fail.
func hide(dir string) {
	if file := filepath.Join(dir, ".gitignore"); !exists(file) {
		_ = atomicfile.Replace(file, []byte("*\n"), 0o644)
	}
}

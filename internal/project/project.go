package project

import (
	"context"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// house is what the commands about items work with, built once for a call.
type Project struct {
	Env *Env // what it was opened with

	Dirs     userdirs.Dirs
	Spaces   *space.Spaces
	Trust    *trust.Store
	BadTrust []diag.Finding // documents that were passed over

	files    lock.Files // of the project, nil when there is none
	Lock     *SpaceLock // of the project, nil when there is none
	LockErrs []error    // what a lenient house could not read
	System   func() lock.System
	Rules    packages.Rules // of the machine and the user, above every project

	TrustParams trust.Params
	Resolver    *resolve.Resolver
	index       *search.Index
	Executor    *exec.Executor
	Verbs       *primary.Verbs
	settings    *agent.Settings // of the server that opened it; nil: no server did
}

// mode says how strict a house is about its own extractors.
type Mode bool

const (
	Strict  Mode = false // for everything that runs or shows an item as trusted
	Lenient Mode = true  // for sign, verify and trust, which must work in an empty house
)

// house builds the rooms for this call.
func (e *Env) Open(ctx context.Context, m Mode) (*Project, error) {
	h := &Project{Env: e, Dirs: e.UserDirs()}
	system, err := e.system()
	if err != nil {
		return nil, err
	}
	h.System = systemOf(system)
	p := space.Params{Project: e.Named, Dir: e.Base, Home: e.Home(), Getenv: e.Getenv, Layer: stdlib.Bundle}
	if system != nil {
		p.System = system.FS
	}
	if h.Spaces, err = space.Discover(p); err != nil {
		return nil, err
	}
	if h.Rules, err = e.policies(h.Dirs); err != nil {
		return nil, err
	}
	if err := h.readLocks(m); err != nil {
		return nil, err
	}
	if err := h.loadTrust(ctx); err != nil {
		return nil, err
	}
	if err := h.checkRevoked(m); err != nil {
		return nil, err
	}
	h.Resolver = resolve.New(resolve.Params{Spaces: h.Spaces, Trust: h.Trust, Lenient: bool(m)})
	h.index = h.newIndex()
	h.Executor = h.newExecutor()
	h.Verbs = h.newVerbs(policy.Person())
	return h, nil
}

// system opens the embedded bundle: its manifest's signature and the hash of
// every file hold before anything of it is used. A binary without a bundle has
// an empty system space.
func (e *Env) system() (*bundle.Opened, error) {
	if e.Stdlib == nil {
		return nil, nil
	}
	if _, err := fs.Stat(e.Stdlib, space.Dir); err != nil {
		return nil, nil
	}
	anchors, _ := trust.Load(trust.Params{Anchors: CompiledAnchors(), Now: e.Now})
	return bundle.Open(e.Stdlib, stdlib.Bundle, func(manifest []byte) error {
		where := bundle.ManifestPath(stdlib.Bundle)
		return anchors.Verify(trust.ManifestInput(trust.Input{
			Space: string(space.System), Embedded: true, Path: where,
			Bytes: manifest, Subject: bundle.Subject(stdlib.Bundle),
		})).Err(where)
	})
}

func (e *Env) UserDirs() userdirs.Dirs { return userdirs.For(e.Getenv, runtime.GOOS) }

// home returns the user's home folder, "" when it is unknown.
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

// systemTrust returns the folders of the machine's own trust documents.
func (e *Env) systemTrust() []string {
	if dir := e.machineDir(); dir != "" {
		return []string{filepath.Join(dir, "trust")}
	}
	return nil
}

// compiledAnchors returns the development key, which counts for the embedded
// bundle and for nothing else.
func CompiledAnchors() []trust.Anchor {
	pub, err := hex.DecodeString(stdlib.DevPublic)
	if err != nil {
		panic("stdlib.DevPublic is not hexadecimal")
	}
	return []trust.Anchor{{
		Public: pub, Owner: "rye development key", EmbeddedOnly: true,
		Scope: doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release", "provider"}},
	}}
}

func (p *Project) newExecutor() *exec.Executor {
	dir := p.Spaces.ProjectDir
	if dir == "" {
		dir = p.Env.Base
	}
	var locked *lock.Lock
	if p.Lock != nil {
		locked = p.Lock.Lock
	}
	return exec.New(exec.Params{
		Resolver: p.Resolver, Cache: p.Env.cacheDir(p.Dirs), Project: p.Spaces.ProjectDir, Dir: dir, UserSpace: p.Spaces.UserDir,
		SystemSpace: p.Env.Getenv("RYE_SYSTEM_SPACE"), Environ: p.Env.Environ(), Self: p.Env.Self,
		Lock: locked, System: p.System, Locked: p.Env.locked(), Grace: p.Env.Grace,
		Consent: p.consent(), Natives: p.natives(), Now: p.Env.Now,
	})
}

// primary returns the verbs over a house, for a caller.
func (p *Project) newVerbs(caller policy.Set) *primary.Verbs {
	return primary.New(primary.Params{
		Resolver: p.Resolver, Executor: p.Executor, Index: p.index, Caller: caller, Dir: p.Env.Base, Record: p.Record(), Ran: p.ran(), Now: p.Env.Now,
	})
}

// index returns what searches the items. It reads nothing before it is asked.
func (p *Project) newIndex() *search.Index { return search.New(p.IndexParams()) }

func (p *Project) IndexParams() search.Params {
	return search.Params{Resolver: p.Resolver, CacheDir: p.Env.cacheDir(p.Dirs), Build: p.Env.Build, Now: p.Env.Now}
}

// cacheDir returns the content-addressed store: RYE_CACHE, the user's cache
// folder, or a private folder among the temporary files; "" when there is none.
func (e *Env) cacheDir(d userdirs.Dirs) string {
	if dir := e.Getenv("RYE_CACHE"); dir != "" {
		return e.path(dir)
	}
	if d.Cache != "" {
		return d.Cache
	}
	return privateTemp("rye-cache-" + userID())
}

// privateTemp returns a folder among the temporary files that nobody else can
// have prepared or can change, "" when there is none.
func privateTemp(name string) string {
	dir := filepath.Join(os.TempDir(), name)
	_ = os.Mkdir(dir, 0o700) // what stands there is looked at, whoever made it
	if fi, err := os.Lstat(dir); err != nil || !ownedPrivately(fi) {
		return ""
	}
	return dir
}

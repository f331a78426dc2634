package main

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
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
)

// house is what the commands about items work with, built once for a call.
type house struct {
	dirs     userdirs.Dirs
	spaces   *space.Spaces
	trust    *trust.Store
	badTrust []diag.Finding // documents that were passed over

	files    lock.Files // of the project, nil when there is none
	lock     *spaceLock // of the project, nil when there is none
	lockErrs []error    // what a lenient house could not read
	system   func() lock.System
	rules    packages.Rules // of the machine and the user, above every project

	trustParams trust.Params
	resolver    *resolve.Resolver
	index       *search.Index
	executor    *exec.Executor
	primary     *primary.Verbs
	settings    *agent.Settings // of the server that opened it; nil: no server did
}

// mode says how strict a house is about its own extractors.
type mode bool

const (
	strict  mode = false // for everything that runs or shows an item as trusted
	lenient mode = true  // for sign, verify and trust, which must work in an empty house
)

// house builds the rooms for this call.
func (c *call) house(ctx context.Context, m mode) (*house, error) {
	h := &house{dirs: c.userDirs()}
	system, err := c.system()
	if err != nil {
		return nil, err
	}
	h.system = systemOf(system)
	p := space.Params{Project: c.project(), Dir: c.dir, Home: c.home(), Getenv: c.Getenv, Layer: stdlib.Bundle}
	if system != nil {
		p.System = system.FS
	}
	if h.spaces, err = space.Discover(p); err != nil {
		return nil, err
	}
	if h.rules, err = c.policies(h.dirs); err != nil {
		return nil, err
	}
	if err := c.readLocks(h, m); err != nil {
		return nil, err
	}
	if err := c.loadTrust(ctx, h); err != nil {
		return nil, err
	}
	if err := h.checkRevoked(m); err != nil {
		return nil, err
	}
	h.resolver = resolve.New(resolve.Params{Spaces: h.spaces, Trust: h.trust, Lenient: bool(m)})
	h.index = c.index(h)
	h.executor = c.executor(h)
	h.primary = c.primary(h, policy.Person())
	return h, nil
}

// system opens the embedded bundle: its manifest's signature and the hash of
// every file hold before anything of it is used. A binary without a bundle has
// an empty system space.
func (c *call) system() (*bundle.Opened, error) {
	if c.Stdlib == nil {
		return nil, nil
	}
	if _, err := fs.Stat(c.Stdlib, space.Dir); err != nil {
		return nil, nil
	}
	anchors, _ := trust.Load(trust.Params{Anchors: compiledAnchors(), Now: c.Now})
	style, _ := sign.StyleByName("#")
	return bundle.Open(c.Stdlib, stdlib.Bundle, func(manifest []byte) error {
		where := bundle.ManifestPath(stdlib.Bundle)
		return anchors.Verify(trust.Input{
			Space: string(space.System), Embedded: true, Path: where, Bytes: manifest, Style: style,
			Subject: bundle.Subject(stdlib.Bundle), Use: "release", MaxSize: bundle.MaxManifest, Text: true,
		}).Err(where)
	})
}

func (c *call) userDirs() userdirs.Dirs { return userdirs.For(c.Getenv, runtime.GOOS) }

// home returns the user's home folder, "" when it is unknown.
func (c *call) home() string {
	key := "HOME"
	if runtime.GOOS == "windows" {
		key = "USERPROFILE"
	}
	if dir := c.Getenv(key); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// systemTrust returns the folders of the machine's own trust documents.
func (c *call) systemTrust() []string {
	if dir := c.machineDir(); dir != "" {
		return []string{filepath.Join(dir, "trust")}
	}
	return nil
}

// compiledAnchors returns the development key, which counts for the embedded
// bundle and for nothing else.
func compiledAnchors() []trust.Anchor {
	pub, err := hex.DecodeString(stdlib.DevPublic)
	if err != nil {
		panic("stdlib.DevPublic is not hexadecimal")
	}
	return []trust.Anchor{{
		Public: pub, Owner: "rye development key", EmbeddedOnly: true,
		Scope: trust.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release", "provider"}},
	}}
}

func (c *call) executor(h *house) *exec.Executor {
	dir := h.spaces.ProjectDir
	if dir == "" {
		dir = c.dir
	}
	var locked *lock.Lock
	if h.lock != nil {
		locked = h.lock.lock
	}
	return exec.New(exec.Params{
		Resolver: h.resolver, Cache: c.cacheDir(h.dirs), Project: h.spaces.ProjectDir, Dir: dir, UserSpace: h.spaces.UserDir,
		SystemSpace: c.Getenv("RYE_SYSTEM_SPACE"), Environ: c.Environ(), Self: c.Self,
		Lock: locked, System: h.system, Locked: c.locked(), Grace: c.grace(),
		Consent: c.consent(h), Natives: c.natives(h), Now: c.Now,
	})
}

// primary returns the verbs over a house, for a caller.
func (c *call) primary(h *house, caller policy.Set) *primary.Verbs {
	return primary.New(primary.Params{
		Resolver: h.resolver, Executor: h.executor, Index: h.index, Caller: caller, Dir: c.dir, Record: c.record(h), Ran: c.ran(h), Now: c.Now,
	})
}

// index returns what searches the items. It reads nothing before it is asked.
func (c *call) index(h *house) *search.Index { return search.New(c.indexParams(h)) }

func (c *call) indexParams(h *house) search.Params {
	return search.Params{Resolver: h.resolver, CacheDir: c.cacheDir(h.dirs), Build: readVersion().build(), Now: c.Now}
}

// cacheDir returns the content-addressed store: RYE_CACHE, the user's cache
// folder, or a private folder among the temporary files; "" when there is none.
func (c *call) cacheDir(d userdirs.Dirs) string {
	if dir := c.Getenv("RYE_CACHE"); dir != "" {
		return c.path(dir)
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

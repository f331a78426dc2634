package selfhost_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// memSigner is a key in memory.
type memSigner struct{ key ed25519.PrivateKey }

func (s memSigner) Public() ed25519.PublicKey { return s.key.Public().(ed25519.PublicKey) }
func (s memSigner) String() string            { return "a key in memory" }
func (s memSigner) Sign(_ context.Context, msg []byte) ([]byte, error) {
	return ed25519.Sign(s.key, msg), nil
}

func seeded(n byte) memSigner {
	return memSigner{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))}
}

// devKey is the public development key, which is trusted for embedded items only.
func devKey(t *testing.T) memSigner {
	t.Helper()
	seed, err := hex.DecodeString(stdlib.DevSeed)
	if err != nil {
		t.Fatal(err)
	}
	return memSigner{ed25519.NewKeyFromSeed(seed)}
}

func everything() doc.Scope {
	return doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release"}}
}

// world is a project, a user with one key, and a system space.
type world struct {
	t        *testing.T
	now      time.Time
	key      memSigner
	project  string
	user     string
	bin      string // the only directory on PATH
	trustDir string
	environ  []string
	system   fs.FS  // nil: the system space is empty
	layer    string // folder of RYE_SYSTEM_SPACE, "" none
}

// newWorld has the embedded system bundle and empty user and project spaces.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), key: seeded(42), system: stdlib.FS(),
		project: filepath.Join(dir, "project"), user: filepath.Join(dir, "user"), bin: filepath.Join(dir, "bin"),
		trustDir: filepath.Join(dir, "config", "trust"),
	}
	for _, d := range []string{filepath.Join(w.project, ".ai"), filepath.Join(w.user, ".ai"), w.bin} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.environ = []string{"PATH=" + w.bin, "HOME=" + w.user}
	w.own(w.key, everything())
	return w
}

// own makes the key one of the user's own.
func (w *world) own(s memSigner, scope doc.Scope) {
	w.t.Helper()
	ctx := w.t.Context()
	from, to := w.now.AddDate(0, -1, 0), w.now.AddDate(1, 0, 0)
	name, document, err := doc.NewKey(ctx, doc.KeyParams{Owner: "ada", NotBefore: from, NotAfter: to, Scope: scope, Now: w.now}, s)
	if err != nil {
		w.t.Fatal(err)
	}
	gname, grant, err := doc.NewGrant(ctx, doc.PermissionParams{Document: document, NotBefore: from, NotAfter: to, Scope: scope, Now: w.now}, s)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := testkit.AddOwnKey(w.trustDir, trust.File{Name: name, Data: document}, trust.File{Name: gname, Data: grant}); err != nil {
		w.t.Fatal(err)
	}
}

// workspace is an opened project, as commands use it. Each one is opened without
// state of an earlier one.
type workspace struct {
	spaces   *space.Spaces
	trust    *trust.Store
	resolver *resolve.Resolver
	executor *exec.Executor
	primary  *primary.Verbs
}

func (w *world) open() *workspace { return w.build(false) }

// lenient opens the workspace as sign, verify and trust do.
func (w *world) lenient() *workspace { return w.build(true) }

func (w *world) build(lenient bool) *workspace {
	w.t.Helper()
	h := &workspace{}
	var err error
	env := map[string]string{"RYE_USER_SPACE": w.user, "RYE_SYSTEM_SPACE": w.layer}
	h.spaces, err = space.Discover(space.Params{
		Project: w.project, Dir: w.project, Home: w.user, System: w.system, Layer: stdlib.Bundle,
		Getenv: func(k string) string { return env[k] },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var fs []diag.Finding
	h.trust, fs = trust.Load(trust.Params{
		UserDir: w.trustDir, ProjectDir: filepath.Join(w.project, ".ai", "trust"), Now: w.clock,
		Anchors: []trust.Anchor{{Public: devKey(w.t).Public(), Owner: "rye", EmbeddedOnly: true, Scope: everything()}},
	})
	if diag.Failed(fs) {
		w.t.Fatal(fs)
	}
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	h.resolver = resolve.New(resolve.Params{Spaces: h.spaces, Trust: h.trust, Lenient: lenient})
	h.executor = exec.New(exec.Params{
		Resolver: h.resolver, Cache: filepath.Join(w.bin, "..", "cache"), Project: w.project, UserSpace: w.user,
		Environ: w.environ, Self: self, Natives: natives(w.t), Now: w.clock,
	})
	h.primary = primary.New(primary.Params{Resolver: h.resolver, Executor: h.executor, Now: w.clock})
	return h
}

// natives are functions of the names that items of the bundle say: planned here,
// never called.
func natives(t *testing.T) map[string]exec.Native {
	t.Helper()
	called := func(context.Context, exec.NativeCall) (map[string]any, error) {
		t.Error("a function of the program was called")
		return nil, nil
	}
	names, err := nativeNames()
	if err != nil || len(names) == 0 {
		t.Fatalf("no item names a function: %v", err)
	}
	out := map[string]exec.Native{}
	for _, name := range names {
		out[name] = called
	}
	return out
}

// nativeNames searches the bundle once for all tests.
var nativeNames = sync.OnceValues(func() (out []string, err error) {
	names := regexp.MustCompile(`(?m)^  func: (\w+)$`)
	err = fs.WalkDir(stdlib.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(stdlib.FS(), path)
		for _, m := range names.FindAllSubmatch(b, -1) {
			out = append(out, string(m[1]))
		}
		return err
	})
	return out, err
})

func (w *world) clock() time.Time { return w.now }

// signed returns the file at rel, below .ai, signed by s.
func signed(t *testing.T, s memSigner, now time.Time, rel string, body []byte) []byte {
	t.Helper()
	place, ok := extract.Boot().Classify(rel)
	if !ok || place.Ref.IsZero() {
		t.Fatalf("%s is not an item", rel)
	}
	out, _, err := sign.Sign(t.Context(), body, place.Type.Style, extract.Subject(place.Ref), s, now)
	if err != nil {
		t.Fatalf("signing %s: %v", rel, err)
	}
	return out
}

// put signs a file with the user's own key and writes it below base.
func (w *world) put(base, rel string, body []byte) []byte {
	w.t.Helper()
	b := signed(w.t, w.key, w.now, rel, body)
	w.write(base, rel, b)
	return b
}

// write writes the file at rel below the .ai folder of base as it is.
func (w *world) write(base, rel string, b []byte) {
	w.t.Helper()
	name := filepath.Join(base, ".ai", filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(base, rel string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(base, ".ai", filepath.FromSlash(rel))); err != nil {
		w.t.Fatal(err)
	}
}

// program puts an empty program on PATH: enough to plan with, not to run.
func (w *world) program(name string) {
	w.t.Helper()
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.WriteFile(filepath.Join(w.bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// addSystem puts a file, signed by the development key, into the embedded
// bundle, as someone who builds rye could.
func (w *world) addSystem(rel string, body []byte) {
	w.t.Helper()
	all := fstest.MapFS{}
	err := fs.WalkDir(w.system, ".ai", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(w.system, p)
		all[p] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	all[path.Join(".ai", rel)] = &fstest.MapFile{Data: signed(w.t, devKey(w.t), at, rel, body)}
	w.system = all
}

func tool(id string) item.Ref { return item.Ref{Kind: item.Tool, ID: id} }

// mustChain returns the chain of a tool, which must hold.
func (h *workspace) mustChain(t *testing.T, ref item.Ref) []*resolve.Item {
	t.Helper()
	c, err := h.executor.Chain(t.Context(), ref)
	if err != nil {
		t.Fatalf("chain of %s: %v", ref, err)
	}
	return c.Elements
}

// mustPlan resolves the command of a tool without running it.
func (h *workspace) mustPlan(t *testing.T, ref item.Ref, params map[string]any) *exec.Plan {
	t.Helper()
	c, err := h.executor.Chain(t.Context(), ref)
	if err != nil {
		t.Fatalf("chain of %s: %v", ref, err)
	}
	p, err := h.executor.Plan(t.Context(), c, exec.Call{}, params)
	if err != nil {
		t.Fatalf("plan of %s: %v", ref, err)
	}
	return p
}

// yamlTool is the smallest tool: data that names its executor.
func yamlTool(executor string, more ...string) []byte {
	return []byte("version: 1.0.0\ntool_type: tool\nexecutor_id: " + executor + "\ndescription: A probe.\n" + strings.Join(more, ""))
}

func wantCode(t *testing.T, what string, err error, want diag.Code) {
	t.Helper()
	if got := diag.CodeOf(err); got != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

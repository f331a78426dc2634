// Package testkit creates workspaces for tests: a home with a key from a seed, a
// project, a system space, and items signed by that key.
//
// It is not part of the program, only tests import it, and it has no assertions.
// A function that cannot create its part fails the test.
package testkit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// Workspace is a project and a user with one key. Its directories are temporary and
// have no links in their paths.
type Workspace struct {
	T   testing.TB
	Now time.Time // of every signature, and of the clock

	Dir     string // contains all of the following
	Project string // with an empty .ai
	User    string // with an empty .ai
	Trust   string // the user's trust documents
	Cache   string // not created

	Key    sign.Signer // the user's own, may sign everything
	System fs.FS       // the embedded bundle; nil makes an empty system space
}

// New returns a Workspace with the system space of the program.
func New(t testing.TB) *Workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	h := &Workspace{
		T:       t,
		Now:     time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		Dir:     dir,
		Project: filepath.Join(dir, "project"),
		User:    filepath.Join(dir, "user"),
		Trust:   filepath.Join(dir, "trust"),
		Cache:   filepath.Join(dir, "cache"),
		Key:     Key(42),
		System:  stdlib.FS(),
	}
	for _, base := range []string{h.Project, h.User} {
		check(t, os.MkdirAll(filepath.Join(base, space.Dir), 0o755))
	}
	t.Cleanup(func() { writable(h.Cache) })
	h.Own(h.Key, "ada", Everything())
	return h
}

// writable makes the read-only directories of a cache removable.
func writable(dir string) {
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(p, 0o700)
		}
		return nil
	})
}

// Key returns the key whose seed is 32 times the byte n.
func Key(n byte) sign.Signer {
	return sign.NewFileSigner(
		ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize)),
		"memory",
	)
}

// Everything is the scope of a key that may sign and release all items.
func Everything() doc.Scope {
	return doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release"}}
}

// Own makes a key one of the user's own, within a scope.
func (h *Workspace) Own(s sign.Signer, owner string, scope doc.Scope) {
	h.T.Helper()
	ctx := h.T.Context()
	from := h.Now.AddDate(0, -1, 0)
	to := h.Now.AddDate(1, 0, 0)
	name, document, err := doc.NewKey(ctx, doc.KeyParams{
		Owner:     owner,
		NotBefore: from,
		NotAfter:  to,
		Scope:     scope,
		Now:       h.Now,
	}, s)
	check(h.T, err)
	gname, grant, err := doc.NewGrant(ctx, doc.PermissionParams{
		Document:  document,
		NotBefore: from,
		NotAfter:  to,
		Scope:     scope,
		Now:       h.Now,
	}, s)
	check(h.T, err)
	check(h.T, AddOwnKey(
		h.Trust,
		trust.File{Name: name, Data: document},
		trust.File{Name: gname, Data: grant},
	))
}

// AddOwnKey writes the document of a key and the grant that it signed for itself
// into a trust directory.
func AddOwnKey(dir string, document, grant trust.File) error {
	if err := trust.CheckOwnKey(document, grant); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, f := range []trust.File{document, grant} {
		err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600)
		if err != nil {
			return err
		}
	}
	return nil
}

// Signed returns body as the file at rel below .ai, signed inline by s. The
// boot table must have an entry with an inline signature for rel.
func (h *Workspace) Signed(rel, body string, s sign.Signer) []byte {
	h.T.Helper()
	p, ok := extract.Boot().Classify(rel)
	if !ok || p.Ref.IsZero() || p.Type.Detached {
		h.T.Fatalf("%s has no signature line", rel)
	}
	out, _, err := sign.Sign(
		h.T.Context(),
		[]byte(body),
		p.Type.Style,
		extract.Subject(p.Ref),
		s,
		h.Now,
	)
	check(h.T, err)
	return out
}

// Put signs body with the user's key and writes it to rel below the .ai of
// base.
func (h *Workspace) Put(base, rel, body string) {
	h.T.Helper()
	h.Write(base, rel, string(h.Signed(rel, body, h.Key)))
}

// Write writes content unchanged to rel below the .ai of base and returns the
// file's path.
func (h *Workspace) Write(base, rel, content string) string {
	h.T.Helper()
	file := filepath.Join(base, space.Dir, filepath.FromSlash(rel))
	check(h.T, os.MkdirAll(filepath.Dir(file), 0o755))
	check(h.T, os.WriteFile(file, []byte(content), 0o644))
	return file
}

// Spaces discovers the project, the user space and the system space.
func (h *Workspace) Spaces() *space.Spaces {
	h.T.Helper()
	s, err := space.Discover(space.Params{
		Project: h.Project,
		Dir:     h.Project,
		Home:    h.User,
		System:  h.System,
		Layer:   stdlib.Bundle,
	})
	check(h.T, err)
	return s
}

// Store loads the user's trust documents, with the development key for
// embedded items.
func (h *Workspace) Store() *trust.Store {
	h.T.Helper()
	dev, err := hex.DecodeString(stdlib.DevPublic)
	check(h.T, err)
	s, fs := trust.Load(trust.Params{
		UserDir:    h.Trust,
		ProjectDir: filepath.Join(h.Project, space.Dir, "trust"),
		Now:        h.Clock,
		Anchors: []trust.Anchor{{
			Public:       dev,
			Owner:        "rye",
			EmbeddedOnly: true,
			Scope:        Everything(),
		}},
	})
	if diag.Failed(fs) {
		h.T.Fatal(fs)
	}
	return s
}

// Clock returns Now.
func (h *Workspace) Clock() time.Time {
	return h.Now
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package server

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
)

// Tree is the static files of a registry in a directory: of a server, an export or a
// mirror.
// It has no pages: they would be a second form of everything, without find.
type Tree struct {
	Dir  string
	Host string
	Key  string // of the log
}

// OpenTree returns the tree in a directory. An empty key is that which the tree names: it
// shows that the tree is consistent, not whose it is.
func OpenTree(dir, key string) (*Tree, error) {
	t := &Tree{Dir: dir, Key: key}
	b, err := t.read(wire.DiscoveryPath, wire.MaxDiscovery)
	if err != nil {
		return nil, diag.New(diag.SourceNotFound, "reading the registry in %s: %w", dir, err)
	}
	var host string
	i := bytes.Index(b, []byte(`"host":"`))
	if i >= 0 {
		host, _, _ = strings.Cut(string(b[i+8:]), `"`)
	}
	d, err := wire.ParseDiscovery(b, host)
	if err != nil {
		return nil, err
	}
	t.Host = d.Host
	if t.Key == "" {
		t.Key = d.Log.Key
	}
	return t, nil
}

func (t *Tree) read(p string, limit int64) ([]byte, error) {
	return readFile(filepath.Join(t.Dir, filepath.FromSlash(p)), limit)
}

// source reads files of the log.
func (t *Tree) source(_ context.Context, p string, limit int64) ([]byte, error) {
	return t.read(wire.LogPath+"/"+p, limit)
}

// Checkpoint returns the verified checkpoint.
func (t *Tree) Checkpoint() (*log.Checkpoint, error) {
	b, err := t.read(wire.LogPath+"/"+log.CheckpointName, log.MaxCheckpoint)
	if err != nil {
		return nil, diag.New(diag.SourceNotFound, "reading the checkpoint in %s: %w", t.Dir, err)
	}
	c, err := t.verifier().Verify(b)
	if err != nil {
		return nil, diag.New(diag.LogProof, "reading the checkpoint in %s: %w", t.Dir, err)
	}
	return c, nil
}

func (t *Tree) verifier() log.Verifier {
	return log.Verifier{Origin: t.Host + wire.LogPath, Key: t.Key}
}

// TreeReport is the result of verifying a tree.
type TreeReport struct {
	Host     string         `json:"host"`
	Key      string         `json:"key"`
	Entries  int64          `json:"entries"`
	Bundles  int            `json:"bundles"`
	Versions int            `json:"versions"`
	Findings []diag.Finding `json:"findings"`
}

func (r *TreeReport) add(code diag.Code, p, format string, args ...any) {
	r.Findings = append(r.Findings, diag.Finding{
		Severity: diag.SeverityError,
		Code:     code,
		Path:     p,
		Message:  fmt.Sprintf(format, args...),
	})
}

// Verify reads everything: the log, each line of the index with its entry, each archive with
// its digest and its tree, the keys and the revocations.
func (t *Tree) Verify(ctx context.Context) (*TreeReport, error) {
	c, err := t.Checkpoint()
	if err != nil {
		return nil, err
	}
	r := &TreeReport{
		Host:     t.Host,
		Key:      t.Key,
		Entries:  c.Tree.Size,
		Findings: []diag.Finding{},
	}
	files := func(_ context.Context, p string, limit int64) ([]byte, error) {
		return t.read(p, limit)
	}
	m := rules.NewState(0)
	signed := wire.NewStatements(files, t.Host, keyIn)
	err = log.NewReader(t.source, c.Tree).Check(ctx, func(i int64, b []byte) error {
		e, err := log.ParseEntry(b)
		if err == nil {
			m.Apply(e, i, nil)
			if err := signed.Check(ctx, e); err != nil {
				r.add(diag.LogProof, wire.StatementPath(e.Statement), "it is not the signed statement of log entry %d: %v", i, err)
			}
		}
		return err
	})
	if err != nil {
		r.add(diag.LogProof, wire.LogPath, "%v", err)
		return r, nil
	}
	r.Bundles = len(m.Bundles)
	for _, b := range m.Sorted() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Versions += len(b.Versions)
		t.checkIndex(ctx, r, b)
	}
	for ns, n := range m.Namespaces {
		t.checkNamespace(r, ns, n)
	}
	entries := map[int64]string{}
	for _, x := range m.Revocations {
		entries[x.Log] = x.Digest
	}
	err = wire.CheckRevocations(ctx, files, entries, func(path string, code diag.Code, why string) {
		r.add(code, path, "%s", why)
	})
	if err != nil {
		return nil, err
	}
	return r, t.strangers(r, m)
}

// keyIn returns the key in the key document of a namespace, which must be signed by it.
func keyIn(document []byte) (sign.Fingerprint, ed25519.PublicKey, error) {
	k, err := rules.ParseKey(document)
	if err != nil {
		return sign.Fingerprint{}, nil, err
	}
	return k.Fingerprint, k.Public, nil
}

func (t *Tree) checkIndex(ctx context.Context, r *TreeReport, b *rules.Bundle) {
	p := wire.IndexPath + b.ID.IndexPath()
	text, err := t.read(p, wire.MaxIndex)
	var lines []*wire.Line
	if err == nil {
		lines, err = wire.ParseIndex(text, b.ID)
	}
	if err != nil {
		r.add(diag.RegistryError, p, "%v", err)
		return
	}
	for i, want := range b.Versions {
		if i >= len(lines) || !fits(lines[i], want) {
			r.add(diag.LogProof, p, "the line of %s is not the one of log entry %d", want.Version, want.Log)
			continue
		}
		l := lines[i]
		if l.State != want.State ||
			l.Reason != want.Reason ||
			(l.StateLog == nil) != (want.StateLog == nil) ||
			l.StateLog != nil && *l.StateLog != *want.StateLog {
			r.add(diag.LogProof, p, "the state of %s is %s, the log has %s", l.Version, l.State, want.State)
		}
		if l.State != wire.StateDeleted {
			t.checkArchive(ctx, r, l)
		}
	}
	if len(lines) > len(b.Versions) {
		r.add(diag.LogProof, p, "%d lines have no log entry", len(lines)-len(b.Versions))
	}
}

func (t *Tree) checkArchive(ctx context.Context, r *TreeReport, l *wire.Line) {
	p := archiveFile(l.Archive)
	b, err := t.read(p, wire.MaxArchive)
	if err != nil {
		r.add(diag.BundleFileMissing, p, "the archive of %s %s cannot be read: %v", l.ID, l.Version, err)
		return
	}
	d := item.DigestOf(b).String()
	if d != l.Archive || int64(len(b)) != l.Size {
		r.add(diag.HashMismatch, p, "the archive of %s %s has the digest %s", l.ID, l.Version, d)
		return
	}
	_, sum, err := rules.Unpack(ctx, b)
	if err != nil || sum != l.Sum {
		r.add(
			diag.HashMismatch,
			p,
			"the tree of %s %s has the hash %q, the log has %q: %v",
			l.ID,
			l.Version,
			sum,
			l.Sum,
			err,
		)
	}
}

func (t *Tree) checkNamespace(r *TreeReport, ns string, n *rules.Namespace) {
	p := wire.NamespacePath(ns)
	b, err := t.read(p, wire.MaxNamespace)
	var have *wire.Namespace
	if err == nil {
		have, err = wire.ParseNamespace(b, ns)
	}
	if err != nil {
		r.add(diag.RegistryError, p, "%v", err)
		return
	}
	for _, k := range n.Keys {
		i := slices.IndexFunc(have.Keys, func(x wire.BoundKey) bool {
			return x.Key == k.Key && x.Log == k.Log
		})
		if i < 0 {
			r.add(diag.LogProof, p, "the key %s of log entry %d is missing", k.Key, k.Log)
			continue
		}
		d, err := rules.ParseKey([]byte(have.Keys[i].Document))
		if err != nil || wire.KeyText(d.Fingerprint) != k.Key {
			r.add(diag.SigInvalid, p, "the document of %s is invalid or names a different key: %v", k.Key, err)
		}
	}
}

// strangers reports archives and indexes that no log entry has.
func (t *Tree) strangers(r *TreeReport, m *rules.State) error {
	known := map[string]bool{}
	for _, b := range m.Bundles {
		known[wire.IndexPath+b.ID.IndexPath()] = true
		known[wire.IndexPath+wire.NamespaceIndexPath(b.ID.NS)] = true
		for _, v := range b.Versions {
			known[archiveFile(v.Archive)] = v.State != wire.StateDeleted || known[archiveFile(v.Archive)]
		}
	}
	return walkTree(t.Dir, func(p string) error {
		if (strings.HasPrefix(p, wire.ArchivePath+"/") || strings.HasPrefix(p, wire.IndexPath+"/")) &&
			!known[p] {
			r.Findings = append(r.Findings, diag.Finding{
				Severity: diag.SeverityWarning,
				Code:     diag.BundleFileExtra,
				Path:     p,
				Message:  "no log entry names it",
			})
		}
		return nil
	})
}

// walkTree calls fn for every file of a tree.
func walkTree(root string, fn func(p string) error) error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return fn(path.Join("/", filepath.ToSlash(rel)))
	})
}

// Export copies the static files of a tree into a directory, which any web server can
// serve. The tree may grow meanwhile: what the log covers last is copied last. Files that
// the directory has are kept if they never change.
func (t *Tree) Export(ctx context.Context, to string) (copied int, err error) {
	base := atomicfile.Private(to).Mode(0o755)
	copyIf := func(want func(string) bool) error {
		return walkTree(t.Dir, func(p string) error {
			if kind, _ := cacheOf(p); kind == "" || !want(p) {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			new, err := t.copyFile(base, p)
			if new {
				copied++
			}
			return err
		})
	}
	early := func(p string) bool {
		return strings.HasPrefix(p, wire.IndexPath+"/") ||
			strings.HasPrefix(p, wire.NamespacesPath+"/") ||
			strings.HasPrefix(p, wire.SearchPath+"/") ||
			p == wire.RevocationsPath ||
			p == wire.DiscoveryPath
	}
	last := wire.LogPath + "/" + log.CheckpointName
	if err := copyIf(early); err != nil {
		return copied, diag.Doing("exporting the registry", err)
	}
	// The index was read, so this checkpoint covers it; the tiles of the checkpoint exist.
	note, err := t.read(last, log.MaxCheckpoint)
	if err != nil {
		return copied, diag.Doing("exporting the registry", err)
	}
	if err := copyIf(func(p string) bool {
		return !early(p) &&
			p != last
	}); err != nil {
		return copied, diag.Doing("exporting the registry", err)
	}
	if err := base.Write(last[1:], note, 0o644); err != nil {
		return copied, diag.Doing("exporting the registry", err)
	}
	return copied + 1, t.removeDeleted(base)
}

// removeDeleted removes archives from an export that the registry does not have any more,
// the archives of deleted versions.
func (t *Tree) removeDeleted(base atomicfile.Base) error {
	err := walkTree(base.Path(wire.ArchivePath[1:]), func(p string) error {
		p = wire.ArchivePath + p
		_, err := os.Stat(filepath.Join(t.Dir, filepath.FromSlash(p)))
		kind, _ := cacheOf(p)
		if kind == "" || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return base.Remove(p[1:])
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diag.Doing("removing archives of deleted versions", err)
	}
	return nil
}

// copyFile copies one file, and reports whether the directory did not have it.
func (t *Tree) copyFile(base atomicfile.Base, p string) (bool, error) {
	b, err := t.read(p, wire.MaxArchive)
	if errors.Is(err, fs.ErrNotExist) { // removed meanwhile: an old segment, or a deleted version
		return false, nil
	}
	if err != nil {
		return false, err
	}
	have, err := os.ReadFile(base.Path(p[1:]))
	if err == nil && bytes.Equal(have, b) {
		return false, nil
	}
	return true, base.Write(p[1:], b, 0o644)
}

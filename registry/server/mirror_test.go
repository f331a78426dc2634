package server

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust/doc"
)

func verified(t *testing.T, dir string) *TreeReport {
	t.Helper()
	r, err := Doctor(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := diag.FromFindings("verifying", r.Findings); err != nil {
		t.Fatal(err, r.Findings)
	}
	return r
}

// TestRotateKey replaces the key, also if the process ends between two steps.
func TestRotateKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	f.mustPublish("acme/tools", "v1.0.0")
	old := f.s.Key()
	f.close()
	ctx := context.Background()
	key, err := RotateKey(ctx, f.params())
	if err != nil {
		t.Fatal(err)
	}
	if verified(t, f.dir).Key != key || key == old {
		t.Fatal(key)
	}
	b, err := os.ReadFile(filepath.Join(f.dir, publicDir, filepath.FromSlash(rotationPath(old))))
	if err != nil {
		t.Fatal(err)
	}
	d, found := doc.ParseAnyName(b)
	r, ok := d.(*doc.Registry)
	if !ok || r.LogKey != key || r.Replaces != old || r.Host != testHost {
		t.Fatalf("%+v %v", d, found)
	}
	// A rotation that stopped after its first step is completed by the next start.
	secret, third, err := log.GenerateKey(randomOf(nil), testHost)
	if err != nil {
		t.Fatal(err)
	}
	f.write(nextKeyFile, secret+"\n"+third+"\n")
	f.open()
	if f.s.Key() != third {
		t.Error("the rotation was not completed")
	}
	f.mustPublish("acme/tools", "v1.1.0")
	f.check()
	if status, _, _ := f.get(rotationPath(key)); status != 200 {
		t.Errorf("the rotation is not served: %d", status)
	}
}

// statementOf returns the path of the statement of a receipt.
func statementOf(t *testing.T, r *wire.Receipt) string {
	t.Helper()
	e, err := log.ParseEntry([]byte(r.Entry))
	if err != nil {
		t.Fatal(err)
	}
	return wire.StatementPath(e.Statement)
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestVerifyTree changes files of a static tree one by one.
func TestVerifyTree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	r := f.mustPublish("acme/tools", "v1.0.0")
	yank, err := f.send(statement(wire.ActionYank, "acme/tools", "v1.0.0", nil, ""), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	published, yanked := statementOf(t, r), statementOf(t, yank)
	good := filepath.Join(t.TempDir(), "www")
	tree, err := PublicTree(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Export(context.Background(), good); err != nil {
		t.Fatal(err)
	}
	if n, err := tree.Export(context.Background(), good); err != nil || n != 1 {
		t.Errorf("a second export copied %d files: %v", n, err)
	}
	id, _ := wire.ParseID("acme/tools")
	for name, x := range map[string]struct {
		path   string
		change func([]byte) []byte
	}{
		"archive":            {archiveFile(r.Line.Archive), func(b []byte) []byte { b[len(b)/2] ^= 1; return b }},
		"no archive":         {archiveFile(r.Line.Archive), nil},
		"tile":               {"/log/tile/0/000.p/3", func(b []byte) []byte { b[3] ^= 1; return b }},
		"entry":              {"/log/tile/entries/000.p/3", func(b []byte) []byte { b[40] ^= 1; return b }},
		"line":               {wire.IndexPath + id.IndexPath(), func(b []byte) []byte { return replaceOnce(b, `"size":`, `"size":1`) }},
		"state":              {wire.IndexPath + id.IndexPath(), func(b []byte) []byte { return replaceOnce(b, `"yanked"`, `"unlisted"`) }},
		"line without entry": {wire.IndexPath + id.IndexPath(), func(b []byte) []byte { return append(b, replaceOnce(b, `"v1.0.0"`, `"v1.0.1"`)...) }},
		"namespace":          {wire.NamespacePath("acme"), func(b []byte) []byte { return replaceOnce(b, keyText(1), keyText(2)) }},
		"statement":          {published, func(b []byte) []byte { return replaceOnce(b, "v1.0.0", "v1.0.1") }},
		"no statement":       {yanked, nil},
		"another statement":  {yanked, func([]byte) []byte { return mustRead(t, filepath.Join(good, filepath.FromSlash(published))) }},
		"revocation":         {wire.RevocationsPath, func(b []byte) []byte { return replaceOnce(b, `[]`, `[{"log":1,"url":"/x"}]`) }},
		"no index":           {wire.IndexPath + id.IndexPath(), nil},
	} {
		dir := filepath.Join(t.TempDir(), "www")
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.FromSlash(x.path))
		b, err := os.ReadFile(file)
		if err == nil && x.change != nil {
			err = os.WriteFile(file, x.change(b), 0o644)
		} else if err == nil {
			err = os.Remove(file)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		changed, err := OpenTree(dir, f.s.Key())
		if err != nil {
			t.Fatal(err)
		}
		report, err := changed.Verify(context.Background())
		if err == nil && !diag.Failed(report.Findings) {
			t.Errorf("%s: the change was not found", name)
		}
	}
	_, other, err := log.GenerateKey(randomOf(nil), testHost)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := OpenTree(good, other)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := foreign.Verify(context.Background()); diag.CodeOf(err) != diag.LogProof {
		t.Errorf("with another log key: %v, %v", report, err)
	}
	if other, err := OpenTree(good, f.s.Key()[:len(f.s.Key())-4]+"AAA="); err == nil {
		if _, err := other.Verify(context.Background()); err == nil {
			t.Error("a tree was accepted with another key")
		}
	}
}

func replaceOnce(b []byte, old, new string) []byte {
	if !bytes.Contains(b, []byte(old)) {
		panic("the text " + old + " is missing")
	}
	return bytes.Replace(b, []byte(old), []byte(new), 1)
}

// TestExportDeleted removes the archive of a deleted version from a mirror.
func TestExportDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	r := f.mustPublish("acme/tools", "v1.0.0")
	f.mustPublish("acme/tools", "v1.1.0")
	dir := filepath.Join(t.TempDir(), "www")
	tree, err := PublicTree(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, filepath.FromSlash(archiveFile(r.Line.Archive)))
	for _, there := range []bool{true, false} {
		if _, err := tree.Export(context.Background(), dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); (err == nil) != there {
			t.Errorf("the archive: %v", err)
		}
		if there {
			if _, err := f.send(statement(wire.ActionDelete, "acme/tools", "v1.0.0", nil, ""), nil, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	mirror, err := OpenTree(dir, f.s.Key())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := mirror.Verify(context.Background()); err != nil || diag.Failed(r.Findings) {
		t.Error(r, err)
	}
}

// TestStopping changes a registry that stops: a change is complete or refused.
func TestStopping(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	var wg sync.WaitGroup
	var published atomic.Int64
	s := f.s
	for i := range 20 {
		wg.Go(func() {
			r, err := s.grant(context.Background(), fmt.Sprintf("ns-%d", i), f.document(1, nil))
			switch {
			case err == nil && r != nil:
				published.Add(1)
			case diag.CodeOf(err) != diag.RegistryError:
				t.Error(err)
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	f.s = nil
	f.http.Close()
	if r := verified(t, f.dir); r.Entries != published.Load()+1 {
		t.Errorf("%d entries, %d changes succeeded", r.Entries, published.Load())
	}
}

// TestRestore completes a backup from a mirror, and refuses a shorter or another log.
func TestRestore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := context.Background()
	f.grant("acme", 1)
	f.mustPublish("acme/tools", "v1.0.0")
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	if err := Backup(ctx, f.dir, at("backup")); err != nil {
		t.Fatal(err)
	}
	if err := f.s.meta.block(ctx, keyText(9), "spam"); err != nil {
		t.Fatal(err)
	}
	f.mustPublish("acme/tools", "v1.1.0")
	tree, err := PublicTree(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Export(ctx, at("mirror")); err != nil {
		t.Fatal(err)
	}
	note := f.s.writer.Checkpoint()
	if _, err := Restore(ctx, RestoreParams{Backup: at("backup"), Dir: at("a"), Notes: [][]byte{note}}); diag.CodeOf(err) != diag.Rollback {
		t.Errorf("a shorter log: %v", err)
	}
	if IsRegistry(at("a")) {
		t.Error("a refused restore left a registry")
	}
	r, err := Restore(ctx, RestoreParams{Backup: at("backup"), Dir: at("b"), From: at("mirror"), Notes: [][]byte{note}})
	if err != nil || r.Entries != 3 || r.Versions != 2 {
		t.Fatal(r, err)
	}
	if _, err := Restore(ctx, RestoreParams{Backup: at("backup"), Dir: at("b")}); err == nil {
		t.Error("a registry was overwritten")
	}
	// A mirror of another history with the same key is evidence, not a mirror.
	if err := os.CopyFS(at("fork"), os.DirFS(at("backup"))); err != nil {
		t.Fatal(err)
	}
	p := f.params()
	p.Dir = at("fork")
	fork, err := Open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fork.grant(ctx, "other", f.document(3, nil)); err != nil {
		t.Fatal(err)
	}
	if err := fork.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(ctx, RestoreParams{Backup: at("b"), Dir: at("c"), From: filepath.Join(at("fork"), publicDir)}); diag.CodeOf(err) != diag.LogEquivocation {
		t.Errorf("another history: %v", err)
	}
	f.close()
	f.dir = at("b")
	f.open()
	f.mustPublish("acme/tools", "v1.2.0")
	f.check()
}

package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/sqlite"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/threads/store"
)

// cmdFixture unpacks testdata/upgrade/NAME, which an earlier version wrote: the directories of its user are those of the
// script from then on, app is a project and reg a registry in the directory of the script. The clock is that of the day on
// which it was made, because its keys, grants and statements expire.
//
// The user has moved the project: the store of threads and the list of its projects, which have its path, get the new one.
// Everything else in them stays as the earlier version wrote it.
func cmdFixture(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "fixture NAME")
	root, err := filepath.Abs(filepath.Join("..", "..", "testdata", "upgrade", args[0], "fixture.tar.gz"))
	ts.Check(err)
	work := ts.Getenv("WORK")
	unpackFixture(ts, root, work)
	made, err := time.Parse(time.RFC3339, strings.TrimSpace(ts.ReadFile("made")))
	ts.Check(err)
	ts.Setenv("TEST_NOW", made.Add(time.Hour).Format(time.RFC3339))
	home := ts.Getenv("HOME")
	ts.Check(os.RemoveAll(home))
	ts.Check(os.Rename(filepath.Join(work, "home"), home))

	dir := store.Dir(userdirs.For(ts.Getenv, "linux").State)
	app := filepath.Join(work, "app")
	db, err := sqlite.Open(filepath.Join(dir, store.File))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec("UPDATE threads SET project = ? WHERE project != ''", app)
	ts.Check(err)
	list, err := json.Marshal(app)
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(dir, "projects"), append(list, '\n'), 0o600))
}

// unpackFixture writes the files of an archive with their modes, which keys and logs need.
func unpackFixture(ts *testscript.TestScript, archive, to string) {
	f, err := os.Open(archive)
	ts.Check(err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	ts.Check(err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
		at := filepath.Join(to, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			ts.Check(os.MkdirAll(at, 0o755))
			ts.Check(os.Chmod(at, h.FileInfo().Mode().Perm()|0o700))
			continue
		}
		b, err := io.ReadAll(r)
		ts.Check(err)
		ts.Check(os.WriteFile(at, b, h.FileInfo().Mode().Perm()))
	}
}

// nextStdlib returns a system bundle as a later version could bring it: the loop, its steps and bash changed, and a node of
// the loop has a different name.
func nextStdlib() fs.FS {
	out := fstest.MapFS{}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	seed, err := hex.DecodeString(stdlib.DevSeed)
	must(err)
	signer, ctx := sign.NewFileSigner(ed25519.NewKeyFromSeed(seed), "the development key"), context.Background()
	node := regexp.MustCompile(`(to: |next: |resume: |    )model([},:\n])`)
	manifest := bundle.ManifestPath(stdlib.Bundle)
	must(fs.WalkDir(stdlib.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(stdlib.FS(), p)
		must(err)
		rel := strings.TrimPrefix(p, ".ai/")
		place, ok := extract.Boot().Classify(rel)
		if ok && (strings.HasPrefix(rel, "tools/rye/agent/threads/") || strings.HasPrefix(rel, "tools/rye/bash/")) {
			b = append(b, "# newer\n"...)
			if rel == "tools/rye/agent/threads/runner.yaml" {
				b = node.ReplaceAll(b, []byte("${1}ask_model$2"))
			}
			b, _, err = sign.Sign(ctx, b, place.Type.Style, extract.Subject(place.Ref), signer, time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
			must(err)
		}
		if p != manifest {
			out[p] = &fstest.MapFile{Data: b}
		}
		return nil
	}))
	b, err := bundle.Create(ctx, bundle.FS(out), bundle.Params{ID: stdlib.Bundle, Version: "99.0.0", Type: "system"})
	must(err)
	b, _, err = sign.Sign(ctx, b, sign.Hash(), bundle.Subject(stdlib.Bundle), signer, time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
	must(err)
	out[manifest] = &fstest.MapFile{Data: b}
	return out
}

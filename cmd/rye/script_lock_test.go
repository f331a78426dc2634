package main

import (
	"context"
	"github.com/ryeos/rye/lock/treehash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/sign"
)

// relockCommand writes rye.lock anew with what is in it and the entries of the
// project's tools: what rye lock does of it without a network.
func relockCommand() *cli.Command {
	return &cli.Command{
		Name: "relock", Usage: "write the items of rye.lock", Hidden: true,
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Strict)
			if err != nil {
				return err
			}
			dir := h.Spaces.ProjectDir
			l, err := scriptLock(dir)
			if err != nil {
				return err
			}
			items, found, err := h.Verbs.LockItems(ctx, nil)
			if err != nil {
				return err
			}
			l.Items = items
			clash, err := h.Resolver.Collisions(ctx)
			if err != nil {
				return err
			}
			for _, f := range append(found, clash...) {
				c.UI.Warn("%s", f)
			}
			if err := diag.FromFindings("locking", append(found, clash...)); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, lock.LockFile), l.Render(), 0o644)
		},
	}
}

// scriptLock returns the lock in a folder, or a new one for its manifest.
func scriptLock(dir string) (*lock.Lock, error) {
	m := &lock.ProjectFile{}
	if b, err := os.ReadFile(filepath.Join(dir, lock.ProjectFileName)); err == nil {
		var found []diag.Finding
		if m, found = lock.ParseProjectFile(b); m == nil {
			return nil, diag.FromFindings("reading the manifest", found)
		}
	}
	l := &lock.Lock{}
	if b, err := os.ReadFile(filepath.Join(dir, lock.LockFile)); err == nil {
		var found []diag.Finding
		if l, found = lock.ParseLock(b); l == nil {
			return nil, diag.FromFindings("reading the lock", found)
		}
	}
	l.Manifest = m.Settings()
	return l, nil
}

// cmdInstall copies the .ai folder of a bundle to where sync installs it and
// writes its entry into rye.lock, as add would. FROM "" writes the entry only.
func cmdInstall(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 3, "install DIR ID VERSION [project= needs= use= replace= require= space=user]")
	set := settings(ts, args[3:], "project needs use replace require space")
	project := ts.MkAbs(set["project"])
	base := project
	if set["space"] == "user" {
		base = ts.Getenv("HOME")
		project = filepath.Join(base, ".ai")
	}
	b := lock.Bundle{ID: idOf(args[1]), Version: args[2], Use: words(set["use"], ""), Require: set["require"]}
	if set["replace"] != "" {
		replace, err := lock.ParseReplacement(set["replace"])
		ts.Check(err)
		b.Replace = replace
	}
	if set["use"] == "" {
		b.Use = nil
	}
	if set["needs"] != "" {
		for _, w := range strings.Split(set["needs"], ",") {
			id, version, _ := strings.Cut(w, "@")
			b.Needs = append(b.Needs, lock.Module{ID: idOf(id), Version: version})
		}
	}
	if b.Replace.IsZero() {
		installTree(ts, &b, ts.MkAbs(args[0]), base)
	}
	l, err := scriptLock(project)
	ts.Check(err)
	l.SetBundle(b)
	ts.Check(os.WriteFile(filepath.Join(project, lock.LockFile), l.Render(), 0o644))
}

// installTree fills in what the files of a bundle decide.
func installTree(ts *testscript.TestScript, b *lock.Bundle, from, base string) {
	dir, err := b.ID.Dir(b.Version)
	ts.Check(err)
	to := filepath.Join(base, ".ai", "bundles", filepath.FromSlash(dir))
	ts.Check(os.RemoveAll(to))
	var files []treehash.File
	ts.Check(filepath.WalkDir(filepath.Join(from, ".ai"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && (d.Name() == "cache" || d.Name() == "trust") {
			return fs.SkipDir // no bundle contains them
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, p)
		ts.Check(err)
		data, err := os.ReadFile(p)
		ts.Check(err)
		slash := filepath.ToSlash(rel)
		if strings.HasSuffix(slash, "/manifest.yaml") && strings.HasPrefix(slash, ".ai/bundles/") {
			b.Manifest = item.DigestOf(data)
			if sp, err := sign.SplitFile(data, sign.Hash()); err == nil && sp.Signed {
				b.Signers = []string{packages.SignerText(sp.Line.Key)}
			}
		}
		files = append(files, treehash.File{Path: slash, Mode: treehash.Regular, Size: int64(len(data)), Digest: item.DigestOf(data)})
		ts.Check(os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o755))
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	}))
	b.Sum, err = treehash.Of(files)
	ts.Check(err)
	b.URL, b.Ref = b.ID.URL(), "refs/tags/"+b.Version
	b.Commit, b.Tree = strings.Repeat("5f", 20), strings.Repeat("77", 20)
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

func lockOf(t *testing.T, dir string, l *lock.Lock, manifest string) *project.SpaceLock {
	t.Helper()
	m, fs := lock.ParseProjectFile([]byte(manifest))
	if m == nil {
		t.Fatal(fs)
	}
	l.Sort()
	return &project.SpaceLock{Space: space.Project, Dir: dir, Files: lock.Dir(dir), Lock: l, ProjectFile: m}
}

// TestSpaceLockLayers: where each sort of entry is looked for, and what the
// project sees of it.
func TestSpaceLockLayers(t *testing.T) {
	dir := t.TempDir()
	pin := item.DigestOf([]byte("manifest"))
	sl := lockOf(t, dir, &lock.Lock{
		Bundles: []lock.Bundle{
			{ID: idOf("github.com/Acme/core"), Version: "v1.0.0", Manifest: pin, Use: []string{"tool:gh/*"}, Needs: []lock.Module{{ID: idOf("github.com/acme/pii"), Version: "v0.1.0"}}},
			{ID: idOf("github.com/acme/fork"), Version: "v1.0.0", Manifest: pin, Replace: lock.Replacement{Path: "../fork"}},
			{ID: idOf("github.com/acme/pii"), Version: "v0.2.0", Manifest: pin},
			{ID: idOf("./local"), Version: lock.LocalVersion},
		},
		Members: []lock.Member{{Path: "./bundles/x", ID: idOf("github.com/acme/x")}, {Path: "./bundles/y"}},
	}, "rye: 1\nprefer: {\"tool:both\": github.com/acme/pii, \"tool:gone\": github.com/acme/gone}\n")
	layers, err := sl.Layers()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]space.Layer{}
	for _, l := range layers {
		at[l.ID] = l
	}
	for id, want := range map[string]space.Layer{
		"github.com/Acme/core": {Version: "v1.0.0", Install: "github.com/!acme/core@v1.0.0", Manifest: pin},
		"github.com/acme/pii":  {Version: "v0.2.0", Install: "github.com/acme/pii@v0.2.0", Manifest: pin},
		"github.com/acme/fork": {Base: filepath.Join(filepath.Dir(dir), "fork"), Show: "../fork"},
		"./local":              {Base: filepath.Join(dir, "local"), Show: "local"},
		"github.com/acme/x":    {Base: filepath.Join(dir, "bundles", "x"), Show: "bundles/x"},
		"./bundles/y":          {Base: filepath.Join(dir, "bundles", "y"), Show: "bundles/y"},
	} {
		got := at[id]
		if got.Version != want.Version || got.Install != want.Install || got.Manifest != want.Manifest || got.Base != want.Base || got.Show != want.Show {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	if n := at["github.com/Acme/core"].Needs; len(n) != 1 || n[0] != "github.com/acme/pii" {
		t.Errorf("needs %q", n)
	}
	for _, c := range []struct {
		id, ref string
		want    bool
	}{
		{"github.com/Acme/core", "tool:gh/issue", true}, {"github.com/Acme/core", "tool:gh/a/b", false}, {"github.com/Acme/core", "tool:other", false},
		{"github.com/Acme/core", "directive:gh/issue", false}, {"github.com/acme/pii", "tool:both", true}, {"github.com/acme/x", "tool:both", false},
		{"github.com/acme/pii", "tool:any", true}, {"github.com/acme/x", "tool:gone", true},
	} {
		ref, err := item.ParseRef(c.ref, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := at[c.id].Offers(ref); got != c.want {
			t.Errorf("%s offers %s: %t", c.id, c.ref, got)
		}
	}
}

// TestWorkspace runs a tool of a workspace member, and one behind a link.
func TestWorkspace(t *testing.T) {
	l := newLab(t)
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.write("rye.yaml", "rye: 1\nworkspace: [\"./bundles/*\"]\n")
	l.write("bundles/x/rye.yaml", "rye: 1\nname: github.com/acme/x\n")
	l.write(".ai/tools/.keep", "")
	l.write("bundles/x/.ai/tools/w.yaml", "{version: 1.0.0, tool_type: script, executor_id: rt, description: W.}\n")
	l.write("bundles/x/.ai/tools/rt.yaml", "{version: 1.0.0, tool_type: runtime, executor_id: rye/core/primitives/subprocess, description: R., config: {command: echo, args: [member]}}\n")
	l.must("-C", filepath.Join(l.dir, "bundles", "x"), "sign", "*")
	l.must("lock")
	if out := l.must("run", "w", "--locked"); out != "member\n" {
		t.Errorf("%q", out)
	}
	if out := l.must("list", "tool", "--space", "project"); !strings.Contains(out, "project:github.com/acme/x") {
		t.Error(out)
	}
	l.write("bundles/x/rye.yaml", "rye: 1\nname: github.com/acme/x\nprefer: {\"tool:w\": github.com/acme/y}\n")
	if _, all, status := l.run("run", "w", "--locked"); status != cli.ExitStatus(diag.LockStale) || !strings.Contains(all, "./bundles/x") {
		t.Errorf("status %d: %s", status, all)
	}
	l.must("run", "w")
	aside := filepath.Join(l.dir, "aside")
	if err := os.Rename(filepath.Join(l.dir, "bundles", "x"), aside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(aside, filepath.Join(l.dir, "bundles", "x")); err != nil {
		t.Skip("no links here: ", err)
	}
	if _, all, status := l.run("run", "w"); status != cli.ExitStatus(diag.PathEscape) || !strings.Contains(all, "is a link") {
		t.Errorf("status %d: %s", status, all)
	}
}

func idOf(s string) lock.ID {
	id, err := lock.ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}

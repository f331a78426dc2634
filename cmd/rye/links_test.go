package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// snapshotOf returns every path below dir with its mode and content.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		text := []byte{}
		if err == nil && fi.Mode().IsRegular() {
			text, err = os.ReadFile(p)
		}
		if err == nil {
			fmt.Fprintf(&b, "%s %s %q\n", strings.TrimPrefix(p, dir), fi.Mode(), text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// linkedPaths are the paths of a project that rye writes, each with the part of
// the directory outside that a link at it leads to.
func linkedPaths() map[string]string {
	return map[string]string{
		".ai/tools": "tools", ".ai/knowledge": "", ".ai/config": "", ".ai/trust": "", ".ai/cache": "cache", ".ai/cache/tmp": "cache/tmp",
		".ai/bundles": "bundles", ".ai/bundles/acme": "bundles/acme", ".github": "", ".github/workflows": "", ".gitlab": "", ".cursor": "",
		".vscode": "", "rye.yaml": "f", "rye.lock": "f", "rye.sum": "f", ".gitignore": "f", ".gitattributes": "f", ".mcp.json": "f",
		".gitlab-ci.yml": "f", ".ai/cache/bundles.lock": "f", ".ai/cache/.gitignore": "f", ".git/hooks": "", ".git/info": "",
	}
}

// TestVerbsWriteThroughNoLink (security 9) runs verbs that write in a project where
// random paths are links: nothing outside the project changes.
func TestVerbsWriteThroughNoLink(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	l := newLab(t)
	outside := t.TempDir()
	l.must("key", "new", "--no-passphrase", "--owner", "ada")
	lib := t.TempDir()
	verbs := [][]string{
		{"init", "--ci", "github", "--mcp", "cursor"}, {"init", "--ci", "gitlab", "--mcp", "vscode"}, {"init", "--mcp", "claude", "--hook"},
		{"sign", "*"}, {"new", "tool", "demo/new"}, {"add", lib}, {"lock"}, {"sync"}, {"remove", lib}, {"vendor"}, {"bundle", "create", "acme"},
		{"bundle", "sign", "acme"}, {"hook", "uninstall"}, {"verify"}, {"cache", "gc"},
	}
	refused := 0
	for i, verb := range slices.Repeat(verbs, 3) {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		prepareLinked(t, l, r, lib, outside)
		before := snapshotOf(t, outside)
		_, all, _ := l.run(verb...)
		if strings.Contains(all, "link") {
			refused++
		}
		if after := snapshotOf(t, outside); after != before {
			t.Errorf("round %d: rye %s changed what is outside:\n%s\nbefore:\n%s\n%s", i, strings.Join(verb, " "), after, before, all)
		}
	}
	if refused < len(verbs)/2 {
		t.Errorf("only %d runs met a link", refused)
	}
}

// prepareLinked makes a project with unsigned and signed items, and then links.
func prepareLinked(t *testing.T, l *lab, r *rand.Rand, lib, outside string) {
	t.Helper()
	for _, dir := range []string{l.dir, outside} {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tool := "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# category: demo\n# description: Show a number.\necho 1\n"
	l.write(".ai/tools/demo/a.sh", tool)
	l.write("rye.yaml", "rye: 1\nname: app\n")
	for _, dir := range []string{"objects", "refs", "hooks", "info"} { // a repository, without starting git
		l.write(".git/"+dir+"/.keep", "")
	}
	l.write(".git/HEAD", "ref: refs/heads/main\n")
	l.write(".git/config", "[core]\n\trepositoryformatversion = 0\n")
	for _, file := range []string{filepath.Join(lib, ".ai", "tools", "lib", "b.sh"), filepath.Join(outside, "tools", "demo", "a.sh"),
		filepath.Join(outside, "bundles", "acme", "manifest.yaml"), filepath.Join(outside, "cache", "tmp", "keep"), filepath.Join(outside, "f")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(tool), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	links := linkedPaths()
	for _, at := range slices.Sorted(maps.Keys(links)) {
		if r.IntN(4) > 0 {
			continue
		}
		path := filepath.Join(l.dir, filepath.FromSlash(at))
		if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.RemoveAll(path) != nil {
			continue
		}
		if info, err := os.Lstat(filepath.Dir(path)); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		if err := os.Symlink(filepath.Join(outside, filepath.FromSlash(links[at])), path); err != nil {
			t.Skip(err)
		}
	}
}

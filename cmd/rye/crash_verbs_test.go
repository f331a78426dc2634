//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
)

// crashVerbs are the verbs that write, each with the state that it starts from.
func crashVerbs() []crashVerb {
	return slicesConcat(crashItems(), crashGit(), crashKeys(), crashBundles())
}

func slicesConcat(lists ...[]crashVerb) (out []crashVerb) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

const crashNote = "---\nname: %\ntitle: Note\nversion: 1.0.0\n---\nText of %.\n"

// crashCalls are a graph and one that calls it.
var crashCalls = map[string]string{"inner": crashCall + `
    r: {type: return, output: {ok: true}}
`, "outer": crashCall + `
    r: {action: {item_id: demo/inner}, next: end}
    end: {type: return, output: {ok: true}}
`}

const crashCall = `version: "1.0.0"
tool_type: graph
executor_id: rye/core/runtimes/state_graph_runtime
category: demo
description: The graph %.
config:
  start: r
  nodes:`

// note writes an unsigned item.
func (l *crashLab) note(names ...string) {
	l.t.Helper()
	for _, name := range names {
		l.write(".ai/knowledge/demo/"+name+".md", strings.ReplaceAll(crashNote, "%", name))
	}
}

// project makes a key, a repository of git and a committed project with one item.
func (l *crashLab) project() {
	l.t.Helper()
	l.must("key", "new", "--no-passphrase", "--owner", "ada")
	l.git("init", "-q")
	l.must("init")
	l.note("base")
	l.must("sign", "*")
	l.commit("base")
}

func (l *crashLab) commit(message string) {
	l.t.Helper()
	l.git("add", "-A", ".")
	l.git("commit", "-q", "--allow-empty", "-m", message)
}

// copied runs a thread in a working copy, and changes files there in every way.
func copied(l *crashLab) {
	l.t.Helper()
	l.git("init", "-q")
	for _, name := range []string{"a", "b", "c/d", "e/f", "link"} {
		l.write(name, name+"\n")
	}
	l.write("text", "1\n2\n3\n4\n5\n")
	l.turns(newCrashServer(l.t), "")
	l.commit("base")
	l.must("run", "directive", "team/work", "--workspace", "worktree")
	trees, err := filepath.Glob(filepath.Join(l.home, "state", "rye", "threads", "copies", "work-*", "tree"))
	if err != nil || len(trees) != 1 {
		l.t.Fatal(trees, err)
	}
	in := *l
	in.dir = trees[0]
	for _, name := range []string{"b", "c", "link", "e"} {
		if err := os.RemoveAll(filepath.Join(in.dir, name)); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(in.dir, "link")); err != nil {
		l.t.Fatal(err)
	}
	in.write("b/g", "a directory now\n")
	in.write("c", "a file now\n")
	in.write("a", "changed\n")
	in.write("new/file", "new\n")
	in.write("text", "1\n2\n3\n4\nfive\n")
	l.write("text", "one\n2\n3\n4\n5\n")
}

// cacheIgnore matches the .gitignore of the cache, which is empty at first: what keeps
// temporary files from git cannot be written through one.
const cacheIgnore = `^\?\? \.ai/cache/\.gitignore$`

func crashItems() []crashVerb {
	served := func(l *crashLab) {
		l.project()
		l.write("tools.json", mcpTools("first", "a", "b"))
		l.must("mcp", "add", "fx", "--yes", "--", "mcp-fixture", "-tools", "tools.json")
		l.write("tools.json", mcpTools("second", "a", "c"))
	}
	return []crashVerb{
		{name: "init", git: cacheIgnore, args: []string{"init"}, setup: func(l *crashLab) { l.git("init", "-q") }},
		{name: "init-hook", git: cacheIgnore, args: []string{"init", "--hook", "--ci", "github", "--mcp", "claude"}, setup: func(l *crashLab) {
			l.git("init", "-q")
			l.must("key", "new", "--no-passphrase", "--owner", "ada")
		}},
		{name: "new", short: 4, args: []string{"new", "knowledge", "demo/two"}, done: "exists", setup: (*crashLab).project},
		{name: "new-detached", during: "error (UNSIGNED|LOCK_STALE)", args: []string{"new", "tool", "demo/three", "--lang", "json"}, done: "exists", setup: (*crashLab).project},
		{name: "sign", short: 4, args: []string{"sign", "knowledge:demo/one"}, setup: func(l *crashLab) {
			l.project()
			l.note("one")
		}},
		{name: "threads-gc", git: cacheIgnore, args: []string{"threads", "gc", "--older-than", "0s"}, setup: func(l *crashLab) {
			l.project()
			for _, name := range []string{"inner", "outer"} {
				l.write(".ai/tools/demo/"+name+".yaml", strings.ReplaceAll(crashCalls[name], "%", name))
			}
			l.must("sign", "*")
			l.must("graph", "run", "demo/outer")
		}},
		{name: "threads-apply", args: []string{"threads", "apply", "work", "."}, setup: copied, short: 2},
		{name: "threads-rename", args: []string{"threads", "rename", "work", "flaky"}, setup: func(l *crashLab) {
			l.git("init", "-q")
			l.turns(newCrashServer(l.t), "")
			l.commit("base")
			l.must("run", "directive", "team/work")
		}},
		{name: "threads-drop", done: "it was dropped", args: []string{"threads", "drop", "work"}, setup: copied},
		{name: "sign-several", during: "error LOCK_STALE", args: []string{"sign", "*"}, setup: func(l *crashLab) {
			l.project()
			l.note("one", "two")
			l.write(".ai/tools/area9/t9.json", strings.NewReplacer("%d", "9", "%s", "area9").Replace(crashJSON))
		}},
		{name: "sign-edited", during: "error LOCK_MISMATCH", args: []string{"sign", "*"}, setup: func(l *crashLab) {
			l.project()
			l.must("new", "tool", "demo/four", "--lang", "bash")
			l.write(".ai/tools/demo/four.sh", string(l.read(filepath.Join(l.dir, ".ai", "tools", "demo", "four.sh")))+"echo more\n")
		}},
		{name: "new-tool", during: "error LOCK_STALE", args: []string{"new", "tool", "demo/four"}, done: "exists", setup: (*crashLab).project},
		{name: "load", args: []string{"load", "tool:rye/core/runtimes/bash_runtime", "--to", "project"}, done: "KEY_UNKNOWN", setup: (*crashLab).project},
		{name: "search", args: []string{"search", "note"}, setup: (*crashLab).project},
		{name: "mcp-add", during: "error LOCK_STALE", args: []string{"mcp", "add", "fx", "--yes", "--", "mcp-fixture", "-tools", "tools.json"}, done: "exists", setup: func(l *crashLab) {
			l.project()
			l.write("tools.json", mcpTools("first", "a", "b"))
		}},
		{name: "mcp-refresh", during: "error LOCK_(STALE|MISMATCH)", args: []string{"mcp", "refresh", "fx", "--yes"}, setup: served},
		{name: "mcp-remove", during: "error LOCK_STALE", args: []string{"mcp", "remove", "fx"}, done: "no server|not found", setup: served},
	}
}

func crashGit() []crashVerb {
	staged := func(l *crashLab) {
		l.project()
		l.note("one", "two")
		l.git("add", ".")
	}
	return []crashVerb{
		{name: "hook-install", args: []string{"hook", "install"}, setup: (*crashLab).project},
		{name: "sign-staged", git: `^AM \.ai/`, args: []string{"sign", "--staged"}, setup: staged},
		{name: "hook-commit", git: `^AM \.ai/`, args: []string{"git", "commit", "-q", "-m", "notes"}, done: "nothing to commit", setup: func(l *crashLab) {
			staged(l)
			l.must("hook", "install")
		}},
	}
}

func crashKeys() []crashVerb {
	leo := func(l *crashLab) {
		l.project()
		other := l.of("leo", "elsewhere")
		other.must("key", "new", "--no-passphrase", "--owner", "leo")
		l.write("leo.toml", other.must("key", "export"))
	}
	proposed := func(l *crashLab) {
		leo(l)
		other := l.of("leo", "elsewhere")
		b := other.must("key", "export", "--json")
		name := digits.FindString(b[strings.Index(b, "key-"):])
		l.write(".ai/trust/key-"+name+".toml", string(l.read(filepath.Join(l.dir, "leo.toml"))))
	}
	return []crashVerb{
		{name: "key-new", args: []string{"key", "new", "--no-passphrase", "--owner", "ada"}, setup: func(*crashLab) {}},
		{name: "provider-add", args: []string{"provider", "add", "mine/llm", "--url", "http://127.0.0.1:1", "--model", "m", "--no-test", "--yes"}, setup: (*crashLab).project},
		{name: "provider-logout", args: []string{"provider", "logout", "ACME_KEY"}, setup: func(l *crashLab) {
			l.project()
			path := filepath.Join(l.home, "config", "rye", "credentials.toml")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				l.t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("[keys]\nACME_KEY = \"sk-0123456789\"\nOTHER_KEY = \"sk-9876543210\"\n"), 0o600); err != nil {
				l.t.Fatal(err)
			}
		}},
		{name: "key-rotate", short: 5, args: []string{"key", "rotate", "--no-passphrase"}, setup: (*crashLab).project},
		{name: "key-rotate-in-project", args: []string{"key", "rotate", "--no-passphrase", "--in-project"}, setup: (*crashLab).project},
		{name: "key-revoke", args: []string{"key", "revoke", "--reason", "retired"}, done: "revoked already|no key", setup: (*crashLab).project},
		{name: "key-revoke-in-project", args: []string{"key", "revoke", "ada", "--reason", "compromised", "--in-project"}, setup: (*crashLab).project},
		{name: "trust-add", args: []string{"trust", "add", "leo.toml", "--kinds", "tool", "--namespaces", "leo/**"}, setup: leo},
		{name: "trust-remove", args: []string{"trust", "remove", "leo"}, done: "no key|not in your trust", setup: func(l *crashLab) {
			leo(l)
			l.must("trust", "add", "leo.toml", "--kinds", "tool", "--namespaces", "leo/**")
		}},
		{name: "trust-accept", args: []string{"trust", "accept", "--yes"}, setup: proposed},
		{name: "trust-endorse", args: []string{"trust", "endorse", "leo.toml", "--kinds", "tool", "--namespaces", "leo/**", "--key", "root"}, setup: func(l *crashLab) {
			leo(l)
			l.must("key", "new", "--no-passphrase", "--owner", "root", "--may", "sign,release,endorse")
		}},
	}
}

// library makes the repository of a bundle with two releases, signed by a key that
// the user trusts.
func (l *crashLab) library(versions ...string) {
	l.t.Helper()
	leo := l.of("leo", "lib")
	leo.must("key", "new", "--no-passphrase", "--owner", "leo")
	leo.git("init", "-q")
	leo.write("rye.yaml", "rye: 1\n")
	for _, v := range versions {
		leo.note("v"+strings.ReplaceAll(v, ".", "_"), "leo")
		leo.must("sign", "*")
		leo.must("bundle", "create", "lib", "--version", v)
		leo.commit(v)
		leo.git("tag", "-a", "v"+v, "-m", v)
	}
	l.write("../leo.toml", leo.must("key", "export"))
	l.must("trust", "add", "../leo.toml", "--kinds", "*", "--namespaces", "**")
}

func crashBundles() []crashVerb {
	lib := func(l *crashLab) string { return "file://" + filepath.ToSlash(filepath.Join(l.root, "lib")) }
	added := func(l *crashLab) {
		l.project()
		l.library("1.0.0")
		l.must("add", lib(l))
		l.commit("added")
	}
	bundle := func(l *crashLab) {
		l.project()
		l.must("bundle", "create", "acme", "--version", "1.0.0")
	}
	return []crashVerb{
		{name: "add", short: 5, during: "^(warning|error) (BUNDLE_FILE_EXTRA|LOCK_STALE|LOCK_MISSING)", args: []string{"add", "file://ROOT/lib"}, setup: func(l *crashLab) {
			l.project()
			l.library("1.0.0")
		}},
		{name: "update", during: "^(warning|error) (BUNDLE_FILE_EXTRA|LOCK_STALE|LOCK_MISSING)", args: []string{"update"}, setup: func(l *crashLab) {
			added(l)
			l.library2()
		}},
		{name: "sync", args: []string{"sync"}, setup: func(l *crashLab) {
			added(l)
			if err := os.RemoveAll(filepath.Join(l.dir, ".ai", "bundles")); err != nil {
				l.t.Fatal(err)
			}
		}},
		{name: "remove", during: "^(warning|error) (BUNDLE_FILE_EXTRA|LOCK_STALE|LOCK_MISSING)", args: []string{"remove", "file://ROOT/lib"}, done: "not required|does not require|not in", setup: added},
		{name: "prune", args: []string{"prune"}, during: "^warning BUNDLE_FILE_EXTRA ", setup: func(l *crashLab) {
			added(l)
			old := string(l.read(filepath.Join(l.dir, "rye.lock")))
			l.must("remove", lib(l))
			now := string(l.read(filepath.Join(l.dir, "rye.lock")))
			l.write("rye.lock", old)
			l.must("sync", "--frozen")
			l.write("rye.lock", now)
		}},
		{name: "lock", args: []string{"lock"}, setup: func(l *crashLab) {
			added(l)
			l.write(".ai/tools/area9/t9.json", strings.NewReplacer("%d", "9", "%s", "area9").Replace(crashJSON))
			l.must("sign", "*")
		}},
		{name: "vendor", args: []string{"vendor"}, setup: added},
		{name: "bundle-create", args: []string{"bundle", "create", "acme", "--version", "1.0.0"}, setup: (*crashLab).project},
		{name: "bundle-sign", args: []string{"bundle", "sign", "acme", "--key", "eve"}, setup: func(l *crashLab) {
			bundle(l)
			l.must("key", "new", "--no-passphrase", "--owner", "eve")
		}},
		{name: "bundle-publish", program: "git", args: []string{"bundle", "publish"}, setup: func(l *crashLab) {
			bundle(l)
			l.commit("release")
		}},
	}
}

// library2 publishes another release.
func (l *crashLab) library2() {
	l.t.Helper()
	leo := l.of("leo", "lib")
	leo.note("more")
	leo.must("sign", "*")
	leo.must("bundle", "create", "lib", "--version", "1.1.0")
	leo.commit("1.1.0")
	leo.git("tag", "-a", "v1.1.0", "-m", "1.1.0")
}

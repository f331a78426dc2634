package runsoutside

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
)

// Path is a file or directory from which git takes code or commands.
type Path struct {
	Abs string `json:"path"`    // absolute, as the setting names it: a part of it can be a link
	Key string `json:"setting"` // of git
}

const hooksPath = "core.hookspath"

// hooks are the names of the programs in a directory of hooks.
func hooks() []string {
	return []string{
		"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout",
		"post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
		"post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change",
	}
}

// Finder finds the paths. It is safe for concurrent use. The zero value knows no environment.
type Finder struct {
	// Environ is the environment of the user, in which git will be run.
	Environ []string
	// Home is the home directory of the user.
	Home string
	// Ask returns the output of git config --list -z --show-origin in a directory, or nil
	// without git. Nil never asks.
	Ask func(dir string) []byte
	// Store keeps what git answered between processes, or is nil.
	Store Store

	mu    sync.Mutex
	asked map[string]answered
}

// Repository returns the paths that the repository of a work tree names: gitDir is its .git, a
// directory or a file. The settings of the user and of the machine apply to it, too.
func (f *Finder) Repository(top, gitDir string) []Path {
	if f == nil {
		f = &Finder{}
	}
	dir, common := GitDirs(gitDir)
	out := f.paths(f.values(top, dir, common), top, dir)
	out = append(out, f.others(common)...)
	slices.SortFunc(out, func(a, b Path) int {
		return strings.Compare(a.Abs+"\x00"+a.Key, b.Abs+"\x00"+b.Key)
	})
	return slices.CompactFunc(out, func(a, b Path) bool {
		return a.Abs == b.Abs
	})
}

// Project returns the paths below the project that the repositories around it and its
// submodules name.
func (f *Finder) Project(root string) []Path {
	var out []Path
	for dir := root; ; dir = filepath.Dir(dir) {
		_, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil {
			out = append(out, f.Repository(dir, filepath.Join(dir, ".git"))...)
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	return Below(root, out)
}

// Below returns the paths that are in a directory without links in its path, each without links
// too as far as it exists.
func Below(root string, paths []Path) (out []Path) {
	for _, p := range paths {
		for _, at := range []string{p.Abs, unlinked(p.Abs)} {
			list := []string{at}
			if at == root && p.Key == hooksPath { // the project itself is the directory of the hooks
				list = nil
				for _, name := range hooks() {
					list = append(list, filepath.Join(root, name))
				}
			}
			for _, at := range list {
				if at != root &&
					within(root, at) &&
					!slices.ContainsFunc(out, func(o Path) bool { return o.Abs == at }) {
					out = append(out, Path{at, p.Key})
				}
			}
		}
	}
	return out
}

// unlinked returns a path without links: of one that does not exist, its existing part.
func unlinked(p string) string {
	for at, rest := p, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if filepath.Dir(at) == at {
			return p
		}
	}
}

func within(dir, p string) bool {
	return p == dir ||
		strings.HasPrefix(p, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// configs returns the files with the settings of the machine, the user and a repository.
func (f *Finder) configs(dir, common string) (out []string) {
	env := func(name string) string {
		v, _ := proc.Lookup(f.Environ, name)
		return v
	}
	if no := env("GIT_CONFIG_NOSYSTEM"); no == "" || no == "0" || no == "false" {
		if file := env("GIT_CONFIG_SYSTEM"); file != "" {
			out = append(out, file)
		} else {
			out = append(out, "/etc/gitconfig")
		}
	}
	if file, set := proc.Lookup(f.Environ, "GIT_CONFIG_GLOBAL"); set {
		if filepath.IsAbs(file) {
			out = append(out, file)
		}
	} else {
		config := env("XDG_CONFIG_HOME")
		if config == "" && f.Home != "" {
			config = filepath.Join(f.Home, ".config")
		}
		if config != "" {
			out = append(out, filepath.Join(config, "git", "config"))
		}
		if f.Home != "" {
			out = append(out, filepath.Join(f.Home, ".gitconfig"))
		}
	}
	return append(
		out,
		filepath.Join(common, "config"),
		filepath.Join(dir, "config.worktree"),
		filepath.Join(common, "config.worktree"),
	)
}

// environ adds the settings of the environment.
func (f *Finder) environ(r *reader) {
	env := func(name string) string {
		v, _ := proc.Lookup(f.Environ, name)
		return v
	}
	n, _ := strconv.Atoi(env("GIT_CONFIG_COUNT"))
	for i := range min(n, 1000) {
		k := env("GIT_CONFIG_KEY_" + strconv.Itoa(i))
		r.values = append(r.values, value{key: lowerKey(k), text: env("GIT_CONFIG_VALUE_" + strconv.Itoa(i))})
	}
	for _, name := range []string{"GIT_SSH_COMMAND", "GIT_SSH", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "GIT_PROXY_COMMAND"} {
		if text := env(name); text != "" {
			r.values = append(r.values, value{key: "env." + strings.ToLower(name) + "command", text: text})
		}
	}
	if dir := env("GIT_TEMPLATE_DIR"); dir != "" {
		r.values = append(r.values, value{key: "init.templatedir", text: dir})
	}
}

// lowerKey lowers a key but for its middle part.
func lowerKey(k string) string {
	first, rest, ok := strings.Cut(k, ".")
	if i := strings.LastIndexByte(rest, '.'); ok && i >= 0 {
		return strings.ToLower(first) + "." + rest[:i] + strings.ToLower(rest[i:])
	}
	return strings.ToLower(k)
}

// GitDirs returns the directory of a repository and the one that work trees share.
func GitDirs(gitDir string) (dir, common string) {
	dir = gitDir
	if b, err := openat.ReadRegular(gitDir, 1<<16); err == nil {
		to, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir:")
		if ok {
			dir = joined(filepath.Dir(gitDir), strings.TrimSpace(to))
		}
	}
	b, err := openat.ReadRegular(filepath.Join(dir, "commondir"), 1<<16)
	if err == nil {
		return dir, joined(dir, strings.TrimSpace(string(b)))
	}
	return dir, dir
}

func joined(base, p string) string {
	if p = filepath.FromSlash(p); filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(base, p)
}

// others returns the paths that the settings of the other work trees and of submodules of a
// repository name: they can be in the same project.
func (f *Finder) others(common string) (out []Path) {
	entries, _ := os.ReadDir(filepath.Join(common, "worktrees"))
	for _, e := range entries {
		at := filepath.Join(common, "worktrees", e.Name())
		b, err := openat.ReadRegular(filepath.Join(at, "gitdir"), 1<<16)
		if err != nil {
			continue
		}
		r := newReader(f.Home)
		r.file(filepath.Join(at, "config.worktree"), 0)
		out = append(out, f.paths(
			r.values,
			filepath.Dir(joined(at, strings.TrimSpace(string(b)))),
			at,
		)...)
	}
	f.modules(filepath.Join(common, "modules"), 0, &out)
	return out
}

// modules reads the settings of submodules, whose names can have several parts.
func (f *Finder) modules(dir string, depth int, out *[]Path) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if !e.IsDir() || depth > 6 {
			continue
		}
		_, err := os.Lstat(filepath.Join(at, "HEAD"))
		if err != nil {
			f.modules(at, depth+1, out)
			continue
		}
		r := newReader(f.Home)
		r.file(filepath.Join(at, "config"), 0)
		r.file(filepath.Join(at, "config.worktree"), 0)
		top := at
		for _, v := range r.values {
			if v.key == "core.worktree" {
				top = joined(at, v.text)
			}
		}
		*out = append(*out, f.paths(r.values, top, at)...)
		*out = append(*out, f.others(at)...)
	}
}

// paths returns the paths that values name. Relative ones begin at the top of the work tree,
// paths of includes at the file that contains them.
func (f *Finder) paths(values []value, top, gitDir string) (out []Path) {
	add := func(p, key string) {
		out = append(out, Path{filepath.Clean(p), key})
	}
	for _, v := range values {
		switch kindOf(v.key, v.text) {
		case directory:
			if p, ok := v.path(top, f.Home); ok {
				add(p, v.key)
			}
		case file:
			base := gitDir
			if v.file != "" {
				base = filepath.Dir(v.file)
			}
			if p, ok := v.path(base, f.Home); ok {
				add(p, v.key)
			}
		case command:
			named, started := words(v.text, top)
			for _, w := range named {
				p, ok := (value{text: w}).path(top, f.Home)
				if ok {
					fi, err := os.Stat(p)
					if err == nil && fi.Mode().IsRegular() || slices.Contains(started, w) {
						add(p, v.key)
					}
				}
			}
		}
	}
	return out
}

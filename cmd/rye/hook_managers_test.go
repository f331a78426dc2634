//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// managersDir returns the folder with the hook managers of
// internal/githook/testdata/managers: node_modules, and a virtual environment in venv.
func managersDir(t *testing.T, program string) string {
	t.Helper()
	dir := os.Getenv("RYE_HOOK_MANAGERS")
	if dir == "" {
		t.Skip("RYE_HOOK_MANAGERS names no folder with the packages of internal/githook/testdata/managers; .ci/run makes one")
	}
	if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
		t.Skipf("%s is not installed in RYE_HOOK_MANAGERS", program)
	}
	return dir
}

// hookLab is a repository with one hook manager.
type hookLab struct {
	*lab
	path   string // of the manager's programs
	intent bool   // the manager can commit with a file that is only intended to be added
}

func newHookLab(t *testing.T, path string) *hookLab {
	l := &hookLab{newLab(t), path, true}
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.git("init", "-q")
	l.must("init")
	return l
}

// command is a program with the home of the lab and the manager on PATH.
func (l *hookLab) command(name string, args ...string) (string, error) {
	l.t.Helper()
	env := append(slices.DeleteFunc(l.env(), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }),
		"PATH="+l.path+string(os.PathListSeparator)+os.Getenv("PATH"), "PRE_COMMIT_HOME="+filepath.Join(l.home, "pre-commit"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.test", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always")
	cmd := exec.Command("env", append([]string{name}, args...)...) // env looks the name up in its own PATH
	cmd.Dir, cmd.Env = l.dir, env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (l *hookLab) do(name string, args ...string) string {
	l.t.Helper()
	out, err := l.command(name, args...)
	if err != nil {
		l.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func (l *hookLab) git(args ...string) string { l.t.Helper(); return l.do("git", args...) }

// settings writes the settings that rye prints for a manager: a comment with the name
// of a file precedes the lines of that file.
func (l *hookLab) settings(manager string) {
	l.t.Helper()
	name := regexp.MustCompile(`^# (\.?[a-z./-]+)$`)
	file, text := "", map[string]string{}
	for line := range strings.Lines(l.must("hook", "install", "--print", manager)) {
		if m := name.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			file = m[1]
			continue
		}
		if file != "" {
			text[file] += line
		}
	}
	if len(text) == 0 {
		l.t.Fatalf("the settings of %s name no file", manager)
	}
	for file, b := range text {
		l.write(file, b)
	}
}

const hookNote = "---\nname: NAME\ntitle: Note\nversion: 1.0.0\n---\n# One\n\nfirst\nsecond\nthird\nfourth\nfifth\nsixth\nseventh\nlast\n"

func note(name string) string { return strings.ReplaceAll(hookNote, "NAME", name) }

// unstagedEdits are edits of a file that are not staged, by what they do.
func unstagedEdits() map[string]func(string) string {
	replace := func(pairs ...string) func(string) string {
		return func(s string) string { return strings.NewReplacer(pairs...).Replace(s) }
	}
	return map[string]func(string) string{
		"begin":   func(s string) string { return "before everything\n" + s },
		"end":     func(s string) string { return s + "after everything\n" },
		"middle":  replace("third\n", "third\nan insertion\n"),
		"many":    replace("---\n# One\n", "---\n\n# One\n", "second\n", "second\nafter two\n", "sixth\n", "", "last\n", "last\nvery last\n"),
		"delete":  replace("first\n", "", "seventh\n", ""),
		"top":     func(s string) string { return strings.TrimPrefix(s, "---\n") },
		"cut":     func(s string) string { return strings.TrimSuffix(s, "last\n") },
		"no-end":  func(s string) string { return strings.TrimSuffix(s, "\n") },
		"all":     func(string) string { return "quite another text\n" },
		"nothing": func(s string) string { return s },
	}
}

// commitPartly commits new and changed items with unstaged edits of each kind, with a
// renamed, a removed and an intended item, and checks commit and work tree.
func (l *hookLab) commitPartly(commit func()) {
	l.t.Helper()
	l.git("add", ".")
	l.git("commit", "-q", "--no-verify", "-m", "settings")
	l.seed()
	want := map[string]string{}
	for name := range unstagedEdits() { // signed items that change
		file := ".ai/knowledge/old-" + name + ".md"
		text := strings.Replace(string(l.read(filepath.Join(l.dir, file))), "fourth\n", "fourth, changed\n", 1)
		l.write(file, text)
		want[file] = text
	}
	for name := range unstagedEdits() { // new items
		file := ".ai/knowledge/new-" + name + ".md"
		want[file] = note("new-" + name)
		l.write(file, want[file])
	}
	l.git("mv", ".ai/knowledge/rename.md", ".ai/knowledge/renamed.md")
	renamed := strings.Replace(string(l.read(filepath.Join(l.dir, ".ai/knowledge/renamed.md"))), "name: rename", "name: renamed", 1)
	l.write(".ai/knowledge/renamed.md", renamed)
	l.git("rm", "-q", ".ai/knowledge/removed.md")
	l.git("add", ".")
	if l.intent {
		l.write(".ai/knowledge/intended.md", note("intended"))
		l.git("add", "-N", ".ai/knowledge/intended.md")
	}
	clean := map[string]bool{".ai/knowledge/renamed.md": true}
	for file, text := range want {
		_, kind, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".md"), "-")
		want[file] = unstagedEdits()[kind](text)
		clean[file] = want[file] == text
		l.write(file, want[file])
	}
	l.refusePartly(want)
	l.must("sign", "--staged", "--differing")
	commit()
	l.check(want, clean)
}

// refusePartly commits without a terminal, where a user cannot confirm staged texts that
// differ from their files. It wants a refusal that changes neither the index nor a file.
func (l *hookLab) refusePartly(want map[string]string) {
	l.t.Helper()
	index := l.git("ls-files", "--stage")
	out, err := l.command("git", "commit", "-q", "-m", "partly")
	if err == nil || !strings.Contains(out, "APPROVAL_REQUIRED: not signed: the staged text differs from the file") {
		l.t.Fatalf("a commit without a terminal: %v\n%s", err, out)
	}
	if after := l.git("ls-files", "--stage"); after != index {
		l.t.Errorf("the refused commit changed the index from\n%s\nto\n%s", index, after)
	}
	for file, text := range want {
		if after := string(l.read(filepath.Join(l.dir, file))); after != text {
			l.t.Errorf("the refused commit changed %s to\n%s\nfrom\n%s", file, after, text)
		}
	}
}

// seed commits signed items.
func (l *hookLab) seed() {
	l.t.Helper()
	for name := range unstagedEdits() {
		l.write(".ai/knowledge/old-"+name+".md", note("old-"+name))
	}
	l.write(".ai/knowledge/rename.md", note("rename"))
	l.write(".ai/knowledge/removed.md", note("removed"))
	l.must("sign", "*")
	l.git("add", ".")
	l.git("commit", "-q", "--no-verify", "-m", "seed")
}

// check wants a commit that verifies, edited files byte for byte as they were, and
// files without edits as the commit has them.
func (l *hookLab) check(want map[string]string, clean map[string]bool) {
	l.t.Helper()
	l.must("verify", "--rev", "HEAD")
	if list := l.git("ls-tree", "-r", "--name-only", "HEAD", ".ai"); strings.Contains(list, "intended") || strings.Contains(list, "removed") {
		l.t.Errorf("the commit has\n%s", list)
	}
	status := l.git("status", "--porcelain", "--", ".ai")
	for file := range clean {
		text := string(l.read(filepath.Join(l.dir, file)))
		switch edited := strings.Contains(status, " M "+file+"\n"); {
		case clean[file] && (edited || text != l.git("show", "HEAD:"+file)):
			l.t.Errorf("%s has no edits and is not what was committed:\n%s", file, text)
		case !clean[file] && text != want[file]:
			l.t.Errorf("%s is\n%s\nwant\n%s", file, text, want[file])
		case !clean[file] && !edited:
			l.t.Errorf("git status does not list %s:\n%s", file, status)
		}
	}
	if l.intent && (!strings.Contains(status, " A .ai/knowledge/intended.md\n") || string(l.read(filepath.Join(l.dir, ".ai/knowledge/intended.md"))) != note("intended")) {
		l.t.Errorf("the intended file is changed; git status:\n%s", status)
	}
	if stashes := l.git("stash", "list"); stashes != "" {
		l.t.Errorf("stashes are left: %s", stashes)
	}
	if strings.Contains(status, "D ") || strings.Contains(status, "M  ") || strings.Contains(status, "MM") {
		l.t.Errorf("git status after the commit:\n%s", status)
	}
}

// TestHookManagers commits partly staged items through each hook manager, with the
// settings that rye prints (real-inputs R1).
func TestHookManagers(t *testing.T) {
	t.Run("lefthook", func(t *testing.T) {
		l := newHookLab(t, filepath.Join(managersDir(t, "node_modules/.bin/lefthook"), "node_modules", ".bin"))
		l.intent = false // lefthook stops with an error of git stash create
		l.settings("lefthook")
		l.do("lefthook", "install")
		l.commitPartly(func() { l.git("commit", "-q", "-m", "partly") })
	})
	t.Run("husky", func(t *testing.T) {
		l := newHookLab(t, filepath.Join(managersDir(t, "node_modules/.bin/husky"), "node_modules", ".bin"))
		l.write("package.json", "{}\n")
		l.do("husky")
		l.settings("husky")
		l.commitPartly(func() { l.git("commit", "-q", "-m", "partly") })
	})
	t.Run("pre-commit", func(t *testing.T) {
		l := newHookLab(t, filepath.Join(managersDir(t, "venv/bin/pre-commit"), "venv", "bin"))
		l.settings("pre-commit")
		l.fromHere(".pre-commit-config.yaml", "")
		l.do("pre-commit", "install")
		l.must("hook", "install")
		l.commitPartly(func() {
			if out := l.git("commit", "-m", "partly"); !strings.Contains(out, "Stashing unstaged files") {
				t.Errorf("pre-commit hid nothing:\n%s", out)
			}
		})
	})
	t.Run("pre-commit after rye", func(t *testing.T) {
		l := newHookLab(t, filepath.Join(managersDir(t, "venv/bin/pre-commit"), "venv", "bin"))
		l.settings("pre-commit")
		l.fromHere(".pre-commit-config.yaml", "")
		l.must("hook", "install")
		l.do("pre-commit", "install")
		l.commitPartly(func() { l.git("commit", "-q", "-m", "partly") })
	})
	t.Run("rye-sign of pre-commit", func(t *testing.T) {
		l := newHookLab(t, filepath.Join(managersDir(t, "venv/bin/pre-commit"), "venv", "bin"))
		l.settings("pre-commit")
		l.fromHere(".pre-commit-config.yaml", "rye-sign")
		l.do("pre-commit", "install")
		l.commitPartly(func() {
			l.git("commit", "-m", "partly")
			l.must("hook", "run", "post-commit")
		})
		l.write(".ai/knowledge/whole.md", note("whole"))
		l.git("add", ".ai/knowledge/whole.md")
		out, err := l.command("git", "commit", "-m", "whole")
		if err == nil || !strings.Contains(out, "files were modified by this hook") {
			t.Errorf("the first commit: %v\n%s", err, out)
		}
		l.git("commit", "-m", "whole")
		l.must("verify", "--rev", "HEAD")
	})
}

// fromHere replaces the repository in the settings of pre-commit by a copy of this
// one's hooks that run the rye of the test, and the placeholder by its tag. It adds a
// hook of this repository to those that are printed.
func (l *hookLab) fromHere(file, id string) {
	l.t.Helper()
	hooks := l.read("../../.pre-commit-hooks.yaml")
	here := &hookLab{&lab{t: l.t, rye: l.rye, home: l.home, dir: l.t.TempDir()}, l.path, true}
	here.write(".pre-commit-hooks.yaml", strings.ReplaceAll(string(hooks), "language: golang", "language: system"))
	here.git("init", "-q")
	here.git("add", ".")
	here.git("commit", "-q", "-m", "hooks")
	here.git("tag", "v1.0.0")
	text := string(l.read(filepath.Join(l.dir, file)))
	text = regexp.MustCompile(`repo: .*`).ReplaceAllString(text, "repo: "+here.dir)
	text = regexp.MustCompile(`rev: .*`).ReplaceAllString(text, "rev: v1.0.0")
	if id != "" {
		text += "      - id: " + id + "\n"
	}
	text += "  - repo: local\n    hooks:\n      - {id: other, name: other, entry: 'true', language: system}\n"
	l.write(file, text)
}

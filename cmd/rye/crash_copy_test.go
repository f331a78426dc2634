//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/testing/testkit"
)

// TestCopyCrashPoints kills a thread in a working copy at each change of a file that rye
// makes. The project is as before; a copy is whole or not there; the thread is resumed in
// its copy, or started again in another one. RYE_CRASH=all makes every kill.
func TestCopyCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some processes")
	}
	for _, mode := range []string{"worktree", "copy"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			killCopies(t, mode)
		})
	}
}

func killCopies(t *testing.T, mode string) {
	t.Helper()
	l := newCrashLab(t)
	l.git("init", "-q")
	l.turns(newCrashServer(t), "again")
	l.write("ignored/.gitignore", "*\n")
	l.write("ignored/file", "not in git\n")
	l.commit("base")
	l.save()
	run := []string{"run", "directive", "team/work", "--workspace", mode}
	args := append([]string{"rye"}, run...)
	first, out := l.trace("", args, 0)
	if first.Status != 0 || !strings.Contains(out, `"label": "done"`) {
		t.Fatalf("without a kill: exit status %d\n%s", first.Status, out)
	}
	start, every := killsAt(t, len(first.Changes), 6)
	resumed, again := 0, 0
	for n := start; n <= len(first.Changes); n += every {
		l.restore()
		got, _ := l.trace("", args, n)
		if !got.Killed {
			break
		}
		verb := run
		log := l.threadLog(t)
		if log.id != "" {
			verb = []string{"threads", "resume", log.id}
			resumed++
		} else {
			again++
		}
		l.wholeCopies(got, mode)
		out, all, status := l.run(verb...)
		if log.id != "" && status == 1 && strings.Contains(all, "it is completed") {
			out, all, status = l.run("threads", "result", log.id)
		}
		at := got.Changes[len(got.Changes)-1]
		if status != 0 || !strings.Contains(out, `"label": "done"`) {
			t.Errorf("killed at %d %s: %v: exit status %d\n%s", n, at, verb, status, all)
			continue
		}
		if changed := l.git("status", "--porcelain"); changed != "" || l.effects() != 0 {
			t.Errorf("killed at %d %s: the project changed: %s", n, at, changed)
		}
		diff, _, _ := l.run("threads", "diff", l.threadLog(t).id, "--stat")
		if !strings.Contains(diff, "added     effects") {
			t.Errorf("killed at %d %s: the copy has %q", n, at, diff)
		}
	}
	t.Logf("%d changes, %d resumed, %d started again", len(first.Changes), resumed, again)
	if resumed == 0 || again == 0 {
		t.Error("no thread was resumed, or none was started again")
	}
}

// wholeCopies fails for a copy without a record or files.
func (l *crashLab) wholeCopies(after testkit.Traced, mode string) {
	l.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(l.home, "state", "rye", "threads", "copies", "work-*"))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, dir := range dirs {
		names := []string{"copy.json", "tree/.git/HEAD", "tree/.ai/directives/team/work.md"}
		if mode == "copy" {
			names = append(names, "tree/ignored/file")
		}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				l.t.Errorf("killed at %s: %v", after.Changes[len(after.Changes)-1], err)
			}
		}
	}
}

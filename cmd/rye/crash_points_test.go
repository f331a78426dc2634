//go:build unix

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/testing/testkit"
)

// crashVerb is a command that is killed at each change of a file that it makes.
type crashVerb struct {
	name  string
	setup func(l *crashLab)
	args  []string // begins with "git" if git starts rye
	// program makes the changes; "" is rye.
	program string
	// done matches the error of a repeated command whose work was complete before
	// the kill. "" accepts no error.
	done string
	// during matches findings of rye verify between a kill and the next command,
	// in addition to those before and after the command.
	during string
	// git matches lines of git status between a kill and the next command, as during.
	git string
	// short is how many of the kills a test without RYE_CRASH makes.
	short int
}

// TestCrashPoints kills every writing verb at each change of a file that it makes,
// and runs it again: the second run succeeds and leaves the files of a run without
// a kill. RYE_CRASH=all makes every kill; otherwise a few kills of
// a few verbs keep the test itself from breaking.
func TestCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some processes")
	}
	all := os.Getenv("RYE_CRASH") != ""
	for _, v := range crashVerbs() {
		if !all && v.short == 0 {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			c := newCrashCase(t, v)
			c.killEach(killsAt(t, len(c.changes), v.short))
		})
	}
}

// killEach kills the command at a change and at every so many after it, and reports the
// faults.
func (c *crashCase) killEach(first, every int) {
	c.t.Helper()
	n := 0
	// The number of changes can differ by a few from run to run.
	for at := first; c.kill(at) || at < len(c.changes); at += every {
		n++
	}
	for _, text := range slices.Sorted(maps.Keys(c.faults)) {
		c.t.Errorf("killed at change %s:\n\t%s", digits.ReplaceAllString(strings.Join(c.faults[text], ", "), "#"), text)
	}
	c.t.Logf("%d changes, %d kills", len(c.changes), n)
	if len(c.changes) == 0 {
		c.t.Error("the command makes no change")
	}
}

// crashCase is a verb with the states that are right after a kill.
type crashCase struct {
	*crashLab
	crashVerb
	changes []testkit.Change
	before  crashState
	after   crashState // the command
	twice   crashState // the command, and the command again
	varying map[string]bool
	faults  map[string][]string // a fault, and the kills that it follows
}

func newCrashCase(t *testing.T, v crashVerb) *crashCase {
	t.Helper()
	c := &crashCase{crashLab: newCrashLab(t), crashVerb: v, faults: map[string][]string{}}
	if v.args[0] != "git" {
		c.args = append([]string{"rye"}, v.args...)
	}
	for i, arg := range c.args {
		c.args[i] = strings.ReplaceAll(arg, "ROOT", c.root)
	}
	v.setup(c.crashLab)
	c.findings() // fills the cache
	c.save()
	c.restart()
	c.before = c.state()
	first, out := c.trace(c.program, c.args, 0)
	if first.Status != 0 {
		t.Fatalf("without a kill: exit status %d\n%s", first.Status, out)
	}
	c.changes = first.Changes
	c.after = c.state()
	c.again()
	c.twice = c.state()
	c.restart()
	c.clock(2 * setupTime)
	c.trace(c.program, c.args, 0)
	c.varying = varying(c.after.files, c.files())
	return c
}

// setupTime is longer than the clock goes ahead while a lab is made.
const setupTime = 2 * time.Minute

// restart returns to the saved state, at a time that is after it.
func (c *crashCase) restart() {
	c.t.Helper()
	c.restore()
	c.clock(setupTime)
}

// varying returns the files whose content differs from run to run: signatures,
// keys and what records a time.
func varying(a, b map[string][]string) map[string]bool {
	out := map[string]bool{}
	for path, content := range a {
		if !slices.Equal(content, b[path]) {
			out[path] = true
		}
	}
	return out
}

// again runs the command once more. It reports whether it succeeded, or reported that
// there is nothing left to do.
func (c *crashCase) again() (string, bool) {
	c.t.Helper()
	got, out := c.trace(c.program, c.args, 0)
	return out, got.Status == 0 || matches(c.done, out)
}

// kill kills the command at change n and checks what it left. It reports whether
// the command made that many changes.
func (c *crashCase) kill(n int) bool {
	c.t.Helper()
	c.restart()
	got, out := c.trace(c.program, c.args, n)
	if !got.Killed {
		if got.Status != 0 {
			c.t.Errorf("exit status %d\n%s", got.Status, out)
		}
		return false
	}
	at := got.Changes[len(got.Changes)-1]
	rel, _ := filepath.Rel(c.root, at.Path)
	fault := func(format string, args ...any) {
		text := digits.ReplaceAllString(temporary.ReplaceAllString(fmt.Sprintf(format, args...), ".rye-tmp-*"), "#")
		c.faults[text] = append(c.faults[text], fmt.Sprintf("%d (%s %s)", n, at.Call, temporary.ReplaceAllString(rel, ".rye-tmp-*")))
	}
	c.checkKilled(fault)
	c.checkNext(fault)
	return true
}

// checkKilled checks the state right after a kill: git and rye verify see the files
// before or after the command, and none of their own.
func (c *crashCase) checkKilled(fault func(format string, args ...any)) {
	c.t.Helper()
	for _, text := range append(c.halfWritten(), c.unlogged()...) {
		fault("%s", text)
	}
	for line := range c.gitStatus() {
		if !c.before.git[line] && !c.after.git[line] && !matches(c.crashVerb.git, line) {
			fault("git status shows %q", line)
		}
	}
	status, findings := c.findings()
	expected := true
	for f := range findings {
		switch {
		case c.before.findings[f] || c.after.findings[f]:
		case matches(c.during, f):
			expected = expected && strings.HasPrefix(f, "warning ")
		default:
			fault("rye verify finds %q", f)
		}
	}
	if expected && status != c.before.status && status != c.after.status {
		fault("rye verify has the exit status %d, before %d, after %d", status, c.before.status, c.after.status)
	}
}

// checkNext runs the command again and checks that nothing differs from a run
// without a kill.
func (c *crashCase) checkNext(fault func(format string, args ...any)) {
	c.t.Helper()
	out, ok := c.again()
	if lock := gitLock.FindStringSubmatch(out); !ok && lock != nil && c.program == "git" {
		if err := os.Remove(lock[1]); err != nil {
			c.t.Fatal(err)
		}
		out, ok = c.again()
	}
	if !ok {
		fault("the same command fails:\n%s", out)
		return
	}
	if left := c.garbage(); len(left) > 0 {
		fault("the next command leaves %q", left)
	}
	s := c.state()
	if once, twice := c.differences(s, c.after), c.differences(s, c.twice); len(once) > 0 && len(twice) > 0 {
		fault("the next command leaves another state:\n\t%s", strings.Join(once, "\n\t"))
	}
	if _, out, status := c.run("key", "log", "--check"); status != 0 {
		fault("rye key log --check: %s", out)
	}
}

// matches reports whether a pattern is given and matches.
func matches(pattern, text string) bool {
	return pattern != "" && regexp.MustCompile(pattern).MatchString(text)
}

// between matches files that are there between a kill and the next command: the
// record of an unfinished change, and a file that is empty at first, because it keeps
// temporary files from git and so cannot be written through one. Logs of threads and
// working copies are moved away as a whole before they are removed, and what is applied of a
// copy is staged. SQLite has two files next to the store while it is open.
var between = regexp.MustCompile(`/unfinished\.json$|/\.ai/threads/\.removed/|/threads/copies/(\.dropped-|[^/]*/apply)|/\.ai/cache/\.gitignore$|/threads/store\.db-(wal|shm)$`)

// gitLock matches the error of git about its lock files. A killed git leaves them, and
// only the user can know that no other git is at work.
var gitLock = regexp.MustCompile(`Unable to create '(.*\.lock)': File exists`)

// halfWritten describes the files that are neither as before nor as after the
// command.
func (c *crashCase) halfWritten() (out []string) {
	got := c.files()
	all := maps.Clone(c.before.files)
	maps.Copy(all, got)
	maps.DeleteFunc(all, func(path string, _ []string) bool { return between.MatchString(path) })
	for path := range all {
		old, isOld := c.before.files[path]
		now, isNew := c.after.files[path]
		switch g := got[path]; {
		case len(g) == 0 && isOld && isNew:
			out = append(out, path+" is missing")
		case len(g) > 0 && !isOld && !isNew:
			out = append(out, path+" is in neither state")
		case len(g) > max(len(old), len(now)):
			out = append(out, fmt.Sprintf("%s: %d files", path, len(g)))
		case !c.varying[path] && slices.ContainsFunc(g, func(x string) bool { return !slices.Contains(old, x) && !slices.Contains(now, x) }):
			out = append(out, fmt.Sprintf("%s is neither the old nor the new file: %s, not %s or %s", path, g, old, now))
		}
	}
	return out
}

// differences describes how a state differs from the one that is wanted.
func (c *crashCase) differences(got, want crashState) []string {
	var out []string
	if got.status != want.status {
		out = append(out, fmt.Sprintf("rye verify: exit status %d, want %d", got.status, want.status))
	}
	compareSets := func(what string, got, want map[string]bool) {
		for x := range got {
			if !want[x] {
				out = append(out, fmt.Sprintf("%s: %q is new", what, x))
			}
		}
		for x := range want {
			if !got[x] {
				out = append(out, fmt.Sprintf("%s: %q is missing", what, x))
			}
		}
	}
	compareSets("rye verify", got.findings, want.findings)
	compareSets("git", got.git, want.git)
	all := maps.Clone(want.files)
	maps.Copy(all, got.files)
	for path := range all {
		g, w := got.files[path], want.files[path]
		switch {
		case len(g) != len(w):
			out = append(out, fmt.Sprintf("%s: %d files, want %d", path, len(g), len(w)))
		case !c.varying[path] && !slices.Equal(g, w):
			out = append(out, fmt.Sprintf("%s: %s, want %s", path, g, w))
		case !slices.Equal(modes(g), modes(w)):
			out = append(out, fmt.Sprintf("%s: %s, want %s", path, modes(g), modes(w)))
		}
	}
	slices.Sort(out)
	return out
}

func modes(list []string) []string {
	out := []string{}
	for _, x := range list {
		mode, _, _ := strings.Cut(x, " ")
		out = append(out, mode)
	}
	slices.Sort(out)
	return out
}

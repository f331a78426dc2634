//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/threads/heads"
	"github.com/ryeos/rye/threads/transcript"
)

// killsOf returns the changes before which a thread or a run is killed: those of killsAt, and those around one that records
// the newest state of a log outside of the project. That is written after the line that it names.
func killsOf(t *testing.T, changes []testkit.Change, some int) (out []int) {
	t.Helper()
	first, every := killsAt(t, len(changes), some)
	for n := first; n <= len(changes); n += every {
		out = append(out, n)
	}
	var records []int
	for i, c := range changes {
		if c.Call == "write" && filepath.Base(filepath.Dir(c.Path)) == "heads" {
			records = append(records, i+1)
		}
	}
	if len(records) < 3 {
		t.Fatalf("%d changes record the newest state of a log", len(records))
	}
	out = append(out, records[0], records[len(records)/2], records[len(records)/2]+1)
	slices.Sort(out)
	return slices.Compact(out)
}

// headsFit fails if the record of a log outside of the project is not the last line, which was committed. If a process was killed
// while it recorded the end of a thread or run, no later one opens the log: the record then names an earlier line of it.
func (l *crashLab) headsFit(t *testing.T, when string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(l.dir, transcript.Dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join(l.dir, transcript.Dir, e.Name(), transcript.File)
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			continue // killed before the log had a line: another run began then
		}
		log := string(l.read(name))
		h, ok, err := heads.Read(heads.Dir(filepath.Join(l.home, "state", "rye")), e.Name())
		if ended := lastEvent.MatchString(log) && atEnd.MatchString(when); ended && err == nil && ok && behind(log, h) {
			continue
		}
		if lines := int64(strings.Count(log, "\n")); err != nil || !ok || h.Seq != lines || h.Size != int64(len(log)) || h.Project != l.dir {
			t.Errorf("%s: %s has %d lines, the record outside of the project %+v, %v, %v", when, e.Name(), lines, h, ok, err)
		}
	}
}

// lastEvent matches a log whose thread or run has ended, with the signature after it.
var lastEvent = regexp.MustCompile(`"event":"(?:thread|graph)_completed".*\n.*"event":"checkpoint".*\n$`)

// atEnd matches a kill while a line was written or recorded.
var atEnd = regexp.MustCompile(`^killed at .*(/heads/|/transcript\.jsonl)`)

// behind reports whether a record names a line of a log before the last.
func behind(log string, h heads.Head) bool {
	if h.Size <= 0 || h.Size >= int64(len(log)) {
		return false
	}
	rest := strings.Count(log[h.Size:], "\n") // at most the end and its signature
	return log[h.Size-1] == '\n' && int64(strings.Count(log[:h.Size], "\n")) == h.Seq && rest <= 2
}

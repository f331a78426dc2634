// Package handle finds threads and runs by what a person types: an id, the beginning of one, @
// for the newest that a person started, @-1 for the one before.
//
// It reads names and the first lines of logs. It does not know the threads of other projects.
package handle

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/transcript"
)

// Relative reports whether a handle is @ or @-N.
func Relative(handle string) bool { return strings.HasPrefix(handle, "@") }

// Matches returns the threads and runs of a project whose ids begin with a text, the newest
// first. One that has the whole id is the only match.
func Matches(project, prefix string) ([]string, error) {
	ids, err := graph.IDs(project)
	if err != nil {
		return nil, err
	}
	if slices.Contains(ids, prefix) {
		return []string{prefix}, nil
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, prefix) })
	newestFirst(ids)
	return ids, nil
}

// newestFirst sorts ids, which end with the time of the start.
func newestFirst(ids []string) {
	slices.SortFunc(ids, func(a, b string) int {
		return strings.Compare(b[strings.LastIndexByte(b, '-')+1:], a[strings.LastIndexByte(a, '-')+1:])
	})
}

// Find returns the thread or run that @ or @-N names.
func Find(project, handle string) (string, error) {
	back := 0
	if handle != "@" {
		n, err := strconv.Atoi(strings.TrimPrefix(handle, "@-"))
		if err != nil || n < 1 || !strings.HasPrefix(handle, "@-") {
			return "", diag.New(diag.Usage, "finding the thread %q: it must be an id, the beginning of one, @ for the newest, or @-1 for the one before", handle)
		}
		back = n
	}
	ids, err := Matches(project, "")
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if !isRoot(project, id) {
			continue
		}
		if back--; back < 0 {
			return id, nil
		}
	}
	return "", diag.New(diag.ThreadNotFound, "finding the thread %q: the project has fewer threads", handle).WithReason("no_thread").WithDetail("id", handle)
}

// isRoot reports whether a person started a thread or run: no other one did, and it continues
// no other one. A log that cannot be read is not one.
func isRoot(project, id string) bool {
	s, err := threads.ReadStarted(project, id)
	if err == nil {
		return s.Parent == "" && s.Spawned == nil && s.Carried == nil
	}
	if diag.CodeOf(err) != diag.ThreadNotFound {
		return false
	}
	lines, err := transcript.Read(project, id)
	var d struct {
		Parent string `json:"parent"`
	}
	return err == nil && len(lines) > 0 && lines[0].Decode(&d) == nil && d.Parent == ""
}

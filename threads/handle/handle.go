// Package handle finds threads and runs by what a person types: a number, a name, an id, the
// beginning of one of these two, @ for the newest that a person started, @-1 for the one before.
//
// It reads names of directories and the first lines of logs. It does not read the registry, and
// does not decide what becomes of several matches.
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

// Known is a thread or run of the user account as the registry has it.
type Known struct {
	ID, Project string
	Number      int64
	Name        string // "" without one
}

// Matches returns the threads and runs of a project that a text names, the newest first: by a
// whole id, else by a number, else by the beginning of an id, else by a whole name, else by the
// beginning of one. So digits are a number if the project has it, and an input with the text of
// an id hides no thread.
// known returns the threads of the registry; it is not called for an id.
func Matches(project, text string, known func() ([]Known, error)) ([]string, error) {
	ids, err := graph.IDs(project)
	if err != nil {
		return nil, err
	}
	if slices.Contains(ids, text) {
		return []string{text}, nil
	}
	number, ok := strings.CutPrefix(text, "@")
	if ok && !isNumber(number) {
		id, err := relative(project, text, ids)
		return []string{id}, err
	}
	all, err := known()
	if err != nil {
		return nil, err
	}
	has := func(k *Known) bool {
		return k.Project == project && slices.Contains(ids, k.ID)
	}
	elsewhere := ""
	if n, ok := numberOf(text); ok {
		for i := range all {
			switch k := &all[i]; {
			case k.Number != n:
			case has(k):
				return []string{k.ID}, nil
			case k.Project == project:
				elsewhere = "; it was " + k.ID + ", whose log was removed"
			default:
				elsewhere = "; it is " + k.ID + " of " + k.Project
			}
		}
	}
	var found, whole, begin []string
	for _, id := range ids {
		if strings.HasPrefix(id, text) {
			found = append(found, id)
		}
	}
	for i := range all {
		switch k := &all[i]; {
		case text == "" || !has(k):
		case strings.EqualFold(k.Name, text):
			whole = append(whole, k.ID)
		case len(k.Name) > len(text) && strings.EqualFold(k.Name[:len(text)], text):
			begin = append(begin, k.ID)
		}
	}
	if len(found) == 0 {
		found = whole
	}
	if len(found) == 0 {
		found = begin
	}
	newestFirst(found)
	if len(found) == 0 {
		return nil, diag.New(diag.ThreadNotFound, "finding the thread %q: no thread and no run of this project has this number, name or id%s", text, elsewhere).
			WithReason("no_thread").WithDetail("id", text)
	}
	return found, nil
}

// Label names a thread for a person: by its number, if it has one, and its id.
func Label(number int64, id string) string {
	if number == 0 {
		return id
	}
	return strconv.FormatInt(number, 10) + " " + id
}

// numberOf returns the number of 12 and @12.
func numberOf(text string) (n int64, ok bool) {
	digits := strings.TrimPrefix(text, "@")
	if !isNumber(digits) {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n > 0
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// newestFirst sorts ids, which end with the time of the start.
func newestFirst(ids []string) {
	slices.SortFunc(ids, func(a, b string) int {
		return strings.Compare(
			b[strings.LastIndexByte(b, '-')+1:],
			a[strings.LastIndexByte(a, '-')+1:],
		)
	})
}

// relative returns the thread or run that @ or @-N names.
func relative(project, text string, ids []string) (string, error) {
	back := 0
	if text != "@" {
		n, err := strconv.Atoi(strings.TrimPrefix(text, "@-"))
		if err != nil || n < 1 || !strings.HasPrefix(text, "@-") {
			return "", diag.New(diag.Usage, "finding the thread %q: it must be a number, a name, an id, the beginning of one, @ for the newest, or @-1 for the one before", text)
		}
		back = n
	}
	newestFirst(ids)
	for _, id := range ids {
		if !isRoot(project, id) {
			continue
		}
		if back--; back < 0 {
			return id, nil
		}
	}
	return "", diag.New(diag.ThreadNotFound, "finding the thread %q: the project has fewer threads", text).
		WithReason("no_thread").
		WithDetail("id", text)
}

func startedByPerson(s *threads.Started) bool {
	return s.Parent == "" &&
		s.Spawned == nil &&
		(s.Carried == nil || s.Carried.Follows != "")
}

// Newest returns the newest thread that a person started and that fits.
func Newest(project string, fits func(*threads.Started) bool) (string, error) {
	ids, err := graph.IDs(project)
	if err != nil {
		return "", err
	}
	newestFirst(ids)
	for _, id := range ids {
		s, err := threads.ReadStarted(project, id)
		if err == nil && startedByPerson(s) && fits(s) {
			return id, nil
		}
	}
	return "", diag.New(diag.ThreadNotFound, "finding the newest prompt: none was run here").WithReason("no_prompt")
}

// isRoot reports whether a person started a thread or run: no other one did, and it continues
// no other one. A log that cannot be read is not one.
func isRoot(project, id string) bool {
	s, err := threads.ReadStarted(project, id)
	if err == nil {
		return startedByPerson(s)
	}
	if diag.CodeOf(err) != diag.ThreadNotFound {
		return false
	}
	lines, err := transcript.Read(project, id)
	var d struct {
		Parent string `json:"parent"`
	}
	return err == nil &&
		len(lines) > 0 &&
		lines[0].Decode(&d) == nil &&
		d.Parent == ""
}

package transcript

import (
	"encoding/json"
	"time"

	"github.com/ryeos/rye/diag"
)

// Active returns how long processes worked on what a log records, from the first line with
// the event start, without the time in which they waited for the answer of a person. What other
// processes record while none works is not a part of it: the end of one that was stopped, which
// may be found days later, and the answer of a person.
func Active(lines []Line, start string) (d time.Duration) {
	var since, last time.Time // of the process that works, zero if none does
	open := map[string]bool{} // questions
	add := func(at time.Time) {
		if len(open) == 0 && !since.IsZero() {
			d += at.Sub(since)
		}
	}
	for i := range lines {
		l := &lines[i]
		switch at := l.At(); {
		case l.Event == start && since.IsZero() && last.IsZero(),
			l.Event == "thread_resumed" && !last.IsZero():
			add(last) // stopped, and resumed before its end was recorded
			since = at
			last = at
			clear(open)
		case since.IsZero():
		case markedLater(l):
			add(last)
			since = time.Time{}
		case isRest(l.Event):
			add(at)
			since = time.Time{}
			clear(open)
		case l.Event == "approval_requested":
			add(at)
			since = at
			last = at
			open[questionOf(l)] = true
		case l.Event == "approval_resolved":
			if add(at); open[questionOf(l)] {
				delete(open, questionOf(l))
			}
			since = at
			last = at
		default:
			last = at
			if len(open) > 0 {
				since = at
			}
		}
	}
	add(last)
	return d
}

// questionOf returns the id of the question that a line is about.
func questionOf(l *Line) string {
	var d struct {
		ID string `json:"approval_id"`
	}
	_ = l.Decode(&d)
	return d.ID
}

// isRest reports whether an event is the last one of a process.
func isRest(event string) bool {
	switch event {
	case "thread_suspended", "thread_completed", "thread_error", "thread_cancelled", "thread_killed", "thread_continued",
		"graph_completed", "graph_failed", "graph_cancelled":
		return true
	}
	return false
}

// markedLater reports whether a line is what another process records of one that was
// stopped: its open request, and its end.
func markedLater(l *Line) bool {
	if l.Event != "model_error" && l.Event != "thread_error" {
		return false
	}
	var d struct {
		ID    string `json:"id"`
		Error struct {
			Code diag.Code `json:"code"`
		} `json:"error"`
	}
	return json.Unmarshal(l.Data, &d) == nil &&
		(l.Event == "model_error" && d.ID == "interrupted" || d.Error.Code == diag.ThreadState)
}

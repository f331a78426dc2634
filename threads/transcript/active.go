package transcript

import (
	"encoding/json"
	"time"

	"github.com/ryeos/rye/diag"
)

// Active returns how long processes worked on what a log records, from the first line with
// the event start. What other processes record while none works does not count: the end of
// one that was stopped, which may be found days later, and the answer of a person.
func Active(lines []Line, start string) (d time.Duration) {
	var since, last time.Time // of the process that works, zero if none does
	for i := range lines {
		l := &lines[i]
		switch at := l.At(); {
		case l.Event == start && since.IsZero() && last.IsZero(), l.Event == "thread_resumed" && !last.IsZero():
			if !since.IsZero() { // stopped, and resumed before its end was recorded
				d += last.Sub(since)
			}
			since, last = at, at
		case since.IsZero():
		case markedLater(l):
			d, since = d+last.Sub(since), time.Time{}
		case isRest(l.Event):
			d, since = d+at.Sub(since), time.Time{}
		default:
			last = at
		}
	}
	if !since.IsZero() {
		d += last.Sub(since)
	}
	return d
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
	return json.Unmarshal(l.Data, &d) == nil && (l.Event == "model_error" && d.ID == "interrupted" || d.Error.Code == diag.ThreadState)
}

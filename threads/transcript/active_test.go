package transcript

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestActive(t *testing.T) {
	t.Parallel()
	const orphaned, open = `thread_error {"error":{"code":"THREAD_STATE"}}`, `model_error {"id":"interrupted"}`
	for name, c := range map[string]struct {
		start string
		log   string // each line: second, event, data
		want  int
	}{
		"nothing":              {"thread_started", "", 0},
		"one process":          {"thread_started", "0 thread_started\n3 turn_started\n7 thread_completed\n7 checkpoint", 7},
		"it works":             {"thread_started", "0 thread_started\n3 turn_started", 3},
		"resumed":              {"thread_started", "0 thread_started\n7 thread_suspended\n100 thread_resumed\n102 thread_completed", 9},
		"an answer in between": {"thread_started", "0 thread_started\n7 thread_suspended\n7 checkpoint\n5000 approval_resolved\n5001 thread_resumed\n5002 thread_completed", 8},
		"stopped, found later": {"thread_started", "0 thread_started\n4 turn_started\n9000 " + open + "\n9000 " + orphaned + "\n9000 checkpoint\n9999 thread_resumed\n10001 thread_completed", 6},
		"stopped, not found":   {"thread_started", "0 thread_started\n4 turn_started\n9000 thread_resumed\n9001 thread_error {\"error\":{\"code\":\"TIMEOUT\"}}", 5},
		"resumed, open call":   {"thread_started", "0 thread_started\n4 model_request\n9000 " + open + "\n9001 thread_resumed\n9003 turn_started", 6},
		"a tool that runs long, and the end of the process": {"thread_started", "0 thread_started\n1 tool_call\n600 thread_cancelled", 600},
		"a loop":                      {"graph_started", "0 thread_started\n5 graph_started\n8 graph_completed\n9 thread_completed", 3},
		"stopped before its loop":     {"graph_started", "0 thread_started\n40 " + orphaned + "\n40 checkpoint\n100 thread_resumed\n101 graph_started\n104 node_started\n200 " + orphaned + "\n300 thread_resumed\n302 node_started", 5},
		"a loop that is never begun":  {"graph_started", "0 thread_started\n40 " + orphaned + "\n100 thread_resumed", 0},
		"an error of the first model": {"thread_started", "0 thread_started\n1 model_error {\"id\":\"\",\"code\":\"X\"}\n3 thread_error {}", 3},
	} {
		began := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
		var lines []Line
		for text := range strings.Lines(c.log) {
			f := append(strings.SplitN(strings.TrimSuffix(text, "\n"), " ", 3), "{}")
			n, err := strconv.Atoi(f[0])
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, Line{Seq: int64(len(lines) + 1), Time: began.Add(time.Duration(n) * time.Second).Format(layout), Event: f[1], Data: json.RawMessage(f[2])})
		}
		if got := Active(lines, c.start); got != time.Duration(c.want)*time.Second {
			t.Errorf("%s: %s, want %d s", name, got, c.want)
		}
	}
}

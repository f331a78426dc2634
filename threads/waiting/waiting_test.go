package waiting

import (
	"strings"
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 42 * time.Second: "42 s", 59*time.Second + 999*time.Millisecond: "59 s", time.Minute: "1 min", 59 * time.Minute: "59 min",
		time.Hour: "1 h", 47 * time.Hour: "1 d", 50 * time.Hour: "2 d",
	} {
		if got := Age(d); got != want {
			t.Errorf("%s is %q, not %q", d, got, want)
		}
	}
}

func TestState(t *testing.T) {
	since := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		`Run tool:rye/bash/bash? The command "rm -r build" matches the dangerous pattern rm-recursive.`: "waiting for you: rm -r build, 4 min",
		`Run tool:rye/bash/bash? The command "echo \"a\\b\"" matches x.`:                                `waiting for you: echo "a\b", 4 min`,
		"Run tool:demo/leave? It runs without a sandbox (risk T4).":                                     "waiting for you: Run tool:demo/leave? It runs …, 4 min",
		`The command "` + "a\x1b[2Jb":                                                                   `waiting for you: The command "a\u{1b}[2Jb, 4 min`,
	} {
		w := newWait(Approval, "a", text, since, 1)
		if got := w.State(since.Add(4*time.Minute), 30); got != want {
			t.Errorf("%q\nis %q\nnot %q", text, got, want)
		}
	}
	if w := newWait(Question, "a", strings.Repeat("é", 400), since, 3); len([]rune(w.Text)) != MaxText || w.Open != 3 {
		t.Errorf("%d characters, %d open", len([]rune(w.Text)), w.Open)
	}
}

package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/threads/provider/scripted"
)

// screen is a project of a home without other variables, as atTerminal has it.
type screen struct {
	t         *testing.T
	home, dir string
}

func newScreen(t *testing.T, model http.Handler, files map[string]string) *screen {
	t.Helper()
	s := &screen{t: t, home: t.TempDir(), dir: t.TempDir()}
	t.Cleanup(func() { writable(s.home) })
	h := httptest.NewServer(model)
	t.Cleanup(h.Close)
	s.rye("key", "new", "--owner", "ada", "--no-passphrase")
	s.rye("init")
	files[".ai/tools/team/model.yaml"] = fmt.Sprintf(turnsModel, h.URL)
	for name, text := range files {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.rye("sign", "*")
	return s
}

// rye runs the program away from the terminal and returns its output.
func (s *screen) rye(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("rye", args...)
	cmd.Dir, cmd.Env = s.dir, []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "USER=leo", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("rye %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// limited is a model that refuses the first request for some seconds.
func limited(t *testing.T, seconds int) *scripted.Server {
	t.Helper()
	scenario, err := scripted.Parse("scenario", fmt.Appendf(nil, `dialect: openai_chat
usage: {input: 100, output: 20}
steps:
  - fault: {status: 429, type: rate_limit_error, message: "Slow down.", headers: {Retry-After: "%d"}}
  - send: {text: "Hello."}
`, seconds))
	if err != nil {
		t.Fatal(err)
	}
	return &scripted.Server{Scenario: scenario}
}

var timeLeft = regexp.MustCompile(`waiting for the service  ([0-9hms]+)`)

// TestWaitAtTerminal counts the time of a wait at a terminal, in the block that is removed: after
// it the request is sent again. Ctrl-C ends the wait at once, and nothing more is sent. A terminal
// that only appends lines has one line.
func TestWaitAtTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("waits as a service asks")
	}
	t.Parallel()
	for _, term := range []string{"TERM=xterm", "TERM=dumb"} {
		model := limited(t, 2)
		s := newScreen(t, model, map[string]string{})
		x := s.at([]string{term}, "run", "prompt", "Say hello.", "--provider", "team/model")
		x.until("retry in 2 s (attempt 2 of 4)")
		x.until("Hello.")
		x.until("completed")
		if status := x.status(); status != 0 || model.Unused() != 0 {
			t.Errorf("%s: status %d, %d answers are left: %q", term, status, model.Unused(), x.out.String())
		}
		if _, rest, _ := strings.Cut(x.out.String(), "Hello."); timeLeft.MatchString(rest) {
			t.Errorf("%s: it still waits after the answer: %q", term, rest)
		}
		if term == "TERM=dumb" && (strings.Contains(x.out.String(), "\x1b") || timeLeft.MatchString(x.out.String())) {
			t.Errorf("a terminal that only appends lines was drawn on: %q", x.out.String())
		}
	}

	model := limited(t, 600)
	s := newScreen(t, model, map[string]string{})
	x := s.at(nil, "run", "prompt", "Say hello.", "--provider", "team/model")
	x.until("retry in 10m0s")
	var counted []time.Duration
	x.untilTrue("three times that are left", func(out string) bool {
		counted = nil
		for _, m := range timeLeft.FindAllStringSubmatch(out, -1) {
			d, err := time.ParseDuration(m[1])
			if err == nil && (len(counted) == 0 || counted[len(counted)-1] != d) {
				counted = append(counted, d)
			}
		}
		return len(counted) >= 3
	})
	if !slices.IsSortedFunc(counted, func(a, b time.Duration) int { return cmp.Compare(b, a) }) || counted[0] > 10*time.Minute {
		t.Errorf("the terminal counts %s", counted)
	}
	if model.Unused() != 1 {
		t.Error("the request was sent again before the time")
	}
	x.send("\x03")
	x.until("thread cancelled")
	if status := x.status(); status != cli.ExitInterrupted || model.Unused() != 1 {
		t.Errorf("status %d, %d answers are left: %q", status, model.Unused(), x.out.String())
	}
	if rest := afterLast(x.out.String(), "waiting for the service"); !strings.Contains(rest, "\x1b[J") {
		t.Errorf("the line of the wait stays: %q", rest)
	}
	if out := s.rye("threads", "list", "--all"); !strings.Contains(out, "cancelled") {
		t.Errorf("the thread is not cancelled: %s", out)
	}
}

// TestNoSummaryAtTerminal shows at a terminal that a summary failed, why, and that the work continues.
func TestNoSummaryAtTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a thread of some turns")
	}
	t.Parallel()
	server := newShortServer(t)
	scenario, err := scripted.Parse("scenario", []byte("dialect: openai_chat\nsteps:\n  - {repeat: true, fault: {status: 403, type: forbidden, message: \"no summaries \\x1b[2Jtoday\"}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	server.answers["summary"] = &scripted.Server{Scenario: scenario}
	s := newScreen(t, server, shortFiles())
	x := atTerminal(t, s.dir, s.home, "run", "directive", "team/work")
	x.until("context  2 older results became references, about")
	x.until("context  no summary: ")
	x.until("today")
	x.until("; the model knows, ")
	x.until("older turns are left out")
	x.until(`"label": "done"`)
	if status := x.status(); status != 0 || strings.Contains(x.out.String(), "\x1b[2J") {
		t.Errorf("status %d: %q", status, x.out.String())
	}
	if _, last := server.state(); !strings.Contains(last, "could not be summarized") {
		t.Errorf("the model does not read that the summary failed: %.2000q", last)
	}
}

// afterLast returns what follows the last occurrence of a text.
func afterLast(s, text string) string {
	_, rest, _ := strings.Cut(s[max(0, strings.LastIndex(s, text)):], text)
	return rest
}

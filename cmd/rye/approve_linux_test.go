package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/threads/provider/scripted"
)

// asking is a project with a directive whose model calls bash, and a screen.
func asking(t *testing.T, steps string) *screen {
	t.Helper()
	scenario, err := scripted.Parse("scenario", []byte("dialect: openai_chat\nusage: {input: 100, output: 20}\nsteps:\n"+steps))
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(t, &scripted.Server{Scenario: scenario}, map[string]string{
		".ai/directives/team/ask.md": strings.NewReplacer("name=\"count\"", "name=\"ask\"", "{input:file}", "it").Replace(askingDirective),
		"d/x/file":                   "",
	})
	return s
}

const askingDirective = "# Ask\n\nWork.\n\n```xml\n<directive name=\"ask\" version=\"1.0.0\">\n<metadata><description>Ask.</description><category>team</category><author>ada</author>\n" +
	"<model tier=\"general\" provider=\"team/model\"/><limits turns=\"8\" tokens=\"50000\" spend=\"0.20\" duration_seconds=\"60\"/>\n" +
	"<permissions><execute><tool>rye/bash/bash</tool></execute></permissions></metadata>\n" +
	"<outputs><output name=\"label\" type=\"string\" required=\"true\">A word.</output></outputs></directive>\n```\n\n1. Work.\n"

const (
	removes = "  - send: {calls: [{name: rye__bash__bash, input: {command: rm -r d/x}}]}\n"
	returns = "  - send: {calls: [{name: directive_return, input: {label: done}}]}\n"
)

// at runs rye at a pseudo-terminal that can draw, with more variables.
func (s *screen) at(env []string, args ...string) *terminal {
	s.t.Helper()
	return s.program(env, "rye", args...)
}

// program runs a program at a pseudo-terminal.
func (s *screen) program(env []string, name string, args ...string) *terminal {
	s.t.Helper()
	master, tty, err := testkit.OpenPTY()
	if err != nil {
		s.t.Skip("no pseudo-terminal: ", err)
	}
	x := &terminal{t: s.t, master: master, tty: tty}
	x.cmd = exec.Command(name, args...)
	x.cmd.Dir = s.dir
	x.cmd.Env = append([]string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "USER=leo", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}, env...)
	x.start()
	return x
}

// log returns the lines of the logs of the threads that have a text.
func (s *screen) log(text string) []string {
	s.t.Helper()
	files, _ := filepath.Glob(filepath.Join(s.dir, ".ai", "threads", "ask-*", "transcript.jsonl"))
	var out []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, text) {
				out = append(out, line)
			}
		}
	}
	return out
}

func (s *screen) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// next forgets what the terminal has shown.
func (x *terminal) next() { x.out.Reset() }

const asksKeys = "waiting 0:00"

// TestApprovalKeys answers questions about calls with single keys.
func TestApprovalKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a thread of some turns")
	}
	t.Parallel()
	again := "  - send: {calls: [{name: rye__bash__bash, input: {command: rm -r d/y}}]}\n"
	s := asking(t, again+again+removes+strings.Replace(removes, "d/x", "d/z", 1)+strings.ReplaceAll(again, "rm -r", "rm -fr")+returns)
	for _, name := range []string{"d/y", "d/z"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	x := s.at(nil, "run", "directive", "team/ask")
	x.until(asksKeys)
	for _, want := range []string{"rye asks  ask ", "the dangerous pattern rm-recursive", `rm -r d/y`, "y once   t this thread", `p begins with "rm -r"`, "n no", "d details", "? help", "\a"} {
		if !strings.Contains(x.out.String(), want) {
			t.Errorf("the question has no %q: %q", want, x.out.String())
		}
	}
	for _, keys := range []string{"yes\n", "\n", "x", "\x1b[A"} { // the first is a pasted text
		x.next()
		x.send(keys)
		x.until("waiting 0:0") // it was read
	}
	x.send("?")
	x.until("Esc also stops the turn")
	x.send("d")
	x.until("sandbox     ")
	x.until("rye.execute.tool.rye.bash.bash")
	if !s.has("d/y") || len(s.log("approval_resolved")) > 0 {
		t.Fatal("Enter, Space, an arrow or a pasted text answered")
	}
	x.send("n")
	x.until("A line that the model reads")
	x.send("not tho\x7fere\x17there\n")
	x.until("denied")
	x.next()
	x.until(asksKeys)
	x.send("p")
	x.until("Permit every command of this thread that begins with")
	x.next()
	x.send("n")
	x.until("waiting 0:0")
	x.send("p")
	x.until("Permit every command of this thread that begins with")
	x.send("y")
	x.until("bash\x1b[m  rm -r d/z")
	x.until(`p begins with "rm -fr"`)
	x.send("\x1b")
	x.until("thread suspended")
	if status := x.status(); status != 0 {
		t.Errorf("status %d: %q", status, x.out.String())
	}
	if s.has("d/x") || s.has("d/y") || s.has("d/z") {
		t.Error("a directory was not removed")
	}
	resolved := s.log("approval_resolved")
	for i, want := range []string{`"decision":"deny","by":"person","feedback":"not there"`, `"decision":"prefix","by":"person"}`, `"decision":"deny","by":"person"}`} {
		if len(resolved) != 3 || !strings.Contains(resolved[i], want) {
			t.Fatalf("answer %d is not %s: %s", i+1, want, resolved)
		}
	}
	if on, err := testkit.Echoes(x.tty); err != nil || !on {
		t.Errorf("the terminal does not echo: %v", err)
	}
	s.rye("threads", "resume", s.thread())
	if len(s.log(`"event":"thread_completed"`)) != 1 {
		t.Error("the thread that Esc suspended does not continue")
	}
}

// thread returns the id of the one thread.
func (s *screen) thread() string {
	files, _ := filepath.Glob(filepath.Join(s.dir, ".ai", "threads", "ask-*"))
	if len(files) != 1 {
		s.t.Fatalf("threads: %v", files)
	}
	return filepath.Base(files[0])
}

// TestTypeAhead types y and Enter before and soon after a question: they decide nothing.
func TestTypeAhead(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the time in which keys decide nothing")
	}
	t.Parallel()
	for _, term := range []string{"TERM=xterm", "TERM=dumb"} {
		s := asking(t, removes+returns)
		x := s.at([]string{"TEST_GUARD=1500ms", term}, "run", "directive", "team/ask")
		for range 40 { // while the program starts
			x.send("y\n")
		}
		prompt := asksKeys
		if term == "TERM=dumb" {
			prompt = "Answer: "
		}
		x.until(prompt)
		x.next()
		x.send("y\n") // at once
		if term == "TERM=dumb" {
			x.until("discarded a line")
			x.until("Answer: ")
		} else {
			x.until("waiting 0:0") // it is drawn again after the guard
		}
		if !s.has("d/x") || len(s.log("approval_resolved")) > 0 {
			t.Fatalf("%s: keys from before the question answered it: %q", term, x.out.String())
		}
		if term == "TERM=dumb" {
			time.Sleep(1600 * time.Millisecond) // the time of the person who reads
			x.send("y\n")
		} else {
			x.send("y")
		}
		x.until("completed")
		if x.status() != 0 || s.has("d/x") {
			t.Errorf("%s: y did not answer: %q", term, x.out.String())
		}
	}
}

// TestApprovalWaits keeps a question open for ten minutes of the clock: the thread has a minute.
func TestApprovalWaits(t *testing.T) {
	t.Parallel()
	s := asking(t, removes+returns)
	clock := filepath.Join(t.TempDir(), "clock")
	x := s.at([]string{"TEST_CLOCK=" + clock}, "run", "directive", "team/ask")
	x.until(asksKeys)
	if err := os.WriteFile(clock, []byte("600"), 0o644); err != nil {
		t.Fatal(err)
	}
	x.until("waiting 0:01")
	x.send("y")
	x.until("completed")
	if x.status() != 0 || s.has("d/x") {
		t.Errorf("after ten minutes: %q", x.out.String())
	}
	ended := s.log(`"event":"thread_completed"`)
	var ms int
	if _, after, ok := strings.Cut(fmt.Sprint(ended), `"duration_ms":`); !ok {
		t.Fatalf("no end: %s", ended)
	} else if _, err := fmt.Sscanf(after, "%d", &ms); err != nil || ms > 60_000 {
		t.Errorf("the thread took %d ms, with the time of the question: %v", ms, err)
	}
}

// TestApprovalLeft ends the terminal while a question is open: nothing runs, and the question
// stays open. An answer from elsewhere has the call run once.
func TestApprovalLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("runs four threads")
	}
	t.Parallel()
	for _, c := range []struct {
		how   string
		end   func(x *terminal)
		state string
	}{
		{"hangup", func(x *terminal) { x.master.Close() }, "suspended"},
		{"signal", func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGHUP) }, "suspended"},
		{"end of input", func(x *terminal) { x.send("\x04") }, "suspended"},
		{"kill -9", func(x *terminal) { _ = x.cmd.Process.Kill() }, "error"},
	} {
		s := asking(t, removes+returns)
		x := s.at(nil, "run", "directive", "team/ask")
		x.until(asksKeys)
		c.end(x)
		x.status()
		if !s.has("d/x") || len(s.log("approval_resolved")) > 0 || len(s.log(`"event":"tool_call"`)) > 0 {
			t.Fatalf("%s answered the question", c.how)
		}
		if out := s.rye("threads", "list", "--json"); !strings.Contains(out, `"state": "`+c.state) || !strings.Contains(out, `"kind": "approval"`) {
			t.Errorf("after %s the thread is not %s: %s", c.how, c.state, out)
		}
		for _, args := range [][]string{{"threads", "list"}, {"threads", "tree", s.thread()}, {"threads", "show", s.thread()}, {"status"}} {
			if out := s.rye(args...); !strings.Contains(out, "waiting for you: rm -r d/x, ") {
				t.Errorf("after %s rye %v does not print the question: %s", c.how, args, out)
			}
		}
		if out := s.rye("approve"); !strings.Contains(out, "  WAITING FOR YOU ") || !strings.Contains(out, "  rm -r d/x ") {
			t.Errorf("after %s rye approve does not print the question: %s", c.how, out)
		}
		x = s.at(nil, "approve")
		x.until(asksKeys)
		x.send("y")
		x.until("completed")
		if status := x.status(); status != 0 {
			t.Errorf("rye approve: status %d: %q", status, x.out.String())
		}
		if out := s.rye("approve"); !strings.Contains(out, "nothing waits for you") {
			t.Errorf("after the answer: %s", out)
		}
		if s.has("d/x") || len(s.log(`"event":"thread_completed"`)) != 1 || len(s.log(`"decision":"approved"`)) != 1 {
			t.Errorf("after %s the answer did not run the call once: %s", c.how, s.log("tool_call"))
		}
	}
}

// TestApproveStops refuses the call of a suspended thread with Esc: the process that takes the answer
// suspends the thread before its next turn, and shows the call once.
func TestApproveStops(t *testing.T) {
	t.Parallel()
	s := asking(t, removes+returns)
	x := s.at(nil, "run", "directive", "team/ask")
	x.until(asksKeys)
	x.send("\x04")
	x.status()
	x = s.at(nil, "approve")
	x.until(asksKeys)
	x.send("\x1b")
	x.until("thread suspended")
	status := x.status()
	if out := x.out.String(); status != 0 || !s.has("d/x") || strings.Count(out, "APPROVAL_DENIED") != 1 || strings.Contains(out, "failed") {
		t.Errorf("status %d: %q", status, out)
	}
	if got := s.log(`"event":"model_request"`); len(got) != 1 {
		t.Errorf("Esc did not stop the turn: %s", got)
	}
	if out := s.rye("threads", "resume", s.thread()); !strings.Contains(out, "done") || len(s.log(`"event":"approval_resolved"`)) != 1 {
		t.Errorf("the thread does not continue: %s", out)
	}
}

// TestApprovalElsewhere answers a question from a second process: the first one prints it.
func TestApprovalElsewhere(t *testing.T) {
	t.Parallel()
	s := asking(t, removes+returns)
	x := s.at(nil, "run", "directive", "team/ask")
	x.until(asksKeys)
	s.rye("threads", "deny", s.thread(), "--feedback", "keep it")
	x.until("answered elsewhere: deny")
	x.send("y") // late
	x.until("completed")
	if x.status() != 0 || !s.has("d/x") || len(s.log("approval_resolved")) != 1 {
		t.Errorf("two answers: %s %q", s.log("approval_resolved"), x.out.String())
	}
}

// TestHandles names threads by @, @-1 and the beginning of ids: commands that read take the
// newest, those that act ask at a terminal and fail elsewhere.
func TestHandles(t *testing.T) {
	t.Parallel()
	s := asking(t, returns+returns)
	var ids []string // the newest first
	for range 2 {
		s.rye("run", "directive", "team/ask")
		for _, f := range must(filepath.Glob(filepath.Join(s.dir, ".ai", "threads", "ask-*"))) {
			if id := filepath.Base(f); !slices.Contains(ids, id) {
				ids = slices.Insert(ids, 0, id)
			}
		}
	}
	for typed, want := range map[string]string{"@": ids[0], "@-1": ids[1], "ask": ids[0], ids[1]: ids[1], "1": ids[1], "@2": ids[0]} {
		if out := s.rye("threads", "show", typed); !strings.Contains(out, "thread      "+want) && !strings.Contains(out, want) {
			t.Errorf("%s is not %s: %s", typed, want, out)
		}
	}
	if out := s.rye("threads", "show", "ask"); !strings.Contains(out, "2 threads match ask: this is the newest, "+ids[0]) {
		t.Errorf("it is not printed which thread is shown: %s", out)
	}
	for _, c := range []struct{ typed, want string }{{"@-2", "fewer threads"}, {"@7", "has this number, name or id"}, {"@x", "@-1 for the one before"}, {"ask", "2 match: 2 ask-"}} {
		x := s.at([]string{"CI=true"}, "threads", "cancel", c.typed) // nothing is asked
		x.until(c.want)
		if x.status() == 0 {
			t.Errorf("rye threads cancel %s succeeds", c.typed)
		}
	}
	x := s.at(nil, "threads", "cancel", "ask")
	x.until("Which one?")
	x.until(asksKeys)
	if !strings.Contains(x.out.String(), "completed, ") {
		t.Errorf("the choices have no state: %q", x.out.String())
	}
	x.send("2")
	x.until(ids[1] + ": it is completed")
	x.status()
}

// TestApprovalStopped stops rye with Ctrl-Z while a question is open: the shell has its terminal
// back, and after fg the same question takes a key.
func TestApprovalStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a thread of some turns")
	}
	t.Parallel()
	s := asking(t, removes+returns)
	x := s.program([]string{"PS1=shell> "}, "bash", "--norc", "--noprofile", "-i")
	x.until("shell> ")
	x.send("rye run directive team/ask\n")
	x.until(asksKeys)
	x.next()
	x.send("\x1a")
	x.until("Stopped")
	x.send("stty -a | tr ' ;' '\\n\\n' | grep -x -e '-*icanon' -e '-*echo' | tr '\\n' ' '\n")
	x.until("icanon echo ")
	if len(s.log("approval_resolved")) > 0 {
		t.Error("Ctrl-Z answered")
	}
	x.next()
	x.send("fg\n")
	x.until("waiting 0:")
	if !s.has("d/x") {
		t.Error("the call ran without an answer")
	}
	x.send("y")
	x.until("label")
	x.send("exit\n")
	if status := x.status(); status != 0 || s.has("d/x") {
		t.Errorf("status %d: %q", status, x.out.String())
	}
}

// TestTypedWhileLive types while a call runs: the keys are not in the block, and when the thread
// has ended, also by a signal that a person sends, the terminal echoes again.
func TestTypedWhileLive(t *testing.T) {
	if testing.Short() {
		t.Skip("runs threads of some turns")
	}
	t.Parallel()
	waits := "  - send: {calls: [{name: rye__bash__bash, input: {command: 'until [ -e go ]; do sleep 0.05; done'}}]}\n"
	s := asking(t, waits+returns+waits)
	x := s.program([]string{"PS1=shell> "}, "bash", "--norc", "--noprofile", "-i")
	x.until("shell> ")
	for _, end := range []string{"", "\x03"} {
		x.send("rye run directive team/ask\n")
		x.until("ctrl-c stops")
		x.next()
		x.send("typed while it works")
		x.send("\x15") // the shell does not get it
		x.until("2 s")
		if out := x.out.String(); strings.Contains(out, "typed") {
			t.Errorf("typed keys are in the block: %q", out)
		}
		if end == "" {
			end = "\x15"
			if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		x.send(end)
		x.until("shell> ")
		x.next()
		x.send("stty -a | tr ' ;' '\\n\\n' | grep -x -e '-*icanon' -e '-*echo' | tr '\\n' ' '\n")
		x.until("icanon echo ")
		if err := os.Remove(filepath.Join(s.dir, "go")); err != nil && end != "\x03" {
			t.Fatal(err)
		}
	}
	x.send("exit\n")
	x.status()
}

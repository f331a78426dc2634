package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/internal/testing/vterm"
	"github.com/ryeos/rye/threads/provider/scripted"
)

// consoleMain starts a program with the streams of a console.
func consoleMain() {
	status, err := testkit.ConsoleMain(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "console-main:", err)
		status = 125
	}
	os.Exit(status)
}

// consoles is a project whose model waits before each answer for the test.
type consoles struct {
	t         *testing.T
	home, dir string
	env       []string
	script    atomic.Pointer[script]
}

// script is the model of a run. It answers when it may.
type script struct {
	model http.Handler
	may   chan bool
}

func newConsoles(t *testing.T) *consoles {
	t.Helper()
	c := &consoles{t: t, home: t.TempDir(), dir: t.TempDir()}
	over := make(chan bool)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := c.script.Load()
		select {
		case <-s.may:
			s.model.ServeHTTP(w, r)
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); h.Close() })
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name = strings.ToUpper(name); {
		case slices.Contains([]string{"CI", "NO_COLOR", "RYE_PLAIN", "TERM", "WORK", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"}, name), strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "TEST_"):
		default:
			c.env = append(c.env, kv)
		}
	}
	c.env = append(c.env, "HOME="+c.home, "USERPROFILE="+c.home, "AppData="+filepath.Join(c.home, "roaming"), "LocalAppData="+filepath.Join(c.home, "local"))
	for name, text := range map[string]string{
		".ai/tools/team/model.yaml":  fmt.Sprintf(turnsModel, h.URL),
		".ai/directives/team/ask.md": consoleDirective,
		"notes.txt":                  "one\n",
	} {
		path := filepath.Join(c.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.rye("key", "new", "--owner", "ada", "--no-passphrase")
	c.rye("sign", "*")
	return c
}

const consoleDirective = "# Ask\n\nWork.\n\n```xml\n<directive name=\"ask\" version=\"1.0.0\">\n<metadata><description>Ask.</description><category>team</category><author>ada</author>\n" +
	"<model tier=\"general\" provider=\"team/model\"/><limits turns=\"8\" tokens=\"50000\" spend=\"0.20\" duration_seconds=\"600\"/>\n" +
	"<permissions><execute><tool>rye/file-system/write</tool></execute></permissions></metadata>\n" +
	"<outputs><output name=\"label\" type=\"string\" required=\"true\">A word.</output></outputs></directive>\n```\n\n1. Work.\n"

func (c *consoles) rye(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("rye", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("rye %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// run runs a part of the test.
func (c *consoles) run(name string, f func(t *testing.T)) {
	whole := c.t
	whole.Run(name, func(t *testing.T) {
		c.t = t
		defer func() { c.t = whole }()
		f(t)
	})
}

// next has the model send its next answer.
func (c *consoles) next() {
	c.t.Helper()
	select {
	case c.script.Load().may <- true:
	case <-time.After(time.Minute):
		c.t.Fatal("nothing is asked of the model")
	}
}

// answers sets the answers of the model.
func (c *consoles) answers(steps string) {
	c.t.Helper()
	scenario, err := scripted.Parse("scenario", []byte("dialect: openai_chat\nusage: {input: 100, output: 20}\nsteps:\n"+steps))
	if err != nil {
		c.t.Fatal(err)
	}
	c.script.Store(&script{model: &scripted.Server{Scenario: scenario}, may: make(chan bool)})
}

// window is a console in which rye runs.
type window struct {
	t *testing.T
	*testkit.Console
	term *vterm.Terminal

	mu   sync.Mutex
	raw  bytes.Buffer // that the terminal got
	echo bytes.Buffer // of typed keys
}

func (w *window) writer(to ...io.Writer) func([]byte) {
	return func(b []byte) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, t := range to {
			if _, err := t.Write(b); err != nil {
				w.t.Error(err)
			}
		}
	}
}

func (c *consoles) open(columns, rows int, env []string, args ...string) *window {
	c.t.Helper()
	con, err := testkit.OpenConsole(c.t.TempDir(), columns, rows)
	if err != nil {
		c.t.Fatal(err)
	}
	w := &window{t: c.t, Console: con, term: vterm.New(columns, rows)}
	var read sync.WaitGroup
	c.t.Cleanup(func() {
		con.Close()
		read.Wait()
		w.term.Close()
	})
	starter, err := exec.LookPath("console-main")
	if err != nil {
		c.t.Fatal(err)
	}
	program, err := exec.LookPath("rye")
	if err != nil {
		c.t.Fatal(err)
	}
	if err := con.Start(starter, c.dir, slices.Concat(c.env, env), append([]string{program}, args...)...); err != nil {
		c.t.Fatal(err)
	}
	read.Go(func() {
		con.Read(w.writer(&w.raw, w.term), w.writer(&w.echo))
	})
	return w
}

func (w *window) screen() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.term.Whole()
}

// until waits until the screen has a text.
func (w *window) until(text string) {
	w.t.Helper()
	w.untilTrue(text, func(s string) bool { return strings.Contains(s, text) })
}

func (w *window) untilTrue(what string, is func(screen string) bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(w.screen()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("the console never shows %s:\n%s", what, w.screen())
		}
	}
}

// asked waits until the question of a number is open.
func (w *window) asked(number int) {
	w.t.Helper()
	w.matches(fmt.Sprintf(`^(?s:.*rye asks .*){%d}waiting \d:\d\d\n$`, number))
}

// redrawn waits until the seconds on the screen have changed twice.
func (w *window) redrawn() {
	w.t.Helper()
	for range 2 {
		before := w.screen()
		w.untilTrue("the next second", func(s string) bool { return s != before })
	}
}

// matches waits until the screen matches a regular expression.
func (w *window) matches(pattern string) {
	w.t.Helper()
	w.untilTrue(pattern, regexp.MustCompile(pattern).MatchString)
}

func (w *window) interrupt() {
	w.t.Helper()
	if err := w.Interrupt(); err != nil {
		w.t.Fatal(err)
	}
}

// resize changes the size of the console and of the terminal.
func (w *window) resize(columns, rows int) {
	w.t.Helper()
	if err := w.Resize(columns, rows); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.term.Resize(columns, rows)
}

func (w *window) send(text string) {
	w.t.Helper()
	if _, err := w.In.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
}

func (w *window) status() int {
	w.t.Helper()
	status, err := w.Wait(time.Minute)
	if err != nil {
		w.t.Fatalf("%v:\n%s", err, w.screen())
	}
	time.Sleep(100 * time.Millisecond) // the rest is read
	return status
}

// left checks that the program has restored the modes of the console, and returns its exit status.
func (w *window) left() int {
	w.t.Helper()
	status := w.status()
	before, after, err := w.Modes()
	if err != nil || before != after || before == "" {
		w.t.Errorf("the modes of the console were %s and are %s, %v", before, after, err)
	}
	if s := w.screen(); strings.Contains(s, "←") {
		w.t.Errorf("escape sequences are printed:\n%s", s)
	}
	return status
}

// someCost matches amounts: an estimate counts the path of the project, too.
var someCost = regexp.MustCompile(`\b0\.00\d+`)

// golden compares the screen with a file of testdata/windows/screens.
func (w *window) golden(name string) {
	w.t.Helper()
	screen := someCost.ReplaceAllString(masked(w.screen()), "0.00xxxx")
	screen = regexp.MustCompile(`waiting \d:\d\d`).ReplaceAllString(screen, "waiting TIME")
	testkit.Golden(w.t, filepath.Join("..", "..", "testdata", "windows", "screens", name+".txt"), screen)
}

// TestConsole runs rye in consoles of Windows: what a person sees there and types.
func TestConsole(t *testing.T) {
	c := newConsoles(t)
	for _, columns := range []int{60, 80} {
		w := c.open(columns, 24, nil, "list", "--space", "project")
		if status := w.left(); status != 0 || !strings.Contains(w.raw.String(), "\x1b[1mITEM\x1b[0m") {
			t.Errorf("status %d: %q", status, w.raw.String())
		}
		w.golden(fmt.Sprintf("list-%d", columns))
	}
	for _, env := range []string{"NO_COLOR=1", "TEST_NO_ESCAPES=1"} {
		w := c.open(60, 24, []string{env}, "list", "--space", "project")
		if status := w.left(); status != 0 || strings.Contains(w.raw.String(), "\x1b") {
			t.Errorf("%s: status %d: %q", env, status, w.raw.String())
		}
		if env == "NO_COLOR=1" {
			w.golden("list-60")
		} else {
			w.golden("list-plain")
		}
	}

	c.run("live", func(t *testing.T) {
		c.answers(writes + returns)
		w := c.open(50, 20, nil, "run", "directive", "team/ask")
		w.until("turn 1  0 tok  $0.00 (+")
		w.send("typed\r")
		c.next()
		w.matches(`\nscripted +\d+ s\nturn 2 .* reserved\)\n`)
		w.golden("live-50")
		if err := w.SetOutputMode("0x3"); err != nil { // another program does, without escape sequences
			t.Fatal(err)
		}
		w.redrawn()
		w.resize(80, 24)
		w.matches(`\nscripted +\d+ s\nturn 2 .* reserved\)  ctrl-c stops\n`)
		w.golden("live-80")
		w.resize(50, 20) // a block that is drawn meanwhile leaves a line
		w.matches(`\nscripted +\d+ s\nturn 2 .* reserved\)\n`)
		c.next()
		if status := w.left(); status != 0 || strings.Contains(w.screen()+w.echo.String(), "typed") {
			t.Errorf("status %d, or typed keys are shown: %q %q", status, w.screen(), w.echo.String())
		}
		for _, once := range []string{"I write the file.", "● write", "wrote notes.txt", "● directive_return", "\"label\": \"done\"", "completed"} {
			if s := w.screen(); strings.Count(s, once) != 1 {
				t.Errorf("%q is not on the screen once:\n%s", once, s)
			}
		}
	})
	c.run("interrupt", func(t *testing.T) {
		c.answers(returns)
		w := c.open(80, 24, nil, "run", "directive", "team/ask")
		w.until("turn 1  0 tok  $0.00 (+")
		w.interrupt()
		if status := w.left(); status != cli.ExitInterrupted {
			t.Errorf("status %d: %s", status, w.screen())
		}
		w.golden("interrupt")
	})
	c.asks()
	c.run("question", func(t *testing.T) {
		c.answers(writes + returns)
		w := c.open(80, 24, nil, "run", "directive", "team/ask")
		w.asked(1) // the model is a call, too
		w.golden("question")
		w.send("y")
		c.next()
		w.asked(2)
		w.send("\r \x1b[A") // decide nothing
		w.redrawn()
		w.send("d")
		w.until("capability  ")
		if s := w.screen(); strings.Contains(s, "wrote notes.txt") {
			t.Errorf("a key that is not an answer answered:\n%s", s)
		}
		w.send("y")
		w.until("wrote notes.txt")
		w.asked(3)
		w.send("y")
		c.next()
		if status := w.left(); status != 0 || strings.Count(w.screen(), "\nonce\n") != 3 {
			t.Errorf("status %d: %s", status, w.screen())
		}
	})
	c.run("words", func(t *testing.T) {
		c.answers(returns)
		w := c.open(80, 24, []string{"RYE_PLAIN=1"}, "run", "directive", "team/ask")
		w.matches(`Answer:\n$`)
		w.send("yes\r")
		c.next()
		if status := w.left(); status != 0 || strings.Contains(w.raw.String(), "\x1b") || !strings.Contains(w.echo.String(), "yes") {
			t.Errorf("status %d: %q %q", status, w.raw.String(), w.echo.String())
		}
	})
	for _, end := range []struct {
		how    string
		do     func(w *window)
		status int
		states []string // one of them
	}{
		{"interrupt at a question", func(w *window) { w.interrupt() }, cli.ExitInterrupted, []string{"cancelled"}},
		{"end of input", func(w *window) { w.send("\x1a") }, 0, []string{"suspended"}},
		// Wine ends the programs of a console that is closed, and sends no signal before.
		{"closed window", func(w *window) { w.Hangup() }, -1, []string{"suspended", "error"}},
	} {
		c.run(end.how, func(t *testing.T) {
			c.answers(strings.Replace(writes, "notes.txt", "new.txt", 1) + returns)
			w := c.open(80, 24, nil, "run", "directive", "team/ask")
			w.asked(1)
			w.send("y")
			c.next()
			w.asked(2)
			end.do(w)
			if status := w.status(); end.status >= 0 && status != end.status {
				t.Errorf("status %d:\n%s", status, w.screen())
			}
			list := c.rye("threads", "show", "@", "--json")
			if !slices.ContainsFunc(end.states, func(s string) bool { return strings.Contains(list, `"state": "`+s+`"`) }) || !strings.Contains(list, `"kind": "approval"`) {
				t.Errorf("the thread is not %s, or its question is not open: %s", end.states, list)
			}
			if _, err := os.Stat(filepath.Join(c.dir, "new.txt")); err == nil {
				t.Error("the call ran")
			}
		})
	}
}

const (
	writes  = "  - send: {text: \"I **write** the file.\", calls: [{name: rye__file-system__write, input: {file_path: notes.txt, content: \"one\\n2\\n\"}}]}\n"
	returns = "  - send: {calls: [{name: directive_return, input: {label: done}}]}\n"
)

// asks has calls above T1 approved by a person.
func (c *consoles) asks() {
	c.t.Helper()
	file := filepath.Join(c.dir, ".ai", "config", "agent", "allowance.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("schema_version: \"1.0.0\"\ncategory: agent\ndescription: Ask.\napprovals:\n  auto_approve_up_to: {sandboxed: T1, unsandboxed: T1}\n"), 0o644); err != nil {
		c.t.Fatal(err)
	}
	c.rye("sign", "config:agent/allowance")
}

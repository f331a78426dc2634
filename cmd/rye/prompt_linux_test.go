package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// ptyChild has the arguments of the program that a test starts at a terminal.
const ptyChild = "RYE_TEST_AT_TERMINAL"

// TestAtTerminal is the program that atTerminal starts.
func TestAtTerminal(t *testing.T) {
	if os.Getenv(ptyChild) == "" {
		t.Skip("started by other tests only")
	}
	os.Args = append([]string{"rye"}, strings.Split(os.Getenv(ptyChild), "\x1f")...)
	main()
}

// terminal is a run of the program at a pseudo-terminal.
type terminal struct {
	t      *testing.T
	master *os.File
	tty    *os.File
	cmd    *exec.Cmd
	out    bytes.Buffer
	read   int // of out, in a test that waits for the same text twice
}

// atTerminal starts the program at a pseudo-terminal, with the home of l.
func atTerminal(t *testing.T, dir, home string, args ...string) *terminal {
	t.Helper()
	master, tty, err := testkit.OpenPTY()
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	x := &terminal{t: t, master: master, tty: tty}
	x.cmd = exec.Command(os.Args[0], "-test.run", "^TestAtTerminal$")
	if program, err := exec.LookPath("rye"); err == nil && args[0] == "tour" { // it starts itself
		x.cmd = exec.Command(program, args...)
	}
	x.cmd.Dir = dir
	x.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "USER=leo", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", ptyChild + "=" + strings.Join(args, "\x1f")}
	x.start()
	return x
}

// start starts the program. A hangup ends it, also if the tests run below a program such as
// nohup that has them ignore it: what a process handles is not ignored by those that it starts.
func (x *terminal) start() {
	x.t.Helper()
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = x.tty, x.tty, x.tty
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	if err := x.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = x.cmd.Process.Kill(); x.master.Close(); x.tty.Close() })
}

// until reads until the program has printed the text.
func (x *terminal) until(text string) { x.t.Helper(); x.untilAfter(0, text) }

// untilAfter is until for what follows the first bytes of the output.
func (x *terminal) untilAfter(first int, text string) {
	x.t.Helper()
	x.untilTrue(text, func(out string) bool { return strings.Contains(out[first:], text) })
}

// untilTrue reads until is returns true for the output.
func (x *terminal) untilTrue(what string, is func(out string) bool) {
	x.t.Helper()
	deadline := time.Now().Add(time.Minute)
	b := make([]byte, 1024)
	for !is(x.out.String()) {
		if err := x.master.SetReadDeadline(deadline); err != nil {
			x.t.Fatal(err)
		}
		n, err := x.master.Read(b)
		x.out.Write(b[:n])
		if err != nil {
			x.t.Fatalf("waiting for %q: %v in %q", what, err, x.out.String())
		}
	}
}

// send types a text.
func (x *terminal) send(text string) {
	x.t.Helper()
	if _, err := x.master.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

// status waits for the program and returns its exit status.
func (x *terminal) status() int {
	x.t.Helper()
	done := make(chan error, 1)
	go func() { done <- x.cmd.Wait() }()
	select {
	case err := <-done:
		var e *exec.ExitError
		if err != nil && !errors.As(err, &e) {
			x.t.Fatal(err)
		}
		return x.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		x.t.Fatalf("it still waits after %q", x.out.String())
		return -1
	}
}

// interrupted types Ctrl-C and checks what is left.
func (x *terminal) interrupted(echoBefore bool) {
	x.t.Helper()
	// The prompt is printed before the echo is off.
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if on, err := testkit.Echoes(x.tty); err != nil {
			x.t.Fatal(err)
		} else if on == echoBefore {
			break
		}
	}
	x.send("\x03")
	x.until("interrupted")
	if got := x.status(); got != cli.ExitInterrupted {
		x.t.Errorf("status %d after the first Ctrl-C: %q", got, x.out.String())
	}
	if on, err := testkit.Echoes(x.tty); err != nil || !on {
		x.t.Errorf("the terminal does not echo: %v", err)
	}
}

// First use M5: the first Ctrl-C at a prompt ends rye with 130 and a terminal that
// echoes; nothing is left of what it began.
func TestInterruptedPrompts(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	x := atTerminal(t, dir, home, "key", "new")
	x.until("Owner, the name that others see [leo]: ")
	x.interrupted(true)
	x = atTerminal(t, dir, home, "key", "new")
	x.until("[leo]: ")
	x.send("\n")
	x.until("New passphrase: ")
	x.interrupted(false)
	if found, _ := filepath.Glob(filepath.Join(home, ".local", "share", "rye", "keys", "*.pem")); len(found) > 0 {
		t.Errorf("left %v", found)
	}
}

// First use M11, M15, M5: Enter takes the shown values; nothing to sign asks for no
// passphrase; an interrupt at the passphrase of a signature leaves the file alone; the
// second question within an hour names the agent.
func TestKeyAtTerminal(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	hidden := func(x *terminal, prompt, text string) {
		x.untilAfter(x.read, prompt)
		x.read = x.out.Len()
		for on := true; on; {
			on, _ = testkit.Echoes(x.tty)
		}
		x.send(text + "\n")
	}
	secret := func(x *terminal) { hidden(x, "assphrase", "pw") }
	x := atTerminal(t, dir, home, "key", "new")
	x.until("[leo]: ")
	x.send("\n")
	hidden(x, "New passphrase: ", "pw")
	hidden(x, "Again: ", "other") // a typing error costs a line, not the command
	x.until("The two passphrases differ. Type both again.")
	hidden(x, "New passphrase: ", "pw")
	hidden(x, "Again: ", "pw")
	x.until("[y/N] ")
	x.send("y\n")
	x.until("Keep the revocation certificate offline")
	if got := x.status(); got != 0 || !strings.Contains(x.out.String(), "owner       leo") {
		t.Fatalf("status %d: %q", got, x.out.String())
	}
	if err := os.MkdirAll(filepath.Join(dir, ".ai", "knowledge"), 0o755); err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(dir, ".ai", "knowledge", "n.md")
	text := []byte("---\ntitle: N\nversion: 1.0.0\n---\nText.\n")
	if err := os.WriteFile(note, text, 0o644); err != nil {
		t.Fatal(err)
	}
	x = atTerminal(t, dir, home, "sign", "*")
	x.until("Passphrase of key ")
	x.interrupted(false)
	if b, err := os.ReadFile(note); err != nil || !bytes.Equal(b, text) {
		t.Errorf("the interrupted rye sign left %q, %v", b, err)
	}
	x = atTerminal(t, dir, home, "sign", "*")
	secret(x)
	x.until("1 signed")
	if got := x.status(); got != 0 || strings.Contains(x.out.String(), "agent-add") {
		t.Errorf("status %d: %q", got, x.out.String())
	}
	x = atTerminal(t, dir, home, "sign", "*")
	x.until("0 signed, 1 unchanged")
	if got := x.status(); got != 0 || strings.Contains(x.out.String(), "assphrase") {
		t.Errorf("status %d: %q", got, x.out.String())
	}
	if err := os.WriteFile(note, append(text, "More.\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	x = atTerminal(t, dir, home, "sign", "*")
	x.until("rye key agent-add")
	secret(x)
	x.until("1 signed")
	if got := x.status(); got != 0 {
		t.Errorf("status %d: %q", got, x.out.String())
	}
}

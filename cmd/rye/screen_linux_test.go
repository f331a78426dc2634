package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/ryeos/rye/internal/testkit"
	"github.com/ryeos/rye/internal/testkit/vterm"
)

// screenOf runs a program at a pseudo-terminal and prints what an emulator of a terminal shows:
// for each -until, the screen when it first had the text, and at the end the whole text with
// what has left the screen. When it had the first text, the file seen.1 is made, which the
// program can wait for. What the program changed of the terminal but its text and its
// colours is printed, too. Times and the random part of ids are replaced.
//
//	screen COLUMNSxROWS [-until TEXT]… [-raw FILE] PROGRAM [ARG…]
func screenOf() {
	status, err := screenMain(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "screen:", err)
		status = 125
	}
	os.Exit(status)
}

var (
	modeSet  = regexp.MustCompile(`\x1b\[\??[0-9;]*[hl]|\x1b[78c=>]`)
	someTime = regexp.MustCompile(` *\b[0-9.]+ (ms|s)\b`)
	someID   = regexp.MustCompile(`-01[0-9a-z]{24}\b`)
)

// masked replaces what differs from run to run.
func masked(s string) string {
	return someID.ReplaceAllString(someTime.ReplaceAllString(s, "  TIME"), "-01xxxxxxxxxxxxxxxxxxxxxxxx")
}

func screenMain(args []string) (int, error) {
	var columns, rows int
	if _, err := fmt.Sscanf(args[0], "%dx%d", &columns, &rows); err != nil {
		return 0, err
	}
	var untils []string
	raw := ""
	for args = args[1:]; len(args) > 2 && args[0][0] == '-'; args = args[2:] {
		if args[0] == "-raw" {
			raw = args[1]
		} else {
			untils = append(untils, args[1])
		}
	}
	master, tty, err := testkit.OpenPTY()
	if err != nil {
		return 0, err
	}
	defer master.Close()
	if err := testkit.Resize(tty, columns, rows); err != nil {
		return 0, err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	tty.Close()
	if err != nil {
		return 0, err
	}
	e := vterm.New(columns, rows)
	written, err := watchScreen(master, e, untils)
	if err != nil {
		return 0, err
	}
	if raw != "" {
		if err := os.WriteFile(raw, written, 0o600); err != nil {
			return 0, err
		}
	}
	fmt.Printf("--- end\n%s", masked(e.Whole()))
	changes := e.Changes()
	for _, m := range modeSet.FindAllString(string(written), -1) {
		if m != "\x1b[?2026h" && m != "\x1b[?2026l" { // drawn as a whole
			changes = append(changes, fmt.Sprintf("mode %q", m))
		}
	}
	for _, c := range changes {
		fmt.Println("--- changed:", c)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// watchScreen passes what a program writes to the emulator until it has ended.
func watchScreen(master *os.File, e *vterm.Terminal, untils []string) ([]byte, error) {
	b := make([]byte, 64<<10)
	var all []byte
	hits := 0
	for {
		if err := master.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			return nil, err
		}
		n, err := master.Read(b)
		all = append(all, b[:n]...)
		for _, frame := range bytes.SplitAfter(b[:n], []byte("\x1b[?2026l")) {
			if _, werr := e.Write(frame); werr != nil {
				return nil, werr
			}
			if len(untils) > 0 && strings.Contains(e.Screen(), untils[0]) {
				fmt.Printf("--- %s\n%s", untils[0], masked(e.Screen()))
				untils, hits = untils[1:], hits+1
				if werr := os.WriteFile(fmt.Sprintf("seen.%d", hits), nil, 0o600); werr != nil {
					return nil, werr
				}
			}
		}
		switch {
		case errors.Is(err, syscall.EIO) || errors.Is(err, io.EOF):
			if len(untils) > 0 {
				return nil, fmt.Errorf("the screen never had %q", untils)
			}
			return all, nil
		case err != nil:
			return nil, err
		}
	}
}

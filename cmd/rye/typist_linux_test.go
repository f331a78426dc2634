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
	"testing"
	"time"

	"github.com/ryeos/rye/internal/testkit"
)

// typist runs a program at a pseudo-terminal and prints what the terminal shows. It types a
// line of a file after each prompt, and the end of the input after the last line: what is
// typed before a question is not an answer to it.
//
//	typist FILE PROGRAM [ARG…]
func typist() {
	status, err := typeAt(os.Args[1], exec.Command(os.Args[2], os.Args[3:]...))
	if err != nil {
		fmt.Fprintln(os.Stderr, "typist:", err)
		status = 125
	}
	os.Exit(status)
}

func typeAt(file string, cmd *exec.Cmd) (int, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	master, tty, err := testkit.OpenPTY()
	if err != nil {
		return 0, err
	}
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	tty.Close()
	if err != nil {
		return 0, err
	}
	if err := answer(master, strings.SplitAfter(string(b), "\n")); err != nil {
		return 0, err
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// progressEnd is at the end of what a terminal shows: lines of the branches of a graph.
var progressEnd = regexp.MustCompile(`(\[[^]\r\n]*\] [0-9]+(/[0-9]+)? [^\r\n]*\r\n)+$`)

// asks reports whether a terminal shows a prompt without an answer. A branch of a graph can
// show its progress after the prompt of another one.
func asks(shown []byte) bool {
	if at := progressEnd.FindIndex(shown); at != nil {
		shown = shown[:at[0]]
	}
	return bytes.HasSuffix(shown, []byte("] ")) || bytes.HasSuffix(shown, []byte("? ")) || bytes.HasSuffix(shown, []byte("Answer: "))
}

func TestAsks(t *testing.T) {
	for shown, want := range map[string]bool{
		"": false, "First? ": true, "Release? [release/stop] ": true, "First? one\r\n": false,
		"First? one\r\n[two] 2/5 both.first.a ok\r\n":                      false,
		"Second? [two] 1/5 both.first ok\r\n":                              true,
		"Second? [two] 1/5 both.first ok\r\n[two] 2/5 both.first.a ok\r\n": true,
		"[two] 2/5 both.first.a ok\r\n":                                    false,
		"Second? [two] 1/5 both.fi":                                        false,
	} {
		if got := asks([]byte(shown)); got != want {
			t.Errorf("%q asks: %t", shown, got)
		}
	}
}

// answer types until the program has closed the terminal.
func answer(master *os.File, lines []string) error {
	b, shown := make([]byte, 64<<10), []byte{}
	for {
		if err := master.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			return err
		}
		n, err := master.Read(b)
		shown = append(shown, b[:n]...)
		if _, werr := os.Stdout.Write(bytes.ReplaceAll(b[:n], []byte("\r\n"), []byte("\n"))); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, syscall.EIO) || errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w after %q", err, shown)
		case !asks(shown):
			continue
		}
		shown = shown[:0]
		line := "\x04"
		if len(lines) > 0 && lines[0] != "" {
			line, lines = lines[0], lines[1:]
		}
		if _, err := master.WriteString(line); err != nil {
			return err
		}
	}
}

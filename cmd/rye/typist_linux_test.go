package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
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
	lines, shown := strings.SplitAfter(string(b), "\n"), []byte{}
	return runAt(cmd, 0, 0, func(master *os.File, b []byte) error {
		shown = append(shown, b...)
		if _, err := os.Stdout.Write(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))); err != nil {
			return err
		}
		if len(b) == 0 || !asks(shown) {
			return nil
		}
		shown = shown[:0]
		line := "\x04"
		if len(lines) > 0 && lines[0] != "" {
			line, lines = lines[0], lines[1:]
		}
		_, err := master.WriteString(line)
		return err
	})
}

// progressEnd is at the end of what a terminal shows: lines of the branches of a graph.
var progressEnd = regexp.MustCompile(`(\[[^]\r\n]*\] [0-9]+(/[0-9]+)? [^\r\n]*\r\n)+$`)

// asks reports whether a terminal shows a prompt without an answer. A branch of a graph can
// show its progress after the prompt of another one.
func asks(shown []byte) bool {
	if at := progressEnd.FindIndex(shown); at != nil {
		shown = shown[:at[0]]
	}
	return promptEnd.Match(shown)
}

// promptEnd is the end of a prompt: of a question, of a line with a value that Enter takes, and
// of the few that have another one.
var promptEnd = regexp.MustCompile(`(\] |\? |\]: |Answer: |Again: |passphrase: |Passphrase of key [0-9a-f]+: |none: |\(not shown\): |skips: |tool,knowledge: |gh/\*\*: |q: the end\. |You: |a chapter again\. )$`)

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

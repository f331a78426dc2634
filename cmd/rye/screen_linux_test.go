package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/ryeos/rye/internal/testing/vterm"
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

var modeSet = regexp.MustCompile(`\x1b\[\??[0-9;]*[hl]|\x1b[78c=>]`)

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
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	e := vterm.New(columns, rows)
	var written []byte
	hits := 0
	status, err := runAt(cmd, columns, rows, func(_ *os.File, b []byte) error {
		written = append(written, b...)
		for _, frame := range bytes.SplitAfter(b, []byte("\x1b[?2026l")) {
			if _, err := e.Write(frame); err != nil {
				return err
			}
			if len(untils) > 0 && strings.Contains(e.Screen(), untils[0]) {
				fmt.Printf("--- %s\n%s", untils[0], masked(e.Screen()))
				untils, hits = untils[1:], hits+1
				if err := os.WriteFile(fmt.Sprintf("seen.%d", hits), nil, 0o600); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(untils) > 0 {
		return 0, fmt.Errorf("the screen never had %q", untils)
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
	return status, nil
}

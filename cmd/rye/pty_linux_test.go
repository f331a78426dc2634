package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/ryeos/rye/internal/testing/testkit"
)

// runAt runs a program at a pseudo-terminal and has write called with what it writes, until it
// has closed the terminal. The terminal has its first size if columns is 0. It returns the exit
// status of the program.
func runAt(cmd *exec.Cmd, columns, rows int, write func(master *os.File, b []byte) error) (int, error) {
	master, tty, err := testkit.OpenPTY()
	if err != nil {
		return 0, err
	}
	defer master.Close()
	if columns > 0 {
		if err := testkit.Resize(tty, columns, rows); err != nil {
			tty.Close()
			return 0, err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	tty.Close()
	if err != nil {
		return 0, err
	}
	if err := readTerminal(master, write); err != nil {
		return 0, err
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func readTerminal(master *os.File, write func(master *os.File, b []byte) error) error {
	b := make([]byte, 64<<10)
	for {
		if err := master.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			return err
		}
		n, err := master.Read(b)
		if werr := write(master, b[:n]); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, syscall.EIO) || errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the terminal: %w", err)
		}
	}
}

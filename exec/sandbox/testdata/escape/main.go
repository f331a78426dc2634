//go:build linux

// Command escape tries one thing that a confined program must not reach, named by
// its first argument, and prints one JSON object:
//
//	{"tried": "readkeys", "reached": false, "error": "ENOENT"}
//
// reached is true if the attempt succeeded, whatever was gained by it. The attempts
// change nothing outside of what the test made for them: calls that would are made
// with arguments that the kernel refuses after it has permitted the call.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attempt returns nil if it succeeded.
type attempt func(args []string) error

type result struct {
	Tried   string `json:"tried"`
	Reached bool   `json:"reached"`
	Error   string `json:"error,omitempty"` // name of the errno, or the text
}

func main() {
	attempts := map[string]attempt{}
	for _, table := range []map[string]attempt{fileAttempts(), networkAttempts(), kernelAttempts(), processAttempts(), limitAttempts()} {
		for name, a := range table {
			attempts[name] = a
		}
	}
	if len(os.Args) < 2 || attempts[os.Args[1]] == nil {
		names := make([]string, 0, len(attempts))
		for name := range attempts {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Fprintln(os.Stderr, "attempts:", names)
		os.Exit(2)
	}
	err := attempts[os.Args[1]](os.Args[2:])
	if err != nil && limitAttempts()[os.Args[1]] != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) // as programs do that a limit refuses something
	}
	json.NewEncoder(os.Stdout).Encode(result{Tried: os.Args[1], Reached: err == nil, Error: errnoName(err)})
}

func errnoName(err error) string {
	if err == nil {
		return ""
	}
	var e syscall.Errno
	if errors.As(err, &e) {
		if name := unix.ErrnoName(e); name != "" {
			return name
		}
	}
	// The resolver of Go keeps the text only.
	for _, e := range []syscall.Errno{unix.EPERM, unix.ECONNREFUSED, unix.ENETUNREACH} {
		if strings.Contains(err.Error(), e.Error()) {
			return unix.ErrnoName(e)
		}
	}
	return err.Error()
}

// call makes a system call with up to six arguments.
func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, e := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
		return e
	}
	return nil
}

// permitted makes a call whose arguments the kernel refuses with one of the errors.
// Such an error means that nothing stopped the call itself.
func permitted(err error, late ...syscall.Errno) error {
	for _, e := range late {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

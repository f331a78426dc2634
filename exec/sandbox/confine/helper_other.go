//go:build !linux

package confine

import (
	"fmt"
	"os"
)

func init() {
	if len(os.Args) == 2 && os.Args[1] == Command {
		fmt.Fprintln(os.Stderr, "rye: this system has no sandbox helper")
		os.Exit(Failed)
	}
}

package proc

import (
	"os"

	"golang.org/x/sys/windows"
)

// DropTyped discards what was typed at a console and is not read yet. It does not know whether
// a complete line was: the console keeps keys, not lines.
func DropTyped(terminal *os.File) (line bool) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(terminal.Fd()))
	return false
}

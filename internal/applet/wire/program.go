package wire

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/proc"
)

// Grace is the time that a program has to end by itself after its output was
// closed or its timeout passed.
const Grace = 2 * time.Second

// CancelGrace is Grace after a cancellation. It is shorter than the time any
// caller leaves an applet, which would otherwise be killed before the program.
const CancelGrace = 400 * time.Millisecond

// Ending returns how a program ended: its signal or its exit status.
func Ending(r proc.Result) string {
	if r.Signal != "" {
		return "ended by " + r.Signal
	}
	return fmt.Sprintf("exit status %d", r.ExitCode)
}

// Valid replaces invalid UTF-8, which JSON cannot contain.
func Valid(s string) string {
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Clip returns the first characters of s, at most limit bytes.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

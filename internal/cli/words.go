package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// ShellArgument quotes a word for sh unless it is plain.
func ShellArgument(s string) string {
	plain := strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == ""
	if plain && !strings.HasPrefix(s, "-") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Pick returns a if first is true, else b.
func Pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// RunWord returns the shortest word that names a thread or run in a command: its number, else its
// id.
func RunWord(c *Call, id string) string {
	if n := c.UI.Number(id); n > 0 {
		return strconv.FormatInt(n, 10)
	}
	return id
}

// RunLabel describes a thread or run in a line for a person: "triage 12", else its id.
func RunLabel(c *Call, id string) string {
	n := c.UI.Number(id)
	at := strings.LastIndexByte(id, '-')
	if n == 0 || at < 0 {
		return id
	}
	return id[:at] + " " + strconv.FormatInt(n, 10)
}

// Plural returns a number with its noun, which takes an s unless the number is 1.
func Plural(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

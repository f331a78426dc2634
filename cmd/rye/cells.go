package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/threads/waiting"
)

// age returns the time since something as tables show it, "" if it has no time.
func age(c *cli.Call, since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return waiting.Age(c.Now().Sub(since))
}

// numberCell returns the number of a thread or run as tables show it, "" if it has none.
func numberCell(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// bareRef returns the id of a directive or a graph, whose kind the column names.
func bareRef(ref string) string {
	_, id, ok := strings.Cut(ref, ":")
	if !ok {
		return ref
	}
	return id
}

package watch

import (
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/threads/waiting"
)

// Age returns the time since something as tables show it, "" if it has no time.
func Age(c *cli.Call, since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return waiting.Age(c.Now().Sub(since))
}

// NumberCell returns the number of a thread or run as tables show it, "" if it has none.
func NumberCell(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// BareRef returns the id of a directive or a graph, whose kind the column names.
func BareRef(ref string) string {
	_, id, ok := strings.Cut(ref, ":")
	if !ok {
		return ref
	}
	return id
}

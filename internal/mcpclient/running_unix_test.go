//go:build unix

package mcpclient

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// running reports whether a process lives; a zombie does not.
func running(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || syscall.Kill(n, 0) != nil {
		return false
	}
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(b), ") ")
	return err != nil || !strings.HasPrefix(rest, "Z")
}

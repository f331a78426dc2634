package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Abandoned is the minimum age of a temporary file that no running write owns.
const Abandoned = 5 * time.Minute

// Temporary reports whether name is one that Write gives to a temporary file:
// the prefix and 26 random letters, nothing after them. A name with only
// the prefix belongs to another program.
func Temporary(name string) bool {
	random, ok := strings.CutPrefix(name, Prefix)
	return ok && len(random) == 26 && strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// Sweep removes the temporary files in dir that were last written before the
// given time, which killed processes left behind. A younger one may belong to a
// running write. Errors are ignored: the files do no harm.
func Sweep(dir string, before time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !Temporary(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

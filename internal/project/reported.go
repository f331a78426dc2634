package project

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// ReportedFile returns the file of the project, as a slash path below it, that a
// report about a path names. For a path outside of the project, and for none, it is
// the project file, the lock or .ai, and inside is false.
func (p *Project) ReportedFile(path string) (file string, inside bool) {
	root := p.Spaces.Of(space.Project)
	exists := func(name string) bool {
		if root == nil || !root.OnDisk() {
			return true
		}
		_, err := os.Lstat(filepath.Join(root.Base, filepath.FromSlash(name)))
		return err == nil
	}
	switch {
	case path == space.Dir || strings.HasPrefix(path, space.Dir+"/"):
		return path, true // also what only another revision has
	case filepath.IsLocal(filepath.FromSlash(path)) && !strings.Contains(path, ":") && exists(path):
		return path, true
	}
	for _, name := range []string{lock.ProjectFileName, lock.LockFile} {
		if exists(name) {
			return name, false
		}
	}
	return space.Dir, false
}

// LongList is the number of equal lines from which a command prints their number.
const LongList = 20

// Count returns a number with its noun: "1 item", "4,812 items".
func Count(n int, noun string) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	if n == 1 {
		return digits + " " + noun
	}
	return digits + " " + noun + "s"
}

// Package account decides where threads work that a person starts outside of projects: which
// directory their tools see, and that the directory with their logs is private.
//
// It starts nothing and grants nothing: a directory that tools see is read-only unless the
// person permits more, which package project asks.
package account

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/owner"
)

// Params describe the directory in which a person starts a thread.
type Params struct {
	Dir     string   // absolute; "" if it cannot be known
	Home    string   // of the person, "" if it is unknown
	Private []string // directories of the person that no tool reads
	Sudo    string   // the id of the user who started sudo, or ""
}

// Seen is the directory that the tools of a thread see.
type Seen struct {
	Dir string `json:"dir,omitempty"` // of the person, with its links followed
	// Empty marks that the tools see an empty directory in place of Dir, and Why states the
	// reason.
	Empty bool   `json:"empty,omitempty"`
	Why   string `json:"why,omitempty"`
}

// See returns the directory that tools see in place of the person's: an empty one if it is the home
// directory or above it, if it is private, or if other users decide what is in it.
func See(p Params) Seen {
	empty := func(why string) Seen {
		return Seen{Dir: p.Dir, Empty: true, Why: why}
	}
	real, err := filepath.EvalSymlinks(p.Dir)
	if p.Dir == "" || err != nil {
		return empty("the current directory cannot be read")
	}
	fi, err := os.Stat(real)
	home, herr := os.Stat(p.Home)
	switch {
	case err != nil || !fi.IsDir():
		return empty("the current directory cannot be read")
	case real == filepath.Dir(real):
		return empty("it is the root of the file system")
	case p.Home != "" && herr == nil && os.SameFile(fi, home):
		return empty("it is your home directory")
	case p.Home != "" && below(p.Home, fi):
		return empty("your home directory is in it")
	}
	for _, dir := range p.Private {
		at, err := os.Stat(dir)
		if err == nil &&
			(herr != nil || !os.SameFile(at, home)) &&
			below(real, at) {
			return empty("no tool reads it: it is in " + dir)
		}
	}
	if uid := owner.Other(fi, p.Sudo); uid != "" {
		return empty("it belongs to " + owner.Name(uid))
	}
	if fi.Mode().Perm()&0o002 != 0 && runtime.GOOS != "windows" {
		return empty("every user can write in it")
	}
	return Seen{Dir: real}
}

// below reports whether a path is a directory or below it. Directories are compared, and not
// their names: some file systems have several for one.
func below(path string, dir os.FileInfo) bool {
	at, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for {
		fi, err := os.Stat(at)
		if err == nil && os.SameFile(fi, dir) {
			return true
		}
		above := filepath.Dir(at)
		if above == at {
			return false
		}
		at = above
	}
}

// Make makes the directory with the logs of the account, private to its user.
func Make(dir string) error {
	return makePrivate(dir, "making the directory of logs outside of projects")
}

// Empty is the name of the empty directory below the one of the account.
const Empty = "empty"

// EmptyDir makes the empty directory below the one of the account, and returns its path. It is
// an error if it has an entry.
func EmptyDir(dir string) (string, error) {
	const doing = "making an empty directory"
	at := filepath.Join(dir, Empty)
	if err := makePrivate(at, doing); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return "", diag.New(diag.FileSystemError, "%s: %w", doing, err)
	}
	if len(entries) > 0 {
		return "", diag.New(diag.FileSystemError, "%s: %s has the entry %q; remove it", doing, at, entries[0].Name())
	}
	return at, nil
}

func makePrivate(dir, doing string) error {
	if err := atomicfile.Private(dir).MkdirAll("."); err != nil {
		return diag.Doing(doing, err)
	}
	fi, err := os.Lstat(dir)
	switch {
	case err != nil:
		return diag.New(diag.FileSystemError, "%s: %w", doing, err)
	case runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0:
		return diag.New(diag.FileSystemError, "%s: other users can reach %s (mode %04o)", doing, dir, fi.Mode().Perm()).
			WithReason("account_mode").
			WithDetail("path", dir)
	}
	return nil
}

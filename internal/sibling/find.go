package sibling

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/owner"
	"github.com/ryeos/rye/internal/proc"
)

// Search is where a program is searched.
type Search struct {
	Self    string   // the path of the program that runs
	Environ []string // its environment, of which PATH and SUDO_UID are read
	Dirs    []string // of projects, which never have the program
}

// Find returns the path of a program, "" if it is not installed: in the directory of this program,
// with links resolved, then in the absolute directories of PATH. The first file with the name
// decides. It is an error if another user can change it, or if it is not executable: a later one
// would be a different program than the one that was installed.
func Find(name string, s Search) (string, error) {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	sudo, _ := proc.Lookup(s.Environ, "SUDO_UID")
	for _, dir := range s.directories() {
		path := filepath.Join(dir, name)
		fi, err := os.Stat(path)
		if err != nil || fi.IsDir() {
			continue
		}
		if err := owner.Private(path, sudo); err != nil {
			return "", diag.New(diag.ConfigError, "looking for %s: %w", name, err).
				WithReason("server_owner").
				WithDetail("path", path)
		}
		if runtime.GOOS != "windows" && fi.Mode().Perm()&0o111 == 0 {
			return "", diag.New(diag.ConfigError, "looking for %s: %s is not executable", name, path).
				WithReason("server_mode").
				WithDetail("path", path)
		}
		return path, nil
	}
	return "", nil
}

// directories returns the directories that may have the program.
func (s Search) directories() []string {
	var out []string
	if self := Resolved(s.Self); self != "" {
		out = append(out, filepath.Dir(self))
	}
	list, _ := proc.Lookup(proc.Own(s.Environ, s.Dirs...), "PATH")
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// Resolved returns the path of a program without links, "" if it is not known. A link to rye in a
// directory of PATH must not decide which rye-server is used.
func Resolved(self string) string {
	if self == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		return real
	}
	return self
}

// Missing returns the error about a command whose program is not installed. command is as typed,
// such as rye registry serve.
func Missing(command string, rye Program) error {
	return diag.New(diag.MissingDependency, "%s is part of rye-server, which is not installed next to %s or in PATH", command, rye.Path).
		WithReason("no_server").
		WithDetail("rye", rye.Path).
		WithDetail("version", rye.Build.Version)
}

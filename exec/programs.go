package exec

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ryeos/rye/internal/proc"
)

// finder finds interpreters. The tests replace what it asks of the system.
type finder struct {
	goos   string
	look   func(name string, env []string) (string, error)
	isFile func(path string) bool
}

// findProgram returns the path of an interpreter in the PATH of env.
func findProgram(name string, env []string) (string, error) {
	return finder{runtime.GOOS, proc.LookPath, isFile}.find(name, env)
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// find is proc.LookPath with what is different on Windows. There, python.org installs
// python.exe and py.exe and no python3.exe; the directory WindowsApps has programs of
// these names that only open a shop; and the bash of System32 belongs to the Linux
// subsystem, which does not know the paths of rye. Git for Windows has a bash that does,
// usually not in PATH.
func (f finder) find(name string, env []string) (string, error) {
	if f.goos != "windows" {
		return f.look(name, env)
	}
	names := []string{name}
	avoid := ""
	switch strings.TrimSuffix(strings.ToLower(name), "3") {
	case "python":
		names = []string{name, "python", "py"}
		avoid = `\microsoft\windowsapps`
	case "bash":
		avoid = `\system32`
	}
	filtered := withoutDirectories(env, avoid)
	for _, n := range names {
		if path, err := f.look(n, filtered); err == nil {
			return path, nil
		}
	}
	if strings.EqualFold(name, "bash") {
		if path := f.gitBash(env); path != "" {
			return path, nil
		}
		return f.look(name, filtered)
	}
	return f.look(name, env)
}

// gitBash returns the bash of the Git for Windows in PATH, "" without one. Its git.exe is
// in cmd, bin or mingw64\bin of the directory that has bin\bash.exe.
func (f finder) gitBash(env []string) string {
	git, err := f.look("git", env)
	if err != nil {
		return ""
	}
	at := strings.LastIndexAny(git, `\/`)
	for range 2 {
		if at < 0 {
			return ""
		}
		git = git[:at]
		if at = strings.LastIndexAny(git, `\/`); at < 0 {
			return ""
		}
		if path := git[:at] + `\bin\bash.exe`; f.isFile(path) {
			return path
		}
	}
	return ""
}

// withoutDirectories returns env without the directories of its PATH that end in suffix,
// in any case.
func withoutDirectories(env []string, suffix string) []string {
	list, ok := proc.Lookup(env, "PATH")
	if !ok || suffix == "" {
		return env
	}
	var keep []string
	for _, dir := range filepath.SplitList(list) {
		if !strings.HasSuffix(strings.TrimRight(strings.ToLower(dir), `\`), suffix) {
			keep = append(keep, dir)
		}
	}
	return proc.Merge(env, []string{"PATH=" + strings.Join(keep, string(filepath.ListSeparator))})
}

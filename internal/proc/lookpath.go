package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
)

// LookPath returns the path of the program name in the PATH of env, not of this process. It
// skips empty and relative directories, which would mean the
// current directory. It returns a name with a separator unchanged.
func LookPath(name string, env []string) (string, error) {
	if name == "" {
		return "", diag.New(diag.ExecutionFailed, "looking up program: the name is empty").WithDetail("return_code", 127)
	}
	if strings.ContainsAny(name, separators) {
		return name, nil
	}
	path, ok := Lookup(env, "PATH")
	if !ok {
		return "", diag.New(diag.ExecutionFailed, "starting program: command not found: %q (the environment of this run has no PATH)", name).
			WithDetail("return_code", 127).WithDetail("command", name)
	}
	refused := ""
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, ext := range extensions(name, env) {
			file := filepath.Join(dir, name+ext)
			switch err := executable(file); {
			case err == nil:
				return file, nil
			case errors.Is(err, fs.ErrPermission) && refused == "":
				refused = file
			}
		}
	}
	if refused != "" {
		return "", notExecutable(refused)
	}
	return "", missing(name)
}

// executable returns nil for a program, fs.ErrPermission for a file without execute
// bits, or the error of a missing file.
func executable(file string) error {
	fi, err := os.Stat(file)
	if err != nil {
		return err
	}
	if fi.IsDir() {
		return fs.ErrNotExist
	}
	return allowed(fi)
}

func missing(name string) *diag.Error {
	return diag.New(diag.ExecutionFailed, "starting program: command not found: %q", name).
		WithDetail("return_code", 127).WithDetail("command", name).WithReason("not_found")
}

func notExecutable(file string) *diag.Error {
	return diag.New(diag.ExecutionFailed, "starting program: %q is not executable", file).
		WithDetail("return_code", 126).WithDetail("command", file).WithReason("not_executable")
}

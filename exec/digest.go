package exec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/item"
)

// DigestProgram returns the digest that consent to a program records. It covers
// the file, the files next to it that set the library of a Python (pyvenv.cfg,
// *._pth), and the files that the Python of a virtual environment runs at every
// start (*.pth, sitecustomize, usercustomize). If one of them changes, the same
// program runs other code.
func DigestProgram(program string) (item.Digest, error) {
	d, err := DigestFile(program)
	if err != nil {
		return d, err
	}
	related, err := startupFiles(program)
	if err != nil {
		return d, err
	}
	text := ""
	for _, name := range related {
		b, err := DigestFile(name)
		switch {
		case err == nil:
			text += filepath.Base(name) + " " + b.String() + "\n"
		case !errors.Is(err, fs.ErrNotExist):
			return d, err
		}
	}
	if text == "" {
		return d, nil
	}
	return item.DigestOf([]byte("program " + d.String() + "\n" + text)), nil
}

// startupFiles returns the paths of the files, existing or not, that decide
// together with a program which code it runs.
func startupFiles(program string) ([]string, error) {
	dir := filepath.Dir(program)
	home := filepath.Dir(dir)
	names := []string{filepath.Join(dir, "pyvenv.cfg"), filepath.Join(home, "pyvenv.cfg")}
	_, err := os.Lstat(names[1])
	venv := err == nil
	if names, err = appendNamed(names, dir, func(name string) bool { return strings.HasSuffix(name, "._pth") }); err != nil ||
		!venv {
		return names, err
	}
	for _, dir := range sitePackages(home) {
		names, err = appendNamed(names, dir, startup)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return names, err
		}
	}
	return names, nil
}

// sitePackages returns the possible package directories of a virtual environment.
func sitePackages(home string) []string {
	dirs := []string{filepath.Join(home, "Lib", "site-packages")}
	for _, lib := range []string{"lib", "lib64"} {
		versions, _ := os.ReadDir(filepath.Join(home, lib)) // a directory that cannot be read is unreadable for Python too
		for _, v := range versions {
			if strings.HasPrefix(v.Name(), "python") || strings.HasPrefix(v.Name(), "pypy") {
				dirs = append(dirs, filepath.Join(home, lib, v.Name(), "site-packages"))
			}
		}
	}
	return dirs
}

// startup reports whether Python runs a file of site-packages at every start.
func startup(name string) bool {
	return strings.HasSuffix(name, ".pth") ||
		strings.HasPrefix(name, "sitecustomize.") ||
		strings.HasPrefix(name, "usercustomize.")
}

// appendNamed appends the files of a directory whose lower-case name want
// accepts. For a package that is the file that an import runs.
func appendNamed(names []string, dir string, want func(lower string) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return names, err
	}
	for _, e := range entries {
		switch lower := strings.ToLower(e.Name()); {
		case want(lower):
			names = append(names, filepath.Join(dir, e.Name()))
		case want(lower + "."): // a directory or a link to one
			names = append(names, filepath.Join(dir, e.Name(), "__init__.py"))
		}
	}
	return names, nil
}

package exec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/item"
)

// DigestProgram returns what consent to a program remembers: the digest of the
// file, joined with that of the files beside it that tell a Python where its
// library lies (pyvenv.cfg, *._pth) and of what the Python of a virtual
// environment runs from there on its own at every start (*.pth, sitecustomize,
// usercustomize), when there are any. With another one the same program would
// run other code.
func DigestProgram(program string) (item.Digest, error) {
	d, err := DigestFile(program)
	if err != nil {
		return d, err
	}
	beside, err := besideProgram(program)
	if err != nil {
		return d, err
	}
	text := ""
	for _, name := range beside {
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

// besideProgram names the files that decide, besides a program, what it runs.
func besideProgram(program string) ([]string, error) {
	dir := filepath.Dir(program)
	home := filepath.Dir(dir)
	names := []string{filepath.Join(dir, "pyvenv.cfg"), filepath.Join(home, "pyvenv.cfg")}
	_, err := os.Lstat(names[1])
	venv := err == nil
	if names, err = appendNamed(names, dir, func(name string) bool { return strings.HasSuffix(name, "._pth") }); err != nil || !venv {
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

// sitePackages returns where a virtual environment may hold its packages.
func sitePackages(home string) []string {
	dirs := []string{filepath.Join(home, "Lib", "site-packages")}
	for _, lib := range []string{"lib", "lib64"} {
		versions, _ := os.ReadDir(filepath.Join(home, lib)) // what cannot be read, Python cannot either
		for _, v := range versions {
			if strings.HasPrefix(v.Name(), "python") || strings.HasPrefix(v.Name(), "pypy") {
				dirs = append(dirs, filepath.Join(home, lib, v.Name(), "site-packages"))
			}
		}
	}
	return dirs
}

// startup reports whether Python runs a file of site-packages unasked.
func startup(name string) bool {
	return strings.HasSuffix(name, ".pth") || strings.HasPrefix(name, "sitecustomize.") || strings.HasPrefix(name, "usercustomize.")
}

// appendNamed appends the files of a folder with such a name, compared without
// regard to case; a package counts by what runs when it is imported.
func appendNamed(names []string, dir string, want func(lower string) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return names, err
	}
	for _, e := range entries {
		switch lower := strings.ToLower(e.Name()); {
		case want(lower):
			names = append(names, filepath.Join(dir, e.Name()))
		case want(lower + "."): // a folder, or a link to one
			names = append(names, filepath.Join(dir, e.Name(), "__init__.py"))
		}
	}
	return names, nil
}

package exec

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/proc"
)

// The interpreters of Windows, by their paths there.
func TestFindProgramOnWindows(t *testing.T) {
	t.Parallel()
	const (
		system  = `C:\Windows\System32`
		store   = `C:\Users\ada\AppData\Local\Microsoft\WindowsApps`
		python  = `C:\Python314`
		program = `C:\Program Files\Git\cmd`
	)
	for _, c := range []struct {
		name, goos string
		path       []string
		files      []string
		want       string // "" is an error
	}{
		{"python3", "windows", []string{python}, []string{python + `\python3.exe`, python + `\python.exe`}, python + `\python3.exe`},
		{"python3", "windows", []string{python}, []string{python + `\python.exe`, python + `\py.exe`}, python + `\python.exe`},
		{"python3", "windows", []string{python}, []string{python + `\py.exe`}, python + `\py.exe`},
		{"python3", "windows", []string{store, python}, []string{store + `\python3.exe`, python + `\python.exe`}, python + `\python.exe`},
		{"python3", "windows", []string{store}, []string{store + `\python3.exe`}, store + `\python3.exe`},
		{"python3", "linux", []string{python}, []string{python + `\python.exe`}, ""},
		{"bash", "windows", []string{system, program}, []string{system + `\bash.exe`, program + `\git.exe`, `C:\Program Files\Git\bin\bash.exe`}, `C:\Program Files\Git\bin\bash.exe`},
		{"bash", "windows", []string{`D:\git\mingw64\bin`}, []string{`D:\git\mingw64\bin\git.exe`, `D:\git\bin\bash.exe`}, `D:\git\bin\bash.exe`},
		{"bash", "windows", []string{`D:\bin`, program}, []string{`D:\bin\bash.exe`, program + `\git.exe`}, `D:\bin\bash.exe`},
		{"bash", "windows", []string{strings.ToUpper(system) + `\`}, []string{strings.ToUpper(system) + `\\bash.exe`}, ""},
		{"bash", "windows", []string{program}, []string{program + `\git.exe`}, ""},
		{"node", "windows", []string{system}, []string{system + `\node.exe`}, system + `\node.exe`},
	} {
		f := finder{goos: c.goos,
			isFile: func(p string) bool { return slices.Contains(c.files, p) },
			look: func(name string, env []string) (string, error) {
				list, _ := proc.Lookup(env, "PATH")
				for dir := range strings.SplitSeq(list, string(filepath.ListSeparator)) {
					if p := dir + `\` + name + ".exe"; slices.Contains(c.files, p) {
						return p, nil
					}
				}
				return "", errors.New("not found")
			}}
		// The drive's colon would separate directories elsewhere.
		if os.PathListSeparator == ':' {
			for _, list := range [][]string{c.path, c.files} {
				for i := range list {
					list[i] = strings.ReplaceAll(list[i], ":", "")
				}
			}
			c.want = strings.ReplaceAll(c.want, ":", "")
		}
		got, err := f.find(c.name, []string{"PATH=" + strings.Join(c.path, string(filepath.ListSeparator))})
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s on %s in %q: %q, %v, want %q", c.name, c.goos, c.path, got, err, c.want)
		}
	}
}

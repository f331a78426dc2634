package env

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// initLines are the lines that init adds to files of git, if they are missing.
func initLines() map[string][]string {
	return map[string][]string{
		".gitattributes": {space.Dir + "/** -text", "rye.yaml -text", "*.lock -text", "*.sum -text", "rye.sum merge=union"},
		".gitignore":     {space.Dir + "/threads/", space.Dir + "/cache/", space.Dir + "/knowledge/threads/", space.Dir + "/knowledge/graphs/"},
	}
}

// InitProject creates what is missing in a directory, for a project with a name, and
// returns the names of what it made.
func InitProject(dir, name string) ([]string, error) {
	fail := func(err error) ([]string, error) {
		return nil, diag.Doing("making a project", err)
	}
	fi, err := os.Stat(dir)
	if err == nil && !fi.IsDir() {
		return fail(diag.New(diag.FileSystemError, "%s is a file, and not a directory", dir))
	}
	text := []byte(newManifest(name))
	if _, fs := lock.ParseProjectFile(text); diag.Failed(fs) {
		return fail(diag.FromFindings("writing rye.yaml", fs))
	}
	base := atomicfile.Project(dir)
	var made []string
	for _, k := range []string{"directives", "tools", "knowledge", "config"} {
		p := space.Dir + "/" + k
		_, missing := base.Stat(p)
		if err := base.MkdirAll(p); err != nil {
			return fail(err)
		}
		if missing != nil {
			made = append(made, p)
		}
	}
	switch err := base.Create("rye.yaml", text, 0o644); {
	case err == nil:
		made = append(made, "rye.yaml")
	case !errors.Is(err, fs.ErrExist):
		return fail(err)
	}
	for _, name := range []string{".gitattributes", ".gitignore"} {
		changed, err := deps.AddLines(dir, name, initLines()[name])
		if err != nil {
			return fail(err)
		}
		if changed {
			made = append(made, name)
		}
	}
	return made, nil
}

func newManifest(name string) string {
	name = strings.Map(func(r rune) rune {
		if item.CheckID(string(r)) == nil || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, name)
	return "rye: 1\nname: " + yamlx.Scalar(name, 0) + "\n"
}

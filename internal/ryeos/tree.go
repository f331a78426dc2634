package ryeos

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/yamlx"
)

// Limits of a project that is read.
const (
	MaxFiles = 50_000
	MaxFile  = 16 << 20
)

// File is a file of the original that is copied.
type File struct {
	Rel        string // below .ai
	Bytes      []byte
	Executable bool
}

// Left is a directory or a file that is left out.
type Left struct {
	Path   string `json:"path"` // below the project
	Reason Reason `json:"reason"`
	Files  int    `json:"files"`
	Detail string `json:"detail,omitempty"` // of a file that cannot be read: why; of a server: the command that adds it
}

// Finding returns the advice to a person about it.
func (l Left) Finding() diag.Finding {
	message := map[Reason]string{
		LeftBundle: "a manifest of the original was left out", LeftReader: "extractors or parsers of the original were left out",
		LeftLibrary: "a part of the original's standard library was left out", LeftServer: "an MCP server of the original was left out",
		LeftLink: "it was left out: " + l.Detail, LeftUnknown: "it was left out: the original has no such directory",
	}[l.Reason]
	f := diag.Warnf(diag.Legacy, 0, 0, "%s", message)
	f.Path = l.Path
	return f.WithReason(string(l.Reason), "command", l.Detail)
}

// Read reads the directory .ai of a project of the original. It follows no link. Each
// file is passed to copy; the omitted ones are returned, in the order of the paths.
func Read(project string, copy func(File) error) ([]Left, error) {
	d, err := openat.Open(filepath.Join(project, ".ai"))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	l := &leaver{at: map[string]int{}}
	count := 0
	err = d.Walk(".", func(rel string, e openat.Entry) error {
		if e.Err == nil && e.Type.IsDir() || incidental(rel) {
			return nil
		}
		if count++; count > MaxFiles {
			return diag.New(diag.TooLarge, "reading %s: it has more than %d files", project, MaxFiles)
		}
		if group, why := leftOut(rel); why != "" {
			l.add(group, why, "")
			return nil
		}
		if e.Err != nil {
			l.add(rel, LeftLink, e.Err.Error())
			return nil
		}
		b, info, err := d.Read(rel, MaxFile)
		if err != nil {
			l.add(rel, LeftLink, err.Error())
			return nil
		}
		if group := server(rel, b); group != "" {
			l.server(group, rel, b)
			return nil
		}
		return copy(File{rel, b, info.Mode&0o100 != 0})
	})
	return l.list, err
}

// leaver collects the omitted files.
type leaver struct {
	list []Left
	at   map[string]int
}

func (l *leaver) add(group string, why Reason, detail string) {
	group = ".ai/" + group
	i, known := l.at[group]
	if !known {
		i = len(l.list)
		l.at[group] = i
		l.list = append(l.list, Left{Path: group, Reason: why, Detail: detail})
	}
	l.list[i].Files++
}

// server adds a file of an MCP server. The item of the server has the command; its tools
// come back when the server is added.
func (l *leaver) server(group, rel string, b []byte) {
	if group != rel {
		l.add(group, LeftRuns, "")
		return
	}
	l.add(group, LeftServer, addCommand(
		strings.TrimSuffix(filepath.Base(rel), filepath.Ext(rel)),
		b,
	))
}

// addCommand returns the command that adds an MCP server of the original.
func addCommand(name string, b []byte) string {
	out := "rye mcp add " + Quote(name)
	doc, _ := yamlx.Parse(b)
	if doc == nil {
		return out + " …"
	}
	config, _ := doc.Root["config"].(map[string]any)
	if url, _ := config["url"].(string); url != "" {
		return out + " --url " + Quote(url)
	}
	command, _ := config["command"].(string)
	if command == "" {
		return out + " …"
	}
	out += " -- " + Quote(command)
	args, _ := config["args"].([]any)
	for _, a := range args {
		switch a := a.(type) {
		case string:
			out += " " + Quote(a)
		case int64:
			out += " " + strconv.FormatInt(a, 10)
		}
	}
	return out
}

// Quote returns a word as a POSIX shell reads it.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' ||
			r >= 'A' && r <= 'Z' ||
			r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:=@%+,", r)
	}
	if word != "" &&
		strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Has reports whether a directory has items of a project. It returns an error if the
// directory cannot be read.
func Has(project string) (bool, error) {
	d, err := openat.Open(filepath.Join(project, ".ai"))
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return false, err
		}
		return false, nil
	}
	defer d.Close()
	found := false
	err = d.Walk(".", func(rel string, e openat.Entry) error {
		found = true
		return fs.SkipAll
	})
	return found, err
}

// Package writediff shows what a call of the tool rye/file-system/write changes, before it runs.
//
// It writes nothing, decides nothing, and follows no link: a file that it cannot read is named.
package writediff

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/internal/openat"
)

// tool is the item whose parameters Lines knows.
const tool = "tool:rye/file-system/write"

// maxFile is the size of the largest file that is compared, in bytes, and maxLines the number
// of lines that are shown of all files.
const (
	maxFile  = 1 << 20
	maxLines = 1000
)

// Lines returns the differences of a call in the unified format, nil for calls of other tools.
// Paths are relative to dir, where the tools work; it can be "".
func Lines(dir string, ref string, params map[string]any) []string {
	if ref != tool || dir == "" {
		return nil
	}
	files, _ := params["files"].([]any)
	if files == nil {
		files = []any{params}
	}
	var out []string
	for _, f := range files {
		one, _ := f.(map[string]any)
		path, _ := one["file_path"].(string)
		content, _ := one["content"].(string)
		if path != "" {
			out = append(out, ofFile(dir, path, []byte(content))...)
		}
	}
	if more := len(out) - maxLines; more > 0 {
		out = append(out[:maxLines], fmt.Sprintf("… %d more lines", more))
	}
	return out
}

// ofFile returns the difference of one file.
func ofFile(dir, path string, content []byte) []string {
	rel := path
	if filepath.IsAbs(path) {
		var err error
		if rel, err = filepath.Rel(dir, path); err != nil {
			return []string{path + ": it is outside of " + dir}
		}
	}
	rel = filepath.ToSlash(filepath.Clean(rel))
	if err := openat.CheckRel(rel); err != nil {
		return []string{path + ": it is outside of " + dir}
	}
	old, _, err := openat.Read(dir, rel, maxFile)
	before := rel
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = "/dev/null"
	case err != nil:
		return []string{fmt.Sprintf("%s: the present content cannot be shown: %v", rel, err)}
	}
	if !isText(old) || !isText(content) {
		return []string{fmt.Sprintf("%s: %d bytes that are not text become %d bytes", rel, len(old), len(content))}
	}
	diff := linediff.Unified(before, rel, old, content)
	if diff == "" {
		return []string{rel + ": nothing changes"}
	}
	return strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

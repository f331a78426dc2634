// Package writediff shows how a call of the applets write and edit_lines changes files, before it
// runs.
//
// It computes the change by the code of the tool itself, writes nothing and decides nothing.
package writediff

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/internal/applet/fs"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/policy"
)

// maxFile is the size of the largest content that is compared, in bytes, and maxLines the number
// of lines that are shown of all files.
const (
	maxFile  = 1 << 20
	maxLines = 1000
)

// Lines returns the differences of a call in the unified format, nil without a change. Paths are
// relative to dir, where the tools work; it can be "". Each element is one line that steers no
// terminal: models write the content and the names of files.
func Lines(dir string, c *policy.FileChange) []string {
	if c == nil || dir == "" {
		return nil
	}
	p := wire.Params{Dir: dir, Getenv: func(string) string { return "" }}
	changes, err := fs.Preview(p, c.Applet, c.Params)
	if err != nil {
		return visible("the call would fail: " + err.Error())
	}
	var out []string
	for _, c := range changes {
		out = append(out, visible(textOf(c))...)
	}
	if more := len(out) - maxLines; more > 0 {
		out = append(out[:maxLines], fmt.Sprintf("… %d more lines", more))
	}
	return out
}

// textOf returns the difference of one file.
func textOf(c *fs.Change) string {
	name := hidden.Visible(c.Path)
	if max(len(c.Old), len(c.New)) > maxFile {
		return fmt.Sprintf("%s: %d bytes become %d bytes, too many to show", name, len(c.Old), len(c.New))
	}
	if text := c.Diff(); text != "" {
		return text
	}
	return name + ": nothing changes"
}

// tab shows a TAB: code is indented with it, and an escape would hide the code.
const tab = "→   "

// visible returns the lines of a text with its hidden characters shown.
func visible(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = hidden.Visible(strings.ReplaceAll(l, "\t", tab))
	}
	return lines
}

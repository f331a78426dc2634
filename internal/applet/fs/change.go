package fs

import (
	"bytes"
	"fmt"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/linediff"
)

// Change is the change of one file by a call of write or edit_lines.
type Change struct {
	Path     string // below the project, with slashes
	Old, New []byte
	Created  bool // there is no file yet
	Unread   bool // the old file is too large to read
}

func changeOf(e *files.Entry, old, now []byte) *Change {
	return &Change{
		Path:    e.Rel,
		Old:     old,
		New:     now,
		Created: e.Info == nil,
		Unread:  old == nil && e.Info != nil && e.Info.Size() > 0,
	}
}

// Diff returns the change of a text file as a unified diff, "" if the content stays.
func (c *Change) Diff() string {
	rel := hidden.Visible(c.Path) // a name with an end of a line would add a line
	oldName := "a/" + rel
	newName := "b/" + rel
	switch {
	case c.Created:
		oldName = "/dev/null"
	case c.Unread:
		return fmt.Sprintf("%s: the old file was too large to compare\n", rel)
	}
	if bytes.ContainsRune(c.Old, 0) || bytes.ContainsRune(c.New, 0) {
		return fmt.Sprintf("Binary files %s and %s differ\n", oldName, newName)
	}
	return wire.Valid(linediff.Unified(oldName, newName, c.Old, c.New))
}

// Preview returns the changes that a call of write or edit_lines would make now, by the code of the
// applet, and writes nothing. The error is the one that the call would return.
func Preview(p wire.Params, applet string, in map[string]any) ([]*Change, error) {
	if applet == "edit_lines" {
		return previewEdits(p, in)
	}
	contents, _, err := decodeWrite(in)
	if err != nil {
		return nil, err
	}
	b, err := openBatch(p)
	if err != nil {
		return nil, err
	}
	defer b.close()
	if err := b.check(contents); err != nil {
		return nil, err
	}
	var out []*Change
	for i, c := range contents {
		old, err := oldContent(b.entries[i])
		if err != nil {
			return nil, err
		}
		out = append(out, changeOf(b.entries[i], old, []byte(c.data)))
	}
	return out, nil
}

func previewEdits(p wire.Params, in map[string]any) ([]*Change, error) {
	a, e, edits, err := openEdits(p, in)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	old, now, err := edited(e, a, edits)
	if err != nil {
		return nil, err
	}
	return []*Change{changeOf(e, old, now)}, nil
}

package githook

import (
	"bytes"
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// difference is the text that a person has to read before an item is signed whose staged text
// differs from the work tree: git add -p stages such a text, and so does another program
// that writes the index.
//
// Bytes are compared, not names of objects: programs can write .git/objects. No setting and no
// variable is the answer to the question, because a program could set it.
type difference struct {
	from string // what the staged text differs from
	text string // the unified difference, without signature lines
}

// difference returns the difference of a staged item and its file, nil if the texts are
// the same. A file that has the line ends of Windows is the same: git removes them when it
// stages the file.
func (r *run) difference(it *resolve.Item) (*difference, error) {
	staged := bodyOf(it.Bytes, it.Type.Style)
	name := r.path(it.Rel)
	from := "the file"
	label := " (file)"
	folder, rel := r.tree.locate(name)
	before, err := folder.read(rel)
	switch {
	case err != nil: // it does not exist, or is a link
		from = "the last commit, and there is no such file"
		label = " (last commit)"
		if before, err = r.committed(name); err != nil {
			return nil, err
		}
		if before == nil {
			from = "the work tree, which has no such file"
		}
	case r.hiddenEdits(name):
		// The manager has reset the file to the staged text. Show what differs from the last commit.
		from = "the file, whose edits another program has put away"
		label = " (last commit)"
		if before, err = r.committed(name); err != nil {
			return nil, err
		}
	default:
		text := bodyOf(before, it.Type.Style)
		if bytes.Equal(text, staged) ||
			bytes.Equal(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), staged) {
			return nil, nil
		}
	}
	return &difference{from: from, text: linediff.Unified(
		name+label,
		name+" (staged)",
		bodyOf(before, it.Type.Style),
		staged,
	)}, nil
}

// committed returns the text of a staged file in the last commit, nil if it is new.
func (r *run) committed(path string) (text []byte, err error) {
	for _, c := range r.Changes {
		if c.Path == path && c.Old.OID != "" && c.Old.IsFile() {
			err = r.batch.Read(
				[]string{c.Old.OID},
				resolve.MaxItem,
				func(_ int, o gitcmd.Object) { text = o.Data },
			)
		}
	}
	return text, err
}

// bodyOf returns a text without its signature line.
func bodyOf(b []byte, style sign.Style) []byte {
	sp, err := sign.SplitFile(b, style)
	if err != nil {
		return b
	}
	return sp.Body()
}

// confirm asks whether a staged text that differs from its file is to be signed, and
// returns why not, or nil.
func (r *run) confirm(
	ctx context.Context,
	it *resolve.Item,
	d *difference,
	rep *primary.SignReport,
) (*diag.Finding, error) {
	refuse := func(code diag.Code, format string, args ...any) *diag.Finding {
		f := diag.Errorf(code, 0, 0, format, args...).
			WithReason(
				"staged_differs",
				"ref",
				it.Ref.String(),
				"path",
				word(r.path(it.Rel)),
			)
		f.Path = it.Path()
		return &f
	}
	switch {
	case r.Differing:
		rep.Diff = d.text
		return nil, nil
	case r.Ask == nil:
		return refuse(diag.ApprovalRequired, "not signed: the staged text differs from %s", d.from), nil
	}
	yes, err := r.Ask(
		ctx,
		d.text,
		"The staged text of "+it.Ref.String()+" differs from "+d.from+". Sign the staged text?",
	)
	if err != nil || yes {
		return nil, err
	}
	return refuse(diag.ApprovalDenied, "not signed: you did not confirm the staged text"), nil
}

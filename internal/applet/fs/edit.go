package fs

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
)

// maxChanges is the largest number of changes in one call.
const maxChanges = 1000

type editResult struct {
	Success        bool   `json:"success"`
	FilePath       string `json:"file_path"`
	ChangesApplied int    `json:"changes_applied"`
	LinesChanged   int    `json:"lines_changed"`
	Output         string `json:"output"`
}

// edit replaces the lines first to last, inclusive.
type edit struct {
	args        wire.Args
	from, to    string // line ids
	first, last int
	content     string
}

// runEditLines replaces lines named by id. The ids are resolved against the
// current file; nothing is remembered between calls.
func runEditLines(ctx context.Context, p wire.Params, in map[string]any) (any, error) {
	a, e, edits, err := openEdits(p, in)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if err := ctx.Err(); err != nil {
		return nil, wire.Cancelled("editing lines", err)
	}
	old, now, err := edited(e, a, edits)
	if err != nil {
		return nil, err
	}
	changed := 0
	for _, c := range edits {
		changed += max(c.last-c.first+1, len(files.SplitLines(c.content)))
	}
	st, err := stage(e, old, now)
	if err != nil {
		return nil, err
	}
	defer st.drop()
	if err := st.commit(); err != nil {
		return nil, err
	}
	return editResult{true, e.Rel, len(edits), changed, cutLines(st.change().Diff(), maxDiff)}, nil
}

// openEdits decodes the parameters and finds the file. The caller closes the entry.
func openEdits(p wire.Params, in map[string]any) (wire.Args, *files.Entry, []edit, error) {
	a := wire.NewArgs(in, "file_path", "changes")
	name := a.Required("file_path")
	edits := decodeEdits(a)
	if err := a.Err(); err != nil {
		return a, nil, nil, err
	}
	e, err := find(p, name)
	return a, e, edits, err
}

// edited returns the present content of a file and the content after the edits, whose lines it
// sets.
func edited(
	e *files.Entry,
	a wire.Args,
	edits []edit,
) (old, now []byte, err error) {
	if err := checkWritable(e); err != nil {
		return nil, nil, err
	}
	if old, err = e.Read(); err != nil {
		return nil, nil, err
	}
	t, err := files.ParseText(e.Given, old)
	if err != nil {
		return nil, nil, err
	}
	if err := locate(a, edits, t.Lines); err != nil {
		return nil, nil, err
	}
	return old, apply(t, edits).Bytes(), nil
}

func decodeEdits(a wire.Args) []edit {
	changes := a.Objects("changes", "line_id", "start_line_id", "end_line_id", "new_content")
	if !a.Has("changes") {
		a.Reject("changes", "is required")
	} else if len(changes) == 0 || len(changes) > maxChanges {
		a.Reject("changes", "must list 1 to %d changes", maxChanges)
	}
	edits := make([]edit, 0, len(changes))
	for _, c := range changes {
		e := edit{args: c, content: c.Text("new_content")}
		if strings.ContainsRune(e.content, 0) {
			c.Reject("new_content", "must not contain a NUL character")
		}
		if c.Has("line_id") {
			e.from = c.Required("line_id")
			e.to = e.from
			if c.Has("start_line_id") || c.Has("end_line_id") {
				c.Reject("line_id", "excludes start_line_id and end_line_id")
			}
		} else {
			e.from = c.Required("start_line_id")
			e.to = c.Required("end_line_id")
		}
		edits = append(edits, e)
	}
	return edits
}

// locate sets the lines of each edit and sorts the edits. Unknown ids, reversed
// ranges and overlapping edits are errors.
func locate(a wire.Args, edits []edit, lines []files.Line) error {
	index := indexIDs(lines)
	for i := range edits {
		e := &edits[i]
		if e.args.Has("line_id") {
			e.first = index.find(e.args, "line_id", e.from)
			e.last = e.first
			continue
		}
		before := a.Problems()
		e.first = index.find(e.args, "start_line_id", e.from)
		e.last = index.find(e.args, "end_line_id", e.to)
		if e.last < e.first && a.Problems() == before {
			e.args.Reject("end_line_id", "is line %d, above the start, line %d", e.last+1, e.first+1)
		}
	}
	if a.Problems() == 0 { // the lines of an unknown id are not known
		checkOverlaps(a, edits)
	}
	return a.ErrorOf("editing lines")
}

func checkOverlaps(a wire.Args, edits []edit) {
	slices.SortStableFunc(edits, func(x, y edit) int {
		return x.first - y.first
	})
	furthest := 0 // the index of the edit so far that ends last
	for i := 1; i < len(edits); i++ {
		e := edits[i]
		f := edits[furthest]
		if e.first <= f.last {
			a.Add(diag.Errorf(
				diag.ValidationFailed,
				0,
				0,
				"%s and %s overlap at line %d",
				f.args.Self(),
				e.args.Self(),
				e.first+1,
			))
		}
		if edits[i].last > edits[furthest].last {
			furthest = i
		}
	}
}

// apply returns the text with sorted, separate edits applied. New lines take
// the ending of the line that they replace. A file without a final newline
// stays one, unless its last line is now empty.
func apply(t files.Text, edits []edit) files.Text {
	out := files.Text{Prefix: t.Prefix, Encoding: t.Encoding}
	next := 0
	for _, e := range edits {
		out.Lines = append(out.Lines, t.Lines[next:e.first]...)
		end := t.Lines[e.first].End
		if end == "" {
			end = t.Ending()
		}
		for _, l := range files.SplitLines(e.content) {
			out.Lines = append(out.Lines, files.Line{Text: l.Text, End: end})
		}
		next = e.last + 1
	}
	out.Lines = append(out.Lines, t.Lines[next:]...)
	n := len(out.Lines)
	if n > 0 &&
		out.Lines[n-1].Text != "" &&
		t.Lines[len(t.Lines)-1].End == "" {
		out.Lines[n-1].End = ""
	}
	return out
}

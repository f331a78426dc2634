package applet

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
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

// edit replaces the lines first..last by new ones.
type edit struct {
	key         string // "changes[0]", for messages
	from, to    string // line ids
	first, last int
	content     string
}

// runEditLines replaces lines named by id. The ids are resolved against the
// file as it is now; nothing is remembered between calls.
func runEditLines(ctx context.Context, p Params, in map[string]any) (any, error) {
	a := newArgs(in, "file_path", "changes")
	name := a.need("file_path")
	changes := a.objects("changes", "line_id", "start_line_id", "end_line_id", "new_content")
	edits := editParams(a, changes)
	if err := a.err(); err != nil {
		return nil, err
	}
	pr, err := openProject(p)
	if err != nil {
		return nil, err
	}
	defer pr.close()
	s, err := pr.find(name)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := ctx.Err(); err != nil {
		return nil, cancelled("editing lines", err)
	}
	return s.edit(a, changes, edits)
}

func editParams(a args, changes []args) []edit {
	if !a.has("changes") {
		a.bad("changes", "is required")
	} else if len(changes) == 0 || len(changes) > maxChanges {
		a.bad("changes", "must list 1 to %d changes", maxChanges)
	}
	edits := make([]edit, 0, len(changes))
	for _, c := range changes {
		e := edit{key: strings.TrimSuffix(c.prefix, "."), content: c.text("new_content")}
		if strings.ContainsRune(e.content, 0) {
			c.bad("new_content", "must not hold a NUL character")
		}
		if c.has("line_id") {
			e.from = c.need("line_id")
			e.to = e.from
			if c.has("start_line_id") || c.has("end_line_id") {
				c.bad("line_id", "cannot stand beside start_line_id and end_line_id")
			}
		} else {
			e.from, e.to = c.need("start_line_id"), c.need("end_line_id")
		}
		edits = append(edits, e)
	}
	return edits
}

func (s *spot) edit(a args, changes []args, edits []edit) (any, error) {
	if err := s.checkWritable(); err != nil {
		return nil, err
	}
	old, err := s.read()
	if err != nil {
		return nil, err
	}
	t, err := parseText(s.given, old)
	if err != nil {
		return nil, err
	}
	if err := locate(a, changes, edits, t.lines); err != nil {
		return nil, err.WithHint("read %q again: ids name lines of the file as it is now", s.given)
	}
	changed := 0
	for _, e := range edits {
		changed += max(e.last-e.first+1, len(splitLines(e.content)))
	}
	st, err := s.stage(old, t.apply(edits).bytes())
	if err != nil {
		return nil, err
	}
	defer st.drop()
	if err := st.commit(); err != nil {
		return nil, err
	}
	return editResult{true, s.rel, len(edits), changed, cutLines(st.diff(), maxDiff)}, nil
}

// locate fills in where each edit goes, sorts them, and refuses ids that the
// file does not hold, ranges that run backwards and edits that overlap.
func locate(a args, changes []args, edits []edit, lines []line) *diag.Error {
	x := indexIDs(lines)
	for i, c := range changes {
		e := &edits[i]
		if c.has("line_id") {
			e.first = x.find(c, "line_id", e.from)
			e.last = e.first
			continue
		}
		before := len(*a.findings)
		e.first, e.last = x.find(c, "start_line_id", e.from), x.find(c, "end_line_id", e.to)
		if e.last < e.first && len(*a.findings) == before {
			c.bad("end_line_id", "names line %d, above the start, line %d", e.last+1, e.first+1)
		}
	}
	if len(*a.findings) == 0 {
		refuseOverlaps(a, edits)
	}
	if len(*a.findings) > 0 {
		return diag.FromFindings("editing lines", *a.findings).(*diag.Error)
	}
	return nil
}

func refuseOverlaps(a args, edits []edit) {
	slices.SortStableFunc(edits, func(x, y edit) int { return x.first - y.first })
	reach := 0 // the edit so far that ends last
	for i := 1; i < len(edits); i++ {
		if e, r := edits[i], edits[reach]; e.first <= r.last {
			a.add(diag.Errorf(diag.ValidationFailed, 0, 0, "%s and %s overlap at line %d", r.key, e.key, e.first+1))
		}
		if edits[i].last > edits[reach].last {
			reach = i
		}
	}
}

// apply returns the text with sorted, separate edits applied. New lines take
// the ending of the line they replace; a file without a final newline stays
// one, unless its last line is now an empty one.
func (t text) apply(edits []edit) text {
	out := text{prefix: t.prefix, encoding: t.encoding}
	at := 0
	for _, e := range edits {
		out.lines = append(out.lines, t.lines[at:e.first]...)
		end := t.lines[e.first].end
		if end == "" {
			end = t.ending()
		}
		for _, l := range splitLines(e.content) {
			out.lines = append(out.lines, line{l.text, end})
		}
		at = e.last + 1
	}
	out.lines = append(out.lines, t.lines[at:]...)
	n := len(out.lines)
	if n > 0 && out.lines[n-1].text != "" && t.lines[len(t.lines)-1].end == "" {
		out.lines[n-1].end = ""
	}
	return out
}

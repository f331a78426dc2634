package applet

import (
	"context"
	"io/fs"
	"path"
	"slices"

	"github.com/ryeos/rye/diag"
)

// Limits of glob and grep.
const (
	resultLimit    = 100
	maxResultLimit = 10_000
	maxIgnore      = 100
)

type globResult struct {
	Success   bool     `json:"success"`
	Count     int      `json:"count"`
	Total     int      `json:"total"`
	Truncated bool     `json:"truncated"`
	Note      string   `json:"note,omitempty"`
	Files     []string `json:"files"`
}

// runGlob lists the files whose path matches a pattern, sorted by path.
func runGlob(ctx context.Context, p Params, in map[string]any) (any, error) {
	a := newArgs(in, "pattern", "path", "limit", "ignore")
	glob := a.need("pattern")
	start := a.str("path", ".")
	limit := a.integer("limit", resultLimit, 1, maxResultLimit)
	t := tree{pattern: compilePattern(a, "pattern", glob), ignore: ignorePatterns(a)}
	if err := a.err(); err != nil {
		return nil, err
	}
	if err := t.open(p, start); err != nil {
		return nil, err
	}
	defer t.dir.Close()
	files, err := t.matching(ctx, t.base)
	if err != nil {
		return nil, err
	}
	r := globResult{Success: true, Total: len(files), Truncated: t.cut || len(files) > limit, Note: t.note()}
	r.Files = files[:min(limit, len(files))]
	r.Count = len(r.Files)
	return r, nil
}

func ignorePatterns(a args) []pattern {
	var ps []pattern
	globs := a.strings("ignore")
	if len(globs) > maxIgnore {
		a.bad("ignore", "lists %d patterns, more than %d", len(globs), maxIgnore)
		return nil
	}
	for _, g := range globs {
		ps = append(ps, compilePattern(a, "ignore", g))
	}
	return ps
}

// open opens the folder to start from.
func (t *tree) open(p Params, start string) error {
	pr, err := openProject(p)
	if err != nil {
		return err
	}
	defer pr.close()
	s, err := pr.find(start)
	if err != nil {
		return err
	}
	defer s.close()
	return t.openAt(s)
}

func (t *tree) openAt(s *spot) (err error) {
	if s.info != nil && !s.info.IsDir() {
		return diag.New(diag.NotRegular, "listing %q: it is not a folder", s.given)
	}
	t.base = s.rel
	t.dir, err = s.folderHandle()
	return err
}

// matching returns the files below the start, named from the project, sorted.
func (t *tree) matching(ctx context.Context, base string) ([]string, error) {
	files := []string{}
	err := t.files(ctx, func(rel string, d fs.DirEntry) {
		if t.isFile(rel, d) {
			files = append(files, valid(path.Join(base, rel)))
		}
	})
	slices.Sort(files)
	return files, err
}

// note says that the tree was too large to see all of it.
func (t *tree) note() string {
	if !t.cut {
		return ""
	}
	return "only the first 200,000 directory entries were looked at: begin deeper, with path"
}

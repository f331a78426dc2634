package fs

import (
	"context"

	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/glob"
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
func runGlob(ctx context.Context, p wire.Params, in map[string]any) (any, error) {
	a := wire.NewArgs(in, "pattern", "path", "limit", "ignore")
	pattern := a.Required("pattern")
	start := a.String("path", ".")
	limit := a.Int("limit", resultLimit, 1, maxResultLimit)
	t := tree{pattern: compilePattern(a, "pattern", pattern), ignore: ignorePatterns(a)}
	if err := a.Err(); err != nil {
		return nil, err
	}
	defer t.close()
	if err := t.open(p, start); err != nil {
		return nil, err
	}
	found, err := t.matching(ctx, t.base)
	if err != nil {
		return nil, err
	}
	r := globResult{
		Success:   true,
		Total:     len(found),
		Truncated: t.cut || len(found) > limit,
		Note:      t.note(),
	}
	r.Files = found[:min(limit, len(found))]
	r.Count = len(r.Files)
	return r, nil
}

func ignorePatterns(a wire.Args) []glob.Pattern {
	var out []glob.Pattern
	list := a.Strings("ignore")
	if len(list) > maxIgnore {
		a.Reject("ignore", "lists %d patterns, more than %d", len(list), maxIgnore)
		return nil
	}
	for _, s := range list {
		out = append(out, compilePattern(a, "ignore", s))
	}
	return out
}

// compilePattern compiles the pattern in the value of key.
func compilePattern(a wire.Args, key, pattern string) glob.Pattern {
	p, problems := glob.Compile(pattern)
	for _, f := range problems {
		f.Message = key + " " + f.Message
		a.Add(f)
	}
	return p
}

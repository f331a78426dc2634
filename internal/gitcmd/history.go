package gitcmd

import (
	"context"
	"strconv"
	"strings"
)

// History returns the last commits, newest first and at most limit, in which the
// file at a path from the top of the repository differs from the commit before.
func (r *Repo) History(ctx context.Context, path string, limit int) ([]string, error) {
	out, err := r.top().run(
		ctx,
		nil,
		"rev-list",
		"--max-count="+strconv.Itoa(limit),
		"HEAD",
		"--",
		path,
	)
	return strings.Fields(string(out)), err
}

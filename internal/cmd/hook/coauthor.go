package hook

import (
	"context"
	"path/filepath"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/coauthor"
	"github.com/ryeos/rye/internal/project"
)

// warnCoauthor prints the gap in a hook of git. It opens the project only if there may
// be one.
func warnCoauthor(ctx context.Context, c *cli.Call) {
	e := env.Of(c)
	repo, err := e.Repo(ctx)
	if err != nil ||
		repo.WorkTree == "" ||
		!coauthor.Possible(repo.WorkTree, filepath.Join(c.Dir, ".ai", "trust")) {
		return
	}
	h, err := e.Open(ctx, project.Lenient)
	if err != nil || h.Spaces.ProjectDir == "" {
		return // the hook reports what keeps it from working
	}
	if gap := env.CoauthorGap(ctx, c, h); gap != nil {
		c.UI.Note("rye: warning: %s", gap.Text())
		c.UI.Note("rye: hint: %s", gap.Next())
	}
}

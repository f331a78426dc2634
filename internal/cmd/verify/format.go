package verify

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
)

// reportAs ends a command with a report for other programs. err is the error of the
// findings.
func reportAs(
	ctx context.Context,
	c *cli.Call,
	format string,
	h *project.Project,
	fs []diag.Finding,
	err error,
) error {
	prefix := ""
	repo, gitErr := env.Of(c).Repo(ctx)
	if gitErr == nil {
		prefix = h.PrefixIn(repo)
	}
	// The readers of these formats show paths of the repository and do not know
	// the directory that rye works in.
	fromTop := func(p string) (string, bool) {
		file, inRepo := h.ReportedFile(p)
		return prefix + file, inRepo
	}
	if format == "github" {
		c.UI.Annotations(fs, fromTop)
	} else if encErr := c.UI.Sarif(fs, fromTop); encErr != nil {
		return encErr
	}
	if err != nil {
		return cli.Shown(err, nil)
	}
	return nil
}

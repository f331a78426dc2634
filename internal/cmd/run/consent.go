package run

import (
	"context"
	"errors"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/consent"
	"github.com/ryeos/rye/internal/project"
)

// consentToInterpreter asks at a terminal whether an interpreter of the project may
// run, if err is that it needs consent. It returns the interpreter, and whether the
// run can be tried again.
func consentToInterpreter(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	err error,
) (path string, retry bool, _ error) {
	var e *diag.Error
	if !errors.As(err, &e) ||
		e.Code != diag.ConsentRequired ||
		e.Reason != "interpreter" ||
		env.Of(c).InCI() ||
		!c.Isatty(c.Stdin) ||
		c.UI.AsJSON {
		return "", false, nil
	}
	path, _ = e.Details["path"].(string)
	digest, _ := e.Details["found"].(string)
	text := e.Message + `

Your consent covers this program, its pyvenv.cfg, and the files that this Python runs
at every start (*.pth, sitecustomize), with their current bytes. It does not cover the
packages that are installed there: any of them can be changed without a question.
`
	for line := range strings.SplitSeq(text, "\n") {
		c.UI.PrintErr("%s", line)
	}
	yes, err := c.ConfirmWithin(ctx, "Run tools of this project with it?")
	if err != nil || !yes {
		return path, false, err
	}
	return path, true, consent.Record(h.Dirs.State).GiveInterpreter(path, digest)
}

package transfer

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/export"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/status"
)

// copyOptions are the flags of rye export.
type copyOptions struct {
	check   bool
	restore string
}

// runCopies compares or writes the copies of reviewed components.
func runCopies(ctx context.Context, c *cli.Call, o copyOptions) error {
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	params, ok, err := status.Copies(ctx, h)
	if err != nil {
		return err
	}
	if !ok {
		return diag.New(diag.Usage, "exporting: rye.yaml names no clients, for example export: {clients: [claude, codex]}").
			WithReason("export_none")
	}
	if o.check {
		return checkCopies(c, params)
	}
	// two processes would take each other's copies for edited ones
	held, err := atomicfile.Project(params.Base).Lock(ctx, ".ai/cache/export.lock")
	if err != nil {
		return err
	}
	defer held.Release()
	result, err := writeCopies(params, o.restore)
	if err != nil {
		return err
	}
	err = c.UI.Show(result, func() {
		for _, at := range result.Wrote {
			c.UI.Out("wrote %s", at)
		}
		for _, at := range result.Removed {
			c.UI.Out("removed %s", at)
		}
		for _, note := range params.Plan.Notes {
			c.UI.Note("%s", note)
		}
	})
	if err != nil {
		return err
	}
	// the files that a person decides about are the error, after the others were written
	return diag.FromFindings("exporting", result.Kept)
}

func writeCopies(params export.Params, restore string) (*export.Result, error) {
	if restore != "" {
		return export.Restore(params, restore)
	}
	return export.Apply(params)
}

func checkCopies(c *cli.Call, params export.Params) error {
	found, err := export.Findings(params)
	if err != nil {
		return err
	}
	err = diag.FromFindings("checking the copies", found)
	if err != nil {
		return err
	}
	return c.UI.Show(params.Plan, func() {
		c.UI.Note("the copies match the reviewed files")
	})
}

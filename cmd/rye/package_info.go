package main

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/packages"
)

func runInfo(ctx context.Context, c *cli.Call, o *packageOptions) error {
	look := *o
	look.look = true
	x, err := openPackages(ctx, c, &look)
	if err != nil {
		return err
	}
	defer x.Close()
	name, err := envOf(c).FullRegistryID(c.Arg(0))
	if err != nil {
		return err
	}
	in, err := x.Info(ctx, name)
	if err != nil {
		return err
	}
	out := struct {
		*packages.Info
		Release *packages.Inspection `json:"release,omitempty"`
	}{Info: in}
	q, err := packages.ParseQuery(name)
	if err == nil && (in.Locked == "" || q.Version != "") {
		if out.Release, err = x.Inspect(ctx, q); err != nil {
			return err
		}
	}
	x.Close() // removes the progress line
	return c.UI.Show(out, func() {
		showInfo(c.UI, in)
		if out.Release != nil {
			showRelease(c.UI, out.Release)
		}
	})
}

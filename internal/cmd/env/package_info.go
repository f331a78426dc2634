package env

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/packages"
)

func ShowInfo(ctx context.Context, c *cli.Call, o *PackageOptions) error {
	look := *o
	look.Look = true
	x, err := OpenPackages(ctx, c, &look)
	if err != nil {
		return err
	}
	defer x.Close()
	name, err := deps.FullRegistryID(Of(c), c.Arg(0))
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
		view.Info(c.UI, in)
		if out.Release != nil {
			view.Release(c.UI, out.Release)
		}
	})
}

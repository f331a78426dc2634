package self

import (
	"context"
	"io/fs"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/item"
)

// VersionCommand is rye version.
func VersionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Group: "About rye",
		Usage: "print the version of rye",
		Long: `Prints the version, the Go release and the platform of this build, and the digest of
the system bundle, which is the set of items inside the binary.`,
		Examples: []string{"rye version", "rye version --json"},
		Run:      runVersion,
	}
}

func runVersion(_ context.Context, c *cli.Call) error {
	v := c.Program
	v.SystemBundle = SystemBundle(c.Stdlib)
	return c.UI.Show(v, func() {
		c.UI.Out("rye %s (%s, %s/%s)", v.Version, v.Go, v.OS, v.Arch)
		if v.SystemBundle != "" {
			c.UI.Out("system bundle %s", v.SystemBundle)
		}
	})
}

// SystemBundle returns the digest of the embedded manifest, or "" if there is none.
func SystemBundle(stdlib fs.FS) string {
	if stdlib == nil {
		return ""
	}
	b, err := fs.ReadFile(stdlib, bundle.ManifestPath("rye-core"))
	if err != nil {
		return ""
	}
	return item.DigestOf(b).String()
}

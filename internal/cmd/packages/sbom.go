package packages

import (
	"context"
	"fmt"
	"io"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/lock/sbom"
)

// sbomOptions are the flags of rye sbom.
type sbomOptions struct{ serial bool }

func SbomCommand() *cli.Command {
	var o sbomOptions
	return &cli.Command{
		Name:  "sbom",
		Group: env.PackagesGroup,
		Usage: "print a bill of materials of the project",
		Long: `Prints CycloneDX 1.6. Reads only rye.lock: bundles with version, origin, hashes and
signing keys, the system bundle, the members of the workspace, the locked items with
their chains, and all dependencies. Fails if the lock is stale. Signatures and files
are not verified; use rye audit and rye verify for that.

The same lock gives the same bytes. SOURCE_DATE_EPOCH adds a time, --serial adds a
serial number.`,
		Examples: []string{"rye sbom > sbom.cdx.json", "rye sbom --json"},
		Codes:    []diag.Code{diag.LockMissing, diag.LockStale, diag.ParsingError, diag.ItemNotFound},
		Flags:    []cli.Flag{cli.Bool(&o.serial, "serial", "add a random serial number")},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runSBOM(ctx, c, &o)
		},
	}
}

func runSBOM(ctx context.Context, c *cli.Call, o *sbomOptions) error {
	h, err := currentLock(ctx, c)
	if err != nil {
		return err
	}
	sl := h.Lock
	p := sbom.Params{
		Lock:    sl.Lock,
		System:  h.System(),
		Program: c.Program.Version,
		Epoch:   c.Getenv("SOURCE_DATE_EPOCH"),
	}
	if sl.ProjectFile != nil {
		p.Project = sl.ProjectFile.Name()
	}
	if o.serial {
		if p.Serial, err = uuid(c.Rand); err != nil {
			return err
		}
	}
	d, err := sbom.New(p)
	if err != nil {
		return err
	}
	text, err := jsonx.MarshalIndent(d)
	if err != nil {
		return err
	}
	return c.UI.Show(d, func() {
		c.UI.Raw(string(hidden.JSON(text)))
	})
}

// currentLock returns the project, or an error if its lock is missing or stale.
func currentLock(ctx context.Context, c *cli.Call) (*project.Project, error) {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil, err
	}
	if _, err := h.NeedProject(); err != nil {
		return nil, err
	}
	err = diag.Join("reading "+lock.LockFile, h.LockErrs)
	if err != nil {
		return nil, err
	}
	if h.Lock == nil {
		return nil, diag.New(diag.LockMissing, "reading %s: file does not exist", lock.LockFile)
	}
	found, err := h.Lock.Stale()
	if err != nil {
		return nil, err
	}
	return h, diag.FromFindings("checking "+lock.LockFile, found)
}

// uuid returns a random UUID, version 4.
func uuid(random io.Reader) (string, error) {
	var b [16]byte
	_, err := io.ReadFull(random, b[:])
	if err != nil {
		return "", diag.New(diag.FileSystemError, "reading random bytes: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf(
		"%x-%x-%x-%x-%x",
		b[:4],
		b[4:6],
		b[6:8],
		b[8:10],
		b[10:],
	), nil
}

package mcp

import (
	"cmp"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/mcpclient"
)

// maxMCPFile is the maximum size of a file for --from, in bytes.
const maxMCPFile = 1 << 20

// serversOfFile returns the servers of the file that --from names, or only the one
// that the argument names.
func serversOfFile(c *cli.Call, o *mcpAddOptions) ([]*mcpclient.Server, error) {
	file := o.from
	doing := "reading " + file
	if len(c.Args) > 1 || c.Dash == 0 {
		return nil, diag.New(diag.Usage, "%s: a command cannot be used with --from", doing)
	}
	f, err := os.Open(c.Path(file))
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "%s: %w", doing, err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err == nil && fi.Size() > maxMCPFile {
		return nil, diag.New(diag.TooLarge, "%s: the file has more than %d bytes", doing, maxMCPFile)
	}
	b, err := env.ReadBounded(f)
	if err != nil {
		return nil, diag.New(
			cmp.Or(diag.CodeOf(err), diag.FileSystemError),
			"%s: %w",
			doing,
			err,
		)
	}
	found, err := mcpclient.ReadClientFile(file, b, c.Arg(0))
	if err != nil {
		return nil, err
	}
	for _, name := range found.Disabled {
		c.UI.Note("server %s is disabled in %s and left out; to add it: rye mcp add --from %s %s", name, file, file, name)
	}
	o.refused = found.Refused
	for _, s := range found.Servers {
		s.Timeout = o.timeout
	}
	return found.Servers, nil
}

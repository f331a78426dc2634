// Package applet is the table of the native bodies of standard tools. `rye
// applet NAME` runs one of them in a process of its own: one JSON object (the
// parameters) on stdin, one JSON object (the result) on stdout.
//
// It does not decide what may run: the items that name an applet are resolved,
// verified and permitted before this package reads a parameter, and the sandbox
// limits the process. It does not know items, spaces or signatures: files below
// .ai are files, and signing them is another verb.
//
// # Confinement
//
// Every path of a file applet is in the project. Links are resolved one
// component at a time over open directory handles (os.Root), so a link out of
// the project, or one swapped in during the call, is PATH_ESCAPE. No protected
// path is written, and no directory of the user (see policy). Without a project
// the file applets refuse every call.
//
// # Configuration
//
// webfetch, websearch and lsp read their configuration from a file that was
// merged and verified before this process began (see wire.Settings). Web
// requests reach public addresses only, unless the configuration lists others.
//
// # Limits
//
//   - Parameters: 32 MiB of JSON.
//   - A file that is read, edited, written or searched: 10 MiB (grep skips and
//     counts larger ones), and 500,000 lines where line ids are needed.
//   - An image: 20 MiB and 40 megapixels, made smaller to 1,568 pixels at the longer
//     edge. A PDF file or a sound: 10 MiB.
//   - A batch of writes: 1,000 files and 64 MiB.
//   - read: 2,000 lines by default, at most 10,000; 2,000 characters of one
//     line; 256 KiB of text.
//   - A diff in a result: 51,200 bytes.
//   - bash: 51,200 bytes of each stream; 120 s by default, at most 600 s.
//   - glob and grep: 100 results by default, at most 10,000; 200,000 directory
//     entries.
//   - ls: 1,000 entries. One path: 40 links.
package applet

import (
	"context"
	"maps"

	"github.com/ryeos/rye/internal/applet/fs"
	"github.com/ryeos/rye/internal/applet/lsp"
	"github.com/ryeos/rye/internal/applet/prepare"
	"github.com/ryeos/rye/internal/applet/shell"
	"github.com/ryeos/rye/internal/applet/telemetry"
	"github.com/ryeos/rye/internal/applet/web"
	"github.com/ryeos/rye/internal/applet/wire"
)

// Params is the environment of an applet. The zero value works.
type Params = wire.Params

// Table returns a fresh table of every applet by name.
func Table() map[string]wire.Func {
	out := map[string]wire.Func{}
	for _, part := range []map[string]wire.Func{fs.Applets(), lsp.Applets(), prepare.Applets(), shell.Applets(), telemetry.Applets(), web.Applets()} {
		maps.Copy(out, part)
	}
	return out
}

// Run runs the named applet. It returns the exit status of wire.Run.
func Run(ctx context.Context, name string, p Params) int {
	return wire.Run(ctx, Table(), name, p)
}

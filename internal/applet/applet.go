// Package applet holds the native bodies of standard tools: bash, read, write,
// edit_lines, glob, grep, ls, lsp, system, telemetry, webfetch and websearch. `rye applet
// NAME` runs one of them in a process of its own: one JSON object (the
// parameters) on stdin, one JSON object (the result) on stdout.
//
// It is NOT the judge of what may run: the items that name an applet are
// resolved, verified and permitted before this package sees a parameter, and
// the sandbox limits the process. It knows no item, space or signature; files
// under .ai/ are files, and signing them is another verb.
//
// # Confinement
//
// Every path of a file applet lies in the project. Links are resolved one
// component at a time over open directory handles (os.Root), so a link out of
// the project, or one swapped in while the work runs, is PATH_ESCAPE. Nothing
// named .git is ever written to, nor what steers rye: settings, keys, bundles
// and locks (see refuseGuarded).
//
// # Configuration
//
// What webfetch, websearch and lsp decide by is configuration, which was merged
// and verified before this process began (see settings). Web requests reach
// public addresses only, unless it says otherwise.
//
// # Limits
//
// Parameters 32 MiB of JSON; a file read, edited, written or searched 10 MiB
// (grep skips and counts larger ones), and 500,000 lines where ids are needed;
// a batch 1,000 files and 64 MiB together;
// read 2,000 lines unless asked, 10,000 at most, 2,000 characters of one line,
// 256 KiB of text in all; a diff in a result 51,200 bytes; bash 51,200 bytes of
// each stream, 120 s unless asked, 600 s at most; glob and grep 100 results
// unless asked, 10,000 at most, and 200,000 directory entries looked at; ls
// 1,000 entries; 40 links in one path.
//
// # Line ids
//
// See lineIDs: an id is derived from the file alone, needs no cache, survives
// edits elsewhere, and either names the line it named or nothing.
package applet

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
)

// Params is what an applet may see of its surroundings. The zero value works.
type Params struct {
	Stdin   io.Reader           // the parameters as one JSON object; nil means {}
	Stdout  io.Writer           // takes the result; nil discards it
	Stderr  io.Writer           // takes the last line of a command while it runs (proc.LiveMark); nil: nobody watches
	Getenv  func(string) string // nil means an empty environment
	Dir     string              // the project; "" means $RYE_PROJECT, then the current directory
	Now     func() time.Time    // nil means time.Now
	Environ func() []string     // what bash hands on; nil means an empty environment
	Version string              // of rye; "" means what the build recorded
}

// Func is the body of one applet: parameters in, a JSON-able result out.
type Func func(ctx context.Context, p Params, in map[string]any) (any, error)

// Table returns a fresh table of every applet by name.
func Table() map[string]Func {
	return map[string]Func{
		"bash":       runBash,
		"edit_lines": runEditLines,
		"glob":       runGlob,
		"grep":       runGrep,
		"ls":         runLS,
		"lsp":        runLSP,
		"read":       runRead,
		"system":     runSystem,
		"telemetry":  runTelemetry,
		"webfetch":   runWebfetch,
		"websearch":  runWebsearch,
		"write":      runWrite,
	}
}

// Run runs the named applet and writes its result, or its error as
// {"success":false,"error":{…}}, to p.Stdout. It returns the exit status: 0
// when the work succeeded, 1 when it did not, 70 after a bug.
func Run(ctx context.Context, name string, p Params) (exit int) {
	p = p.withDefaults()
	result, err := call(ctx, name, p)
	if err == nil {
		err = writeJSON(p.Stdout, result)
	}
	if err == nil {
		return exitOf(result)
	}
	if writeJSON(p.Stdout, envelope(err)) != nil {
		return 1
	}
	if diag.CodeOf(err) == diag.Internal {
		return 70 // what rye itself exits with after a panic
	}
	return 1
}

// exitOf is 1 for a result that says itself that the work failed.
func exitOf(result any) int {
	if f, ok := result.(interface{ succeeded() bool }); ok && !f.succeeded() {
		return 1
	}
	return 0
}

func call(ctx context.Context, name string, p Params) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, diag.New(diag.Internal, "running applet %q: %v", name, r)
		}
	}()
	f, ok := Table()[name]
	if !ok {
		return nil, unknownApplet(name)
	}
	in, err := readParams(p.Stdin)
	if err != nil {
		return nil, err
	}
	return f(ctx, p, in)
}

func unknownApplet(name string) error {
	names := slices.Sorted(maps.Keys(Table()))
	e := diag.New(diag.ToolNotFound, "running applet: no applet %q", name)
	if n := suggest.Nearest(name, names); n != "" {
		return e.WithHint("did you mean %q?", n)
	}
	return e.WithHint("the applets are %s", strings.Join(names, ", "))
}

func (p Params) withDefaults() Params {
	if p.Stdin == nil {
		p.Stdin = strings.NewReader("{}")
	}
	if p.Stdout == nil {
		p.Stdout = io.Discard
	}
	if p.Getenv == nil {
		p.Getenv = func(string) string { return "" }
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Environ == nil {
		p.Environ = func() []string { return nil }
	}
	return p
}

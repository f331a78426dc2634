package env

import (
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/app"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/writediff"
)

// Of returns the environment of a command. Commands with --key or --locked set
// those fields themselves. External MCP servers that it starts end with the command.
func Of(c *cli.Call) *project.Env {
	e := &project.Env{
		Parts:      app.Parts(),
		Getenv:     c.Getenv,
		Environ:    c.Environ,
		Now:        c.Now,
		Self:       c.Self,
		ThreadArgs: ProcessArgs(c, "thread-process"),
		Stdlib:     c.Stdlib,
		Etc:        c.Etc,
		Cwd:        c.Dir,
		Base:       c.Base,
		Named:      c.Named,
		TrustRoot:  c.TrustRoot,
		Offline:    c.Offline,
		Command:    c.UI.Command,
		Version:    c.Program.Version,
		Build:      build(c.Program),
		Released:   cli.BuildTime(),
		Ladder: sync.OnceValue(func() sandbox.Ladder {
			return sandbox.Probe().AtMost(sandbox.Rung(c.Rung))
		}),
		Applet:     self.AppletHere,
		Changes:    writediff.Lines,
		Servers:    &mcpclient.Pool{},
		Broker:     serveBroker(c),
		ServeTools: serveTools(c),
		Hint:       cli.FindingHint,
		Person: project.Person{
			All:  c.UI.Detailed || c.UI.AsJSON,
			Note: c.UI.Note,
			Warn: c.UI.Warn,
			Finding: func(f diag.Finding) {
				if hint := cli.FindingHint(f); hint != "" {
					f.Message += " (" + hint + ")"
				}
				c.UI.Warn("%s", f)
			},
			Asks: !c.UI.AsJSON && c.Isatty != nil && c.Isatty(c.Stdin) && c.Isatty(c.Stderr),
		},
	}
	e.ThreadLogs = slices.Contains([]string{"threads", "approve", "deny"}, c.UI.Command) ||
		strings.HasPrefix(c.UI.Command, "threads ")
	e.Starter = sandbox.NewStarter(e.Self)
	e.Terminal = terminalName(c)
	if c.Isatty != nil && c.Isatty(c.Stdin) {
		e.Person.Secret = c.AskSecret
	}
	c.OnClose(e.Servers.Close)
	return e
}

// terminalName returns the name of the terminal of this process, such as pts/3, "" if it has none
// or the system does not name it.
func terminalName(c *cli.Call) string {
	if c.Isatty == nil || !c.Isatty(c.Stdin) {
		return ""
	}
	name, err := os.Readlink("/proc/self/fd/0")
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(name, "/dev/")
	if !ok || name == "tty" {
		return ""
	}
	return name
}

package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/mcpclient"
)

// command describes one verb or subcommand: the help text, the completion and
// the check of its arguments all follow from it.
type command struct {
	name  string
	group string // heading in the list of commands
	usage string // one line, lower case, no period
	// args names the positionals: "NAME" is required, "[NAME]" optional, a
	// trailing "…" takes any number. The count is checked before run.
	args     string
	long     string      // paragraphs for --help, wrapped by hand
	examples []string    // "command  # what it does"
	codes    []diag.Code // failures it may end with, besides usage
	flags    []cli.Flag
	subs     []*command // a command has either subs or run
	hidden   bool
	run      func(ctx context.Context, c *call) error
	// complete returns candidates for the next positional, "word\tdescription";
	// nil means file names.
	complete func(ctx context.Context, c *call) []string
}

// sub returns the subcommand with that name.
func (c *command) sub(name string) *command {
	for _, s := range c.subs {
		if s.name == name {
			return s
		}
	}
	return nil
}

// subNames returns the names of the visible subcommands.
func (c *command) subNames() []string {
	var names []string
	for _, s := range c.subs {
		if !s.hidden {
			names = append(names, s.name)
		}
	}
	return names
}

// flag returns the flag with that name or alias.
func (c *command) flag(name string) cli.Flag {
	for _, f := range c.flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// bounds returns how many positionals the command takes; most is -1 for any
// number.
func (c *command) bounds() (least, most int) {
	for _, word := range strings.Fields(c.args) {
		if !strings.HasPrefix(word, "[") {
			least++
		}
		if strings.HasSuffix(strings.TrimSuffix(word, "]"), "…") {
			most = -1
		}
		if most >= 0 {
			most++
		}
	}
	return least, most
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

func repeatable(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationSliceFlag)
	return ok && d.IsSliceFlag() || !takesValue(f)
}

// call is one run of one command.
type call struct {
	*world
	ui   *ui
	cmd  *command
	args []string // positionals
	dash int      // how many of args stood before "--", -1 without one
	dir  string   // absolute: --project, else the working directory

	named string // the project's folder when --project names it, absolute; "" when it is looked for from dir upwards

	surface string // what asks for signatures; "" is the command line

	servers *mcpclient.Pool // external MCP servers in use; they end with the command

	flags *cli.Context
}

func newCall(w *world, u *ui, l *line, flags *cli.Context) (*call, error) {
	c := &call{world: w, ui: u, cmd: l.cmd(), args: l.args, dash: l.dash, dir: w.Dir, servers: &mcpclient.Pool{}, flags: flags}
	if p := c.str("project"); p != "" {
		dir, err := projectDir(w.Dir, p)
		if err != nil {
			return nil, err
		}
		c.dir, c.named = dir, dir
	}
	return c, nil
}

// at returns the same call for another project, as --project DIR would.
func (c *call) at(dir string) *call {
	other := *c
	other.dir, other.named = dir, dir
	return &other
}

// project returns the folder that --project names as an absolute path, "" when
// it is not given: then the project is looked for from dir upwards.
func (c *call) project() string { return c.named }

// path returns a path that a user typed as an absolute one.
func (c *call) path(p string) string { return absolute(c.dir, p) }

func absolute(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

func (c *call) bool(name string) bool              { return c.flags.Bool(name) }
func (c *call) str(name string) string             { return c.flags.String(name) }
func (c *call) strs(name string) []string          { return c.flags.StringSlice(name) }
func (c *call) int(name string) int                { return c.flags.Int(name) }
func (c *call) duration(name string) time.Duration { return c.flags.Duration(name) }
func (c *call) isSet(name string) bool             { return c.flags.IsSet(name) }

// arg returns the i-th positional, "" when there is none.
func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

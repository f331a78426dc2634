package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

// Command describes one verb or subcommand: the help text, the completion and
// the check of its arguments all follow from it.
// In every command, --dry-run shows and changes nothing, and --check fails if something would
// change.
type Command struct {
	Name  string
	Group string // heading in the list of commands
	Usage string // one line, lower case, no period
	// args names the positionals: "NAME" is required, "[NAME]" optional, a
	// trailing "…" takes any number. The count is checked before run.
	Args     string
	Long     string      // paragraphs for --help, wrapped by hand
	Examples []string    // "command  # what it does"
	Codes    []diag.Code // failures it may end with, besides usage
	Flags    []urfave.Flag
	// Exclusive lists groups of flags of which at most one may be given, and
	// Needs flags without meaning unless a second flag is given. Flags are named
	// by the addresses of their fields.
	Exclusive [][]any
	Needs     []Need
	Subs      []*Command
	Hidden    bool
	// Delegated marks a command of rye-server: the words after its name are not read here.
	Delegated bool
	globals   *Globals // of the root
	// Run is nil for a command that only has subs. One with both runs unless its first
	// positional is the name of a sub.
	Run func(ctx context.Context, c *Call) error
	// UnknownFlag returns the flag that a person probably meant by one that the command does
	// not have, or "". The value is empty if none follows the flag.
	UnknownFlag func(ctx context.Context, c *Call, name, value string) string
	// Complete returns candidates for the next positional, "word\tdescription";
	// nil means file names.
	Complete func(ctx context.Context, c *Call) []string
}

// sub returns the subcommand with that name.
func (c *Command) sub(name string) *Command {
	for _, s := range c.Subs {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// subNames returns the names of the visible subcommands.
func (c *Command) subNames() []string {
	var names []string
	for _, s := range c.Subs {
		if !s.Hidden {
			names = append(names, s.Name)
		}
	}
	return names
}

// flag returns the flag with that name or alias.
func (c *Command) flag(name string) urfave.Flag {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// Bounds returns how many positionals the command takes; most is -1 for any
// number.
func (c *Command) Bounds() (least, most int) {
	for _, word := range strings.Fields(c.Args) {
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

func takesValue(f urfave.Flag) bool {
	d, ok := f.(urfave.DocGenerationFlag)
	return ok && d.TakesValue()
}

func repeatable(f urfave.Flag) bool {
	d, ok := f.(urfave.DocGenerationSliceFlag)
	return ok && d.IsSliceFlag() || !takesValue(f)
}

// Call is one run of one command.
type Call struct {
	*World
	*Globals
	UI   *UI
	cmd  *Command
	Args []string // positionals
	Dash int      // number of args before "--", -1 without one
	Base string   // absolute: --project, else the working directory

	Named string // the project's folder when --project names it, absolute; "" when it is looked for from dir upwards

	closers []func() // called when the command ends, the last one first

	ctx context.Context // of the command: its end interrupts a question; nil: nothing does
}

func newCall(ctx context.Context, w *World, u *UI, l *line) (*Call, error) {
	c := &Call{
		ctx:     ctx,
		World:   w,
		Globals: l.Path[0].globals,
		UI:      u,
		cmd:     l.cmd(),
		Args:    l.Args,
		Dash:    l.Dash,
		Base:    w.Dir,
	}
	if p := c.Globals.Project; p != "" {
		dir, err := projectDir(w.Dir, p)
		if err != nil {
			return nil, err
		}
		c.Base = dir
		c.Named = dir
	}
	return c, nil
}

// OnClose has f called when the command ends.
func (c *Call) OnClose(f func()) {
	c.closers = append(c.closers, f)
}

func (c *Call) close() {
	for _, f := range slices.Backward(c.closers) {
		f()
	}
}

// Project returns the folder that --project names as an absolute path, "" when
// it is not given: then the project is looked for from dir upwards.
func (c *Call) Project() string {
	return c.Named
}

// Path returns a path that a user typed as an absolute one.
func (c *Call) Path(p string) string {
	return absolute(c.Base, p)
}

func absolute(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// Arg returns the i-th positional, "" when there is none.
func (c *Call) Arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// PlainTerminal reports whether the terminal only appends lines, also because of --plain.
func (c *Call) PlainTerminal() bool {
	return c.Plain || c.World.PlainTerminal()
}

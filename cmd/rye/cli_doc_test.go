package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/internal/servercmd"
)

func TestCommandDocument(t *testing.T) {
	golden(t, filepath.Join("..", "..", "docs", "reference", "cli.md"), []byte(commandDocument()))
}

// commandDocument renders docs/reference/cli.md from the table of commands.
func commandDocument() string {
	root := bothPrograms()
	var b strings.Builder
	b.WriteString("# Commands\n\nGenerated from the table of commands by `go test ./cmd/rye` with `RYE_UPDATE_GOLDEN=1`; do not edit.\n\n")
	b.WriteString("`rye help COMMAND` prints the same. Flags may be before and after arguments.\n\n")
	var paths [][]*cli.Command
	walkCommands([]*cli.Command{root}, func(path []*cli.Command) { paths = append(paths, slices.Clone(path)) })
	for _, path := range paths {
		c := path[len(path)-1]
		name := cli.PathName(path)
		b.WriteString("- [" + name + "](#" + strings.ReplaceAll(name, " ", "-") + "): " + c.Usage + "\n")
	}
	b.WriteString("\n## Flags of every command\n\n" + flagTable(cli.FlagDocs(root.Flags)) + "\n```sh\nrye --json list tool --space project\nrye list tool --space project --json\n```\n")
	b.WriteString("\n## Exit codes\n\n| Exit | Meaning |\n|---|---|\n")
	for _, e := range cli.ExitCodes() {
		b.WriteString("| " + cli.Itoa(e.Status) + " | " + e.Meaning + " |\n")
	}
	b.WriteString("\nEvery command can end with 0, 2 (`USAGE`, `UNKNOWN_FLAG`), 70 and 130. The other codes of each command are:\n\n")
	b.WriteString("| Command | Codes |\n|---|---|\n")
	for _, path := range paths {
		if codes := ownCodes(cli.DocOf(root, path)); codes != "" {
			b.WriteString("| `" + cli.PathName(path) + "` | " + codes + " |\n")
		}
	}
	b.WriteString("\n[errors.md](errors.md) explains every code. In a script:\n\n```sh\nrye lock --check || test $? -eq 3 && rye lock  # 3 is drift\n```\n")
	for _, path := range paths {
		b.WriteString(commandSection(cli.DocOf(root, path)))
	}
	return b.String()
}

// bothPrograms returns the commands of rye, with the commands of rye-server in the place of their rows.
func bothPrograms() *cli.Command {
	root := self.World(commands).RootCommand()
	served := self.World(servercmd.Commands).RootCommand()
	for _, c := range root.Subs {
		for i, s := range c.Subs {
			if !s.Delegated {
				continue
			}
			of := served.Subs[slices.IndexFunc(served.Subs, func(x *cli.Command) bool { return x.Name == c.Name })]
			c.Subs[i] = of.Subs[slices.IndexFunc(of.Subs, func(x *cli.Command) bool { return x.Name == s.Name })]
		}
	}
	return root
}

// The help of rye lists each command of rye-server, with its usage.
func TestDelegatedRows(t *testing.T) {
	rows := map[string]string{}
	for _, c := range self.World(commands).RootCommand().Subs {
		for _, s := range c.Subs {
			if s.Delegated {
				rows[c.Name+" "+s.Name] = s.Usage
			}
		}
	}
	served := map[string]string{}
	for _, c := range self.World(servercmd.Commands).RootCommand().Subs {
		if c.Name == "config" { // people type rye-server config: rye config is about projects
			continue
		}
		for _, s := range c.Subs {
			served[c.Name+" "+s.Name] = s.Usage
		}
	}
	if len(rows) == 0 || !maps.Equal(rows, served) {
		t.Errorf("rye lists %q, and rye-server has %q", rows, served)
	}
}

// walkCommands calls fn for every visible command that can be run, in order.
func walkCommands(path []*cli.Command, fn func(path []*cli.Command)) {
	c := path[len(path)-1]
	if c.Run != nil {
		fn(path)
	}
	for _, s := range c.Subs {
		if !s.Hidden {
			walkCommands(append(path, s), fn)
		}
	}
}

func commandSection(d cli.CommandDoc) string {
	var b strings.Builder
	b.WriteString("\n## " + d.Name + "\n\n" + strings.ToUpper(d.Summary[:1]) + d.Summary[1:] + ".\n\n```text\n" + d.Usage + "\n```\n")
	if d.Text != "" {
		b.WriteString("\n" + d.Text + "\n")
	}
	if len(d.Examples) > 0 {
		b.WriteString("\n```sh\n" + strings.Join(d.Examples, "\n") + "\n```\n")
	}
	if len(d.Flags) > 0 {
		b.WriteString("\n" + flagTable(d.Flags))
	}
	return b.String()
}

// ownCodes lists the codes that a command names itself, with their exit statuses.
func ownCodes(d cli.CommandDoc) string {
	var out []string
	for _, e := range d.Exits {
		for _, code := range e.Codes {
			if code != diag.Usage && code != diag.UnknownFlag && code != diag.Internal {
				out = append(out, cli.Itoa(e.Status)+" `"+string(code)+"`")
			}
		}
	}
	return strings.Join(out, ", ")
}

func flagTable(flags []cli.FlagDoc) string {
	var b strings.Builder
	b.WriteString("| Flag | Meaning |\n|---|---|\n")
	for _, f := range flags {
		label := strings.Join(strings.Fields(f.Label()), " ")
		b.WriteString("| `" + label + "` | " + strings.ReplaceAll(f.Text(), "|", "\\|") + " |\n")
	}
	return b.String()
}

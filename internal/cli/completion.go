package cli

import (
	"context"
	"embed"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

//go:embed completion
var completionScripts embed.FS

func shells() []string {
	return []string{"bash", "zsh", "fish", "powershell"}
}

// CompletionCommand is rye completion.
func CompletionCommand() *Command {
	return &Command{
		Name:  "completion",
		Group: "About rye",
		Usage: "print the completion script of a shell",
		Args:  "SHELL",
		Long: `The script asks rye itself for the words that may follow, so it stays right when
rye is upgraded. SHELL is bash, zsh, fish or powershell.`,
		Examples: []string{
			"source <(rye completion bash)                                # this bash",
			"rye completion zsh > ~/.zfunc/_rye                           # every zsh",
			"rye completion fish > ~/.config/fish/completions/rye.fish    # every fish",
			"rye completion powershell | Out-String | Invoke-Expression   # this PowerShell",
		},
		Run: runCompletion,
		Complete: func(context.Context, *Call) []string {
			return shells()
		},
	}
}

func runCompletion(_ context.Context, c *Call) error {
	b, err := CompletionScript(c.Args[0])
	if err != nil {
		e := diag.New(diag.Usage, "printing completion: there is no script for shell %q", c.Args[0])
		near := Nearest(c.Args[0], shells())
		if near != "" {
			return e.WithReason("nearest").WithDetail("nearest", near)
		}
		return e.WithReason("values").WithDetail("values", shells())
	}
	data := map[string]string{"shell": c.Args[0], "script": string(b)}
	return c.UI.Show(data, func() {
		c.UI.Text(string(b))
	})
}

// CompletionScript returns the script of a shell.
func CompletionScript(shell string) ([]byte, error) {
	return completionScripts.ReadFile("completion/" + shell + ".txt")
}

// CompleteCommand answers the scripts: the words typed so far, the last one
// perhaps half, give one candidate per line, "word\tdescription".
func CompleteCommand() *Command {
	return &Command{
		Name:   "__complete",
		Hidden: true,
		Usage:  "print the words that may follow",
		Args:   "[WORD…]",
		Run:    runComplete,
	}
}

func runComplete(ctx context.Context, c *Call) error {
	words := c.Args
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	for _, cand := range c.candidates(ctx, words[:len(words)-1], last) {
		if strings.HasPrefix(cand, last) {
			word, text, _ := strings.Cut(cand, "\t")
			c.UI.Out("%s\t%s", word, text)
		}
	}
	return nil
}

// candidates returns every word that may follow before.
func (c *Call) candidates(ctx context.Context, before []string, last string) []string {
	root := c.RootCommand()
	l, _ := SortArgs(root, before) // errors so far are reported when the line runs
	switch {
	case l.Dash >= 0:
		return nil
	case awaitedFlag(l, before) != nil:
		return flagValues(awaitedFlag(l, before), "")
	case strings.HasPrefix(last, "--") && strings.Contains(last, "="):
		name, _, _ := strings.Cut(last, "=")
		return flagValues(awaitedFlag(l, []string{name}), name+"=")
	case strings.HasPrefix(last, "-"):
		return flagCandidates(l.Path)
	case len(l.cmd().Subs) > 0 && l.cmd().Run == nil:
		return candidates(l.cmd().Subs)
	case l.cmd().Complete != nil:
		sub := *c
		sub.cmd = l.cmd()
		sub.Args = l.Args
		words := l.cmd().Complete(ctx, &sub)
		if !strings.Contains(last, ":") { // an id or its ref, not each twice
			words = slices.DeleteFunc(words, func(w string) bool {
				word, _, _ := strings.Cut(w, "\t")
				return strings.Contains(word, ":")
			})
		}
		if last == "" && slices.ContainsFunc(words, isNumber) { // a number or its id, not each thread twice
			words = slices.DeleteFunc(words, func(w string) bool {
				return !isNumber(w)
			})
		}
		if len(l.Args) == 0 {
			words = append(candidates(l.cmd().Subs), words...)
		}
		return words
	}
	return nil
}

// isNumber reports whether the word of a candidate is a number.
func isNumber(candidate string) bool {
	word, _, _ := strings.Cut(candidate, "\t")
	return word != "" && strings.Trim(word, "0123456789") == ""
}

// awaitedFlag returns the flag whose value is the next word, nil if there is none.
func awaitedFlag(l *line, before []string) urfave.Flag {
	if len(before) == 0 {
		return nil
	}
	word := before[len(before)-1]
	if !isFlag(word) || strings.Contains(word, "=") {
		return nil
	}
	s := sorter{line: *l}
	name, _, _ := splitFlag(word)
	_, f := s.lookup(word, name)
	if f != nil && takesValue(f) {
		return f
	}
	return nil
}

// flagValues returns the values of a flag with a closed set, each after a prefix.
// Without a set the shell completes file names.
func flagValues(f urfave.Flag, prefix string) []string {
	o, ok := f.(*Option)
	if !ok {
		return nil
	}
	var out []string
	for _, value := range o.choices {
		out = append(out, prefix+value)
	}
	return out
}

func candidates(cmds []*Command) []string {
	var out []string
	for _, s := range cmds {
		if !s.Hidden {
			out = append(out, s.Name+"\t"+s.Usage)
		}
	}
	return out
}

func flagCandidates(path []*Command) []string {
	var out []string
	for i := len(path) - 1; i >= 0; i-- {
		for _, f := range path[i].Flags {
			usage := ""
			if d, ok := f.(urfave.DocGenerationFlag); ok {
				usage = strings.ReplaceAll(d.GetUsage(), "`", "")
			}
			out = append(out, Dashed(f.Names()[0])+"\t"+usage)
		}
	}
	return out
}

package main

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

//go:embed completion
var completionScripts embed.FS

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func completionCommand() *command {
	return &command{
		name: "completion", group: "About rye",
		usage: "print the completion script of a shell",
		args:  "SHELL",
		long: `The script asks rye itself for the words that may follow, so it stays right when
rye is upgraded. SHELL is bash, zsh, fish or powershell.`,
		examples: []string{
			"source <(rye completion bash)                                # this bash",
			"rye completion zsh > ~/.zfunc/_rye                           # every zsh",
			"rye completion fish > ~/.config/fish/completions/rye.fish    # every fish",
			"rye completion powershell | Out-String | Invoke-Expression   # this PowerShell",
		},
		run:      runCompletion,
		complete: func(context.Context, *call) []string { return shells() },
	}
}

func runCompletion(_ context.Context, c *call) error {
	b, err := completionScripts.ReadFile("completion/" + c.args[0] + ".txt")
	if err != nil {
		e := diag.New(diag.Usage, "printing completion: there is no script for shell %q", c.args[0])
		if near := nearest(c.args[0], shells()); near != "" {
			return e.WithHint("did you mean %s?", near)
		}
		return e.WithHint("the shells are %s", strings.Join(shells(), ", "))
	}
	return c.ui.Show(map[string]string{"shell": c.args[0], "script": string(b)}, func() { c.ui.Text(string(b)) })
}

// completeCommand answers the scripts: the words typed so far, the last one
// perhaps half, give one candidate per line, "word\tdescription".
func completeCommand() *command {
	return &command{
		name: "__complete", hidden: true,
		usage: "print the words that may follow",
		args:  "[WORD…]",
		run:   runComplete,
	}
}

func runComplete(ctx context.Context, c *call) error {
	words := c.args
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	for _, cand := range c.candidates(ctx, words[:len(words)-1], last) {
		if strings.HasPrefix(cand, last) {
			word, text, _ := strings.Cut(cand, "\t")
			c.ui.Out("%s\t%s", word, text)
		}
	}
	return nil
}

// candidates returns every word that may stand after before.
func (c *call) candidates(ctx context.Context, before []string, last string) []string {
	root := c.rootCommand()
	l, _ := sortArgs(root, before) // what is wrong so far is reported when the line runs
	switch {
	case l.dash >= 0:
		return nil
	case awaitsValue(l, before):
		return nil
	case strings.HasPrefix(last, "-"):
		return flagCandidates(l.path)
	case len(l.cmd().subs) > 0:
		return candidates(l.cmd().subs)
	case l.cmd().complete != nil:
		sub := *c
		sub.cmd, sub.args = l.cmd(), l.args
		words := l.cmd().complete(ctx, &sub)
		if !strings.Contains(last, ":") { // an id or its ref, not each twice
			words = slices.DeleteFunc(words, func(w string) bool { word, _, _ := strings.Cut(w, "\t"); return strings.Contains(word, ":") })
		}
		return words
	}
	return nil
}

// awaitsValue reports whether the last word is a flag whose value comes next.
func awaitsValue(l *line, before []string) bool {
	if len(before) == 0 {
		return false
	}
	word := before[len(before)-1]
	if !isFlag(word) || strings.Contains(word, "=") {
		return false
	}
	s := sorter{line: *l}
	name, _, _ := splitFlag(word)
	_, f := s.lookup(word, name)
	return f != nil && takesValue(f)
}

func candidates(cmds []*command) []string {
	var out []string
	for _, s := range cmds {
		if !s.hidden {
			out = append(out, s.name+"\t"+s.usage)
		}
	}
	return out
}

func flagCandidates(path []*command) []string {
	var out []string
	for i := len(path) - 1; i >= 0; i-- {
		for _, f := range path[i].flags {
			usage := ""
			if d, ok := f.(cli.DocGenerationFlag); ok {
				usage = strings.ReplaceAll(d.GetUsage(), "`", "")
			}
			out = append(out, dashed(f.Names()[0])+"\t"+usage)
		}
	}
	return out
}

package tour

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
)

// tourChapter is a part of the tour that a person reads at once.
type tourChapter struct {
	title string
	steps []func(context.Context) error
}

// chapters returns the chapters in their order. A chapter uses what the ones before it
// made.
func (t *tour) chapters() []tourChapter {
	list := []tourChapter{
		{"A key and a project", []func(context.Context) error{t.start}},
		{"The first tool", []func(context.Context) error{t.author}},
		{"What is verified", []func(context.Context) error{t.permit, t.use}},
		{"A changed byte, a copied signature", []func(context.Context) error{t.tamper, t.impersonate}},
		{"Why something does not run", []func(context.Context) error{t.next}},
		{"The sandbox", []func(context.Context) error{t.careless}},
		{"A graph survives a kill", []func(context.Context) error{t.graph}},
		{"Graphs to copy", []func(context.Context) error{t.examples}},
		{"A model follows a directive", []func(context.Context) error{t.model}},
		{"A model starts others", []func(context.Context) error{t.parallel}},
		{"An agent calls rye", []func(context.Context) error{t.agent}},
		{"A second person", []func(context.Context) error{t.team}},
		{"A stolen key", []func(context.Context) error{t.stolen}},
		{"A bundle from git", []func(context.Context) error{t.packages}},
		{"The lock", []func(context.Context) error{t.locked}},
	}
	if t.noServer != nil {
		return list
	}
	return append(list,
		tourChapter{"Publish to a registry", []func(context.Context) error{t.registry}},
		tourChapter{"Add from a registry", []func(context.Context) error{t.fromRegistry}})
}

// walk shows the chapters: one after the other, or as a person at the terminal chooses.
func (t *tour) walk(ctx context.Context) error {
	if err := os.MkdirAll(t.project, 0o755); err != nil {
		return diag.New(diag.FileSystemError, "creating the scratch project: %w", err)
	}
	defer t.stopServers()
	chapters := t.chapters()
	if t.c.UI.AsJSON ||
		!t.c.Isatty(t.c.Stdin) ||
		!t.c.Isatty(t.c.Stdout) {
		for i := range chapters {
			if err := t.chapter(ctx, chapters, i); err != nil {
				return err
			}
		}
		return nil
	}
	t.brief = true
	return t.choose(ctx, append(chapters, tourChapter{"With your own model", []func(context.Context) error{t.ownModel}}))
}

// choose asks which chapter is next until the person ends the tour.
func (t *tour) choose(ctx context.Context, chapters []tourChapter) error {
	for i, ch := range chapters {
		t.out("%3d  %s", i+1, ch.title)
	}
	made := 0 // chapters whose files exist
	next := 0
	for {
		prompt := fmt.Sprintf(
			"Enter: chapter %d, %s. A number: another chapter. q: the end. ",
			next+1,
			chapters[min(next, len(chapters)-1)].title,
		)
		if next == len(chapters) {
			prompt = "Enter or q: the end. A number: a chapter again. "
		}
		answer, err := t.c.Ask(prompt)
		if diag.CodeOf(err) == diag.Cancelled || diag.CodeOf(err) == diag.Usage {
			return nil // an interrupt, or the end of the input
		}
		if err != nil {
			return err
		}
		wanted := next
		switch answer = strings.TrimSpace(answer); {
		case strings.EqualFold(answer, "q"), answer == "" && next == len(chapters):
			return nil
		case answer != "":
			n, err := strconv.Atoi(answer)
			if err != nil || n < 1 || n > len(chapters) {
				t.out("There is no chapter %q: type a number from 1 to %d, Enter or q.", answer, len(chapters))
				continue
			}
			wanted = n - 1
		}
		if wanted < made { // what a chapter makes can be made once: begin again in an empty directory
			if err := t.repeat(); err != nil {
				return err
			}
			made = 0
		}
		t.silent = true
		for ; made < wanted && err == nil; made++ {
			err = t.chapter(ctx, chapters, made)
		}
		t.silent = false
		if err != nil {
			return err
		}
		if err := t.chapter(ctx, chapters, wanted); err != nil {
			return err
		}
		made = wanted + 1
		next = wanted + 1
	}
}

// again empties the scratch directory.
func (t *tour) repeat() error {
	t.stopServers()
	if err := RemoveAll(t.dir); err != nil {
		return diag.New(diag.FileSystemError, "emptying the scratch directory: %w", err)
	}
	t.Steps = nil
	t.registryURL = ""
	if err := os.MkdirAll(t.project, 0o755); err != nil {
		return diag.New(diag.FileSystemError, "creating the scratch project: %w", err)
	}
	return nil
}

func (t *tour) chapter(ctx context.Context, chapters []tourChapter, i int) error {
	title := fmt.Sprintf("%d. %s", i+1, chapters[i].title)
	t.out("%s", t.c.UI.Style(cli.Bold, title))
	t.out("%s", t.c.UI.Style(cli.Bold, strings.Repeat("=", len(title))))
	t.out("")
	for _, step := range chapters[i].steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// out prints one line, unless the chapter is made silently.
func (t *tour) out(format string, args ...any) {
	if !t.silent {
		t.c.UI.Out(format, args...)
	}
}

// The lines of a long output that a person reads.
const (
	briefLines = 9
	briefHead  = 6
	briefTail  = 2
)

// text prints the output of a command. For a person a long one is cut in its middle.
func (t *tour) text(output string) {
	if t.silent {
		return
	}
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if t.brief && len(lines) > briefLines {
		cut := len(lines) - briefHead - briefTail
		short := append(lines[:briefHead:briefHead], fmt.Sprintf("  … %d more lines", cut))
		output = strings.Join(append(short, lines[len(lines)-briefTail:]...), "\n") + "\n"
	}
	t.c.UI.Text(output)
}

// ownModel asks the model of the person one question, with the settings of the person.
func (t *tour) ownModel(ctx context.Context) error {
	question := "In one sentence: what does the signature of a file state?"
	t.say("Your own model answers one question. This uses your settings, and may cost a fraction of a cent.")
	t.out("%s", t.c.UI.Style(cli.Cyan, "$ rye -p '"+question+"'"))
	answer, err := t.c.Ask("Run it? [y/N] ")
	if err != nil ||
		!strings.EqualFold(strings.TrimSpace(answer), "y") && !strings.EqualFold(strings.TrimSpace(answer), "yes") {
		t.out("Later: rye setup finds a model and makes one test call.")
		return nil //nolint:nilerr // the end of the input is no
	}
	empty := filepath.Join(t.dir, "empty")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return diag.New(diag.FileSystemError, "creating an empty directory: %w", err)
	}
	cmd := exec.CommandContext(ctx, t.c.Self, "-p", question)
	cmd.Dir, cmd.Env, cmd.WaitDelay = empty, t.c.Environ(), 5*time.Second
	cmd.Stdin = t.c.Stdin
	cmd.Stdout = t.c.Stdout
	cmd.Stderr = t.c.Stderr
	if err := cmd.Run(); err != nil {
		t.out("That did not work (%v). rye setup finds a model and makes one test call.", err)
	}
	return nil
}

package threads

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/liveview"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/transcript"
)

// textOptions are the flags of rye threads show that print the log as a text.
type textOptions struct {
	text, all  bool
	call, turn int
}

func (o *textOptions) flags() []cli.Flag {
	return []cli.Flag{
		cli.Bool(&o.text, "text", "print the log as the foreground shows it, with $PAGER at a terminal"),
		cli.Int(&o.call, "call", "print the whole call `N` of the log, counted from 1"),
		cli.Int(&o.turn, "turn", "print the whole turn `N` of the log"),
		cli.Bool(&o.all, "all", "print the log with every call in full"),
	}
}

// wanted reports whether the log is printed as a text.
func (o *textOptions) wanted() bool {
	return o.text || o.all || o.call != 0 || o.turn != 0
}

// showText prints a log as a text.
func showText(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	id string,
	o *textOptions,
) error {
	dir := p.Spaces.ProjectDir
	if _, err := transcript.First(dir, id); err != nil {
		return err
	}
	tree := activity.New(activity.Start{ThreadID: id})
	params := liveview.Params{Ends: true, Questions: true, Full: o.all || o.call != 0 || o.turn != 0}
	if params.Full {
		tree.KeepOutput()
	}
	found := o.call == 0 && o.turn == 0
	if !found {
		params.Only = func(b *activity.Block) bool {
			match := b.Depth == 0 &&
				(o.call != 0 && b.Kind == activity.Call && b.Number == o.call || o.turn != 0 && b.Turn == int64(o.turn) && b.Kind != activity.Head && b.Kind != activity.End)
			found = found || match
			return match
		}
	}
	var out bytes.Buffer
	err := watch.ReadLogs(
		ctx,
		watch.TailLive(c, dir, tree, &out, params),
		id,
		false,
	)
	if err != nil {
		return err
	}
	if !found {
		return diag.New(diag.Usage, "showing %s: it has no such call or turn", id)
	}
	if err := paged(ctx, c, out.Bytes()); err != nil {
		return err
	}
	path := filepath.Join(".ai", "knowledge", "threads", id+".md")
	_, err = os.Stat(filepath.Join(dir, path))
	if err == nil && params.Only == nil {
		c.UI.Note("record %s", path)
	}
	return nil
}

// paged prints a text, with $PAGER at a terminal.
func paged(ctx context.Context, c *cli.Call, text []byte) error {
	pager := c.Getenv("PAGER")
	out, isFile := c.Stdout.(*os.File)
	_, noShell := exec.LookPath("sh") // as on Windows
	if pager == "" ||
		noShell != nil ||
		!isFile ||
		watch.TerminalOf(c, out).Mode() != inline.Live {
		_, err := c.UI.Stdout.Write(text)
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Env = append(c.Environ(), "LESS=FRX")
	cmd.Stdin = bytes.NewReader(text)
	cmd.Stdout = out
	cmd.Stderr = c.Stderr
	if err := cmd.Run(); err != nil {
		return diag.New(diag.ExecutionFailed, "running $PAGER: %w", err)
	}
	return nil
}

package watch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"
	"time"

	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/liveview"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/transcript"
)

// EachLine calls read until the thread or run ends or is suspended; once without --follow.
func EachLine(ctx context.Context, dir, id string, follow bool, read func() error) error {
	for {
		// The lock is read before the log: what is written after it belongs to a
		// process that is seen the next time.
		stopped := graph.Owner(ctx, dir, id) < 0
		if err := read(); err != nil || !follow || stopped {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followPause):
		}
	}
}

// TailRun prints a log as it is shown while it is written.
func TailRun(ctx context.Context, c *cli.Call, p *project.Project, id string, follow bool) error {
	dir := p.Spaces.ProjectDir
	if _, err := transcript.First(dir, id); err != nil {
		return err
	}
	tree := activity.New(activity.Start{ThreadID: id})
	v := TailLive(
		c,
		dir,
		tree,
		c.UI.Stdout,
		liveview.Params{Ends: true, Questions: true},
	)
	if err := ReadLogs(ctx, v, id, follow); err != nil {
		return err
	}
	return tailResult(ctx, c, p, id)
}

// ReadLogs draws a log and those below it, in the order in which they were written.
func ReadLogs(ctx context.Context, v *live, id string, follow bool) error {
	dir := v.dir
	logs := map[string]*transcript.Reader{id: transcript.NewReader(dir, id)}
	var next func(log string) error
	next = func(log string) error {
		if logs[log] == nil {
			logs[log] = transcript.NewReader(dir, log)
		}
		return logs[log].Next(func(l *transcript.Line) error {
			// What a node ran is in the logs below it, which end before the node does.
			child := v.view.Ending(log, l)
			below, err := graph.Derived(dir, child)
			if err != nil {
				return err
			}
			for _, id := range below {
				if err := next(id); err != nil {
					return err
				}
			}
			v.view.Line(log, l)
			return nil
		})
	}
	err := EachLine(ctx, dir, id, follow, func() error {
		for _, log := range append(v.view.Runs(), id) {
			if err := next(log); err != nil {
				return err
			}
		}
		return nil
	})
	v.close()
	return err
}

// TailLive draws for stdout: the log is the result of the command.
func TailLive(
	c *cli.Call,
	dir string,
	tree *activity.Tree,
	out io.Writer,
	o liveview.Params,
) *live {
	v := &live{c: c, tree: tree, dir: dir}
	t := TerminalOf(c, c.Stdout)
	t.Quiet = false
	_, still := out.(*bytes.Buffer)
	if b, ok := out.(*bufio.Writer); ok {
		out = flushing{b}
	}
	v.screen = inline.New(inline.Params{
		Out:   out,
		Mode:  t.Mode(),
		Still: still,
		Size: func() (int, int) {
			return cli.TerminalSize(c.Stdout)
		},
	})
	v.show(o, c.UI.Color())
	return v
}

// flushing writes each text at once: it is seen while the log grows.
type flushing struct{ b *bufio.Writer }

func (w flushing) Write(text []byte) (int, error) {
	n, err := w.b.Write(text)
	return n, cmp.Or(err, w.b.Flush())
}

// tailResult prints the outputs of a thread or run that has completed.
func tailResult(ctx context.Context, c *cli.Call, p *project.Project, id string) error {
	if graph.Owner(ctx, p.Spaces.ProjectDir, id) >= 0 {
		return nil
	}
	data, err := control.Result(p, id)
	if err != nil {
		return nil // it has not ended
	}
	out := data["outputs"]
	if out == nil {
		out = data["output"]
	}
	if out == nil {
		return nil
	}
	b, err := jsonx.MarshalIndent(view.WithoutFiles(out))
	if err != nil {
		return err
	}
	c.UI.Raw(strings.TrimSpace(string(b)))
	return nil
}

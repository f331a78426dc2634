package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
)

// cliObjects reads a repository by one git cat-file.
type cliObjects struct {
	r    *cli
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	done func() // ends the limit of memory
	stop context.CancelCauseFunc
	ctx  context.Context
}

// open starts git cat-file. It ends with Close or with ctx.
func (r *cli) open(ctx context.Context, repository string) (*cliObjects, error) {
	c := r.local()
	ctx, stop := context.WithCancelCause(ctx)
	args := append(append([]string{"--no-pager"}, settings()...), "--git-dir="+repository, "cat-file", "--batch")
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir = c.dir
	cmd.Env = c.env
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	var out io.Reader
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop(nil)
		return nil, diag.New(diag.ExecutionFailed, "starting git cat-file: %w", err)
	}
	done := r.guarded(stop)(cmd.Process.Pid)
	return &cliObjects{
		r:    r,
		cmd:  cmd,
		in:   in,
		out:  bufio.NewReaderSize(out, 64<<10),
		done: done,
		stop: stop,
		ctx:  ctx,
	}, nil
}

// Close implements Objects.
func (c *cliObjects) Close() error {
	c.in.Close()
	c.stop(nil)
	_ = c.cmd.Wait() // all that was needed has been read: the exit status has no meaning
	c.done()
	return nil
}

// Read implements Objects.
func (c *cliObjects) Read(
	_ context.Context,
	oids []string,
	limit int64,
	each func(i int, o Object) error,
) error {
	asked := make(chan error, 1)
	go func() { // git answers while it reads: to write everything first would block both
		_, err := io.WriteString(c.in, strings.Join(oids, "\n")+"\n")
		asked <- err
	}()
	for i, oid := range oids {
		o, err := c.next(oid, limit)
		if err == nil {
			err = each(i, o)
		}
		if err != nil {
			err = c.wrong(oid, err)
			c.stop(nil) // the rest of the answers is not read
			<-asked
			return err
		}
	}
	if err := <-asked; err != nil {
		return c.wrong(oids[len(oids)-1], err)
	}
	return nil
}

func (c *cliObjects) wrong(oid string, err error) error {
	switch {
	case diag.CodeOf(context.Cause(c.ctx)) == diag.LimitExceeded:
		return context.Cause(c.ctx)
	case c.ctx.Err() != nil:
		return stopped(c.ctx, "reading", "the cache")
	case diag.CodeOf(err) != "":
		return err
	}
	return broken(oid, err)
}

// next reads "OID KIND SIZE", the bytes, and a line feed; or "OID missing".
func (c *cliObjects) next(oid string, limit int64) (Object, error) {
	head, err := c.out.ReadString('\n')
	if err != nil {
		return Object{}, err
	}
	words := strings.Fields(head)
	if len(words) == 2 && words[1] == "missing" {
		return Object{}, missing(oid)
	}
	if len(words) != 3 || words[0] != oid {
		return Object{}, fmt.Errorf("git prints %.100q", head)
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil || size < 0 {
		return Object{}, fmt.Errorf("git prints %.100q", head)
	}
	if size > limit {
		return Object{}, objectTooLarge(oid, size, limit)
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(c.out, data); err != nil {
		return Object{}, err
	}
	return Object{OID: oid, Kind: words[1], Data: data[:size]}, nil
}

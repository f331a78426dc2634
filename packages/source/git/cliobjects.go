package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
)

// cliObjects reads a repository by one git cat-file.
type cliObjects struct {
	mu   sync.Mutex
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	fail error // set once an answer was not read to its end: later answers cannot be separated
}

// Open implements Remote. The git process ends with Close, or with ctx.
func (r *cli) Open(ctx context.Context, store string) (Objects, error) {
	c := r.local()
	args := append(append([]string{"--no-pager"}, settings()...), "--git-dir="+store, "cat-file", "--batch")
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.dir, c.env, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, diag.New(diag.ExecutionFailed, "starting git cat-file: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, diag.New(diag.ExecutionFailed, "starting git cat-file: %w", err)
	}
	return &cliObjects{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10)}, nil
}

// Close implements Objects.
func (c *cliObjects) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = io.ErrClosedPipe
	c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.cmd.Wait() // every answer was read: the exit status has no meaning
	return nil
}

// Read implements Objects.
func (c *cliObjects) Read(ctx context.Context, oids []string, limit int64, each func(i int, o Object) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return diag.New(diag.ExecutionFailed, "reading objects: %w", c.fail)
	}
	asked := make(chan error, 1)
	go func() { // git answers while it reads: writing everything first would block both
		_, err := io.WriteString(c.in, strings.Join(oids, "\n")+"\n")
		asked <- err
	}()
	for i, oid := range oids {
		o, err := c.next(oid, limit)
		if err == nil {
			err = each(i, o)
		}
		if err != nil {
			c.kill(err)
			<-asked
			return c.wrong(ctx, oid, err)
		}
	}
	return c.wrong(ctx, "", <-asked)
}

// kill ends the git process after an error: the rest of its answers is not read.
func (c *cliObjects) kill(err error) {
	c.fail = err
	c.in.Close()
	_ = c.cmd.Process.Kill()
}

func (c *cliObjects) wrong(ctx context.Context, oid string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return diag.New(diag.Cancelled, "reading objects: %w", context.Cause(ctx))
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
		return Object{}, diag.New(diag.Network, "reading object %s: %w", oid, errMissing)
	}
	if len(words) != 3 || words[0] != oid {
		return Object{}, fmt.Errorf("git printed %q", head)
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil || size < 0 {
		return Object{}, fmt.Errorf("git printed %q", head)
	}
	if size > limit {
		return Object{}, diag.New(diag.TooLarge, "reading object %s: it has %d bytes, at most %d are allowed", oid, size, limit)
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(c.out, data); err != nil {
		return Object{}, err
	}
	return Object{OID: oid, Kind: words[1], Data: data[:size]}, nil
}

package gitcmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
)

// Batch is a git cat-file, which runs or can be started. Its process ends with Close or
// with the ctx of the call that made the Batch. Concurrent calls are serialised.
type Batch struct {
	mu    sync.Mutex
	cmd   *exec.Cmd // nil until it is started
	in    io.WriteCloser
	out   *bufio.Reader
	fail  error // set once the stream is broken; every later Read returns it
	later func() error
	loose *looseReader // of blobs that git need not read, or nil

	messages bytes.Buffer // stderr of git
}

// Batch starts git cat-file to read objects.
func (g *Git) Batch(ctx context.Context) (*Batch, error) {
	b := &Batch{}
	return b, b.start(g.command(ctx, "cat-file", "--batch"))
}

func (b *Batch) start(cmd *exec.Cmd) error {
	cmd.Stderr = &b.messages
	in, err := cmd.StdinPipe()
	if err == nil {
		b.in = in
		var out io.ReadCloser
		if out, err = cmd.StdoutPipe(); err == nil {
			b.out = bufio.NewReaderSize(out, 64<<10)
			err = cmd.Start()
		}
	}
	if err != nil {
		return diag.New(diag.ExecutionFailed, "starting git cat-file: %w", err)
	}
	b.cmd = cmd
	return nil
}

// Close ends the process.
func (b *Batch) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail == nil {
		b.fail = errors.New("closed")
	}
	if b.cmd == nil {
		return nil
	}
	err := b.in.Close()
	_ = b.cmd.Wait() // its exit status after the last object does not matter
	return err
}

// Object is an object of the repository. Data is nil if the object is missing, is
// not a blob, or is longer than the limit of Read.
type Object struct {
	OID  string
	Kind string // "blob", "tree", "commit", "tag", or "missing"
	Size int64
	Data []byte
}

// Read requests objects by name and calls each for every one, in any order. Blobs
// of more than limit bytes have no data.
func (b *Batch) Read(oids []string, limit int64, each func(i int, o Object)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loose == nil || b.fail != nil {
		return b.read("blob", oids, limit, each)
	}
	var rest []string
	var at []int
	for i, oid := range oids {
		if o, ok := b.loose.read(oid, limit); ok {
			each(i, o)
		} else {
			rest = append(rest, oid)
			at = append(at, i)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return b.read("blob", rest, limit, func(k int, o Object) {
		each(at[k], o)
	})
}

// ReadTrees is Read for trees, in the order of the names.
func (b *Batch) ReadTrees(oids []string, limit int64, each func(i int, o Object)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read("tree", oids, limit, each)
}

func (b *Batch) read(
	kind string,
	oids []string,
	limit int64,
	each func(i int, o Object),
) error {
	if b.fail != nil {
		return broken(b.fail)
	}
	if b.cmd == nil {
		if err := b.later(); err != nil {
			return err
		}
	}
	written := make(chan error, 1)
	go func() { // git writes while it reads: without a reader both pipes would fill up
		_, err := io.WriteString(b.in, strings.Join(oids, "\n")+"\n")
		written <- err
	}()
	for i := range oids {
		o, err := b.next(kind, limit)
		if err != nil {
			b.fail = err
			_ = b.in.Close()
			<-written
			_ = b.cmd.Wait() // completes the messages
			b.fail = b.explained(err, oids[i])
			return broken(b.fail)
		}
		each(i, o)
	}
	if b.fail = <-written; b.fail != nil {
		return broken(b.fail)
	}
	return nil
}

func broken(err error) error {
	var e *diag.Error
	if errors.As(err, &e) && e.Reason == partialClone {
		return e
	}
	return diag.New(diag.ExecutionFailed, "reading objects from git cat-file: %w", err)
}

// partialClone is the reason of the error about an object that a clone with --filter left
// out.
const partialClone = "partial_clone"

// explained returns why git ended before it had printed an object. In a partial clone git
// starts to fetch the object and may not: only the user's own git commands fetch.
func (b *Batch) explained(err error, oid string) error {
	text := b.messages.String()
	if !errors.Is(err, io.EOF) || text == "" {
		return err
	}
	if strings.Contains(text, "promisor remote") || strings.Contains(text, "lazy fetching") {
		return diag.New(diag.ExecutionFailed, "reading object %s: this clone was made with --filter and lacks it", oid[:min(len(oid), 12)]).
			WithReason(partialClone)
	}
	return errors.New(lastLine(text))
}

// next reads "OID KIND SIZE", the bytes, and a line feed; or "OID missing".
func (b *Batch) next(kind string, limit int64) (Object, error) {
	head, err := b.out.ReadString('\n')
	if err != nil {
		return Object{}, err
	}
	words := strings.Fields(head)
	if len(words) == 2 {
		return Object{OID: words[0], Kind: words[1]}, nil
	}
	if len(words) != 3 {
		return Object{}, diag.New(diag.ExecutionFailed, "invalid output %q", head)
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return Object{}, err
	}
	o := Object{OID: words[0], Kind: words[1], Size: size}
	if o.Kind == kind && size <= limit {
		o.Data = make([]byte, size)
		_, err = io.ReadFull(b.out, o.Data)
	} else {
		_, err = io.CopyN(io.Discard, b.out, size)
	}
	if err == nil {
		_, err = b.out.Discard(1)
	}
	return o, err
}

// Sizes returns the length of each object in bytes, -1 if it is missing.
func (g *Git) Sizes(ctx context.Context, oids []string) ([]int64, error) {
	if len(oids) == 0 {
		return nil, nil
	}
	out, err := g.run(
		ctx,
		strings.NewReader(strings.Join(oids, "\n")+"\n"),
		"cat-file",
		"--batch-check=%(objectsize)",
	)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(oids) {
		return nil, unreadable("cat-file", lines[len(lines)-1])
	}
	sizes := make([]int64, len(oids))
	for i, line := range lines {
		if sizes[i], err = strconv.ParseInt(line, 10, 64); err != nil {
			sizes[i] = -1
		}
	}
	return sizes, nil
}

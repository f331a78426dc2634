package git

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/proc"
)

// maxChildren is the number of children of a source that run at once.
const maxChildren = 4

// goRemote is a Remote without the git command: go-git in a child process for each request,
// over http, https and file, without credentials. It speaks version 0 of the protocol, which
// every remote supports.
type goRemote struct {
	url   string
	self  string   // the program that has ChildVerb
	env   []string // of the child
	limit int64    // bytes of one transfer
	slots chan struct{}
	guard *guard

	mu   sync.Mutex
	caps []string // from the last ListRefs
}

// Repository implements Remote.
func (r *goRemote) Repository(part) string {
	if strings.HasPrefix(r.url, "file://") {
		return ""
	}
	return filesGit
}

// ListRefs implements Remote.
func (r *goRemote) ListRefs(ctx context.Context) (*Refs, error) {
	refs := &Refs{}
	var caps []string
	err := r.run(ctx, "asking", request{Op: opRefs}, func(kind byte, content []byte) error {
		switch kind {
		case frameCapabilities:
			caps = strings.Fields(string(content))
			return nil
		case frameRef:
			oid, name, ok := strings.Cut(string(content), " ")
			if !ok || !isOID(oid) {
				return errFrame
			}
			if err := refs.keep(oid, name); err != nil {
				return tooManyRefs(r.url, fmt.Sprintf("more than %d branches and tags", maxRefs))
			}
			return nil
		}
		return errFrame
	})
	if err != nil {
		return nil, err
	}
	refs.sort()
	r.mu.Lock()
	r.caps = caps
	r.mu.Unlock()
	return refs, nil
}

// Pass implements Remote. This version of the protocol cannot request single files, so all
// files of the commit are fetched.
func (r *goRemote) Pass(ctx context.Context, repository string, w Want, p part, to receiver) error {
	u := &unframe{to: to, whole: p.Whole}
	if p.File != "" {
		u.blobs = 1
	}
	err := r.run(
		ctx,
		"fetching",
		request{
			Op:         opPass,
			Repository: repository,
			Want:       w,
			Part:       p,
		},
		u.each,
	)
	if err == nil && u.next < u.blobs {
		err = r.died(ctx, "fetching", proc.Result{}, errFrame)
	}
	return err
}

// History implements Remote.
func (r *goRemote) History(
	ctx context.Context,
	repository string,
	w Want,
	offline bool,
) (*history, error) {
	h := newHistory()
	err := r.run(
		ctx,
		"fetching",
		request{
			Op:         opHistory,
			Repository: repository,
			Want:       w,
			Offline:    offline,
		},
		func(kind byte, content []byte) error {
			if kind != frameRecords {
				return errFrame
			}
			return h.decode(content)
		},
	)
	if err == nil {
		err = h.whole()
	}
	return h, err
}

// run starts a child with a request and calls each with its frames.
func (r *goRemote) run(
	ctx context.Context,
	doing string,
	q request,
	each func(kind byte, content []byte) error,
) error {
	r.mu.Lock()
	q.Capabilities = r.caps
	r.mu.Unlock()
	q.URL = r.url
	q.Limit = r.limit
	text, err := json.Marshal(q)
	if err != nil {
		return diag.New(diag.Internal, "%s %s: %w", doing, r.url, err)
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return stopped(ctx, doing, r.url)
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out, in := io.Pipe()
	defer out.Close()
	var res proc.Result
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		res, failed = r.start(running, cancel, append(text, '\n'), in)
		in.Close()
	}()
	err = readFrames(out, each)
	if err != nil {
		cancel(nil) // the rest is not read
	}
	out.Close()
	<-ended
	switch {
	case failed != nil:
		return failed
	case diag.CodeOf(context.Cause(running)) == diag.LimitExceeded:
		return context.Cause(running)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errFrame):
		return r.died(ctx, doing, res, err)
	}
	return err
}

// start runs the child, with its output to in.
func (r *goRemote) start(
	ctx context.Context,
	cancel context.CancelCauseFunc,
	text []byte,
	in io.Writer,
) (proc.Result, error) {
	ended := func() {}
	defer func() { ended() }()
	return proc.Run(ctx, proc.Cmd{
		Path:      r.self,
		Argv:      []string{r.self, ChildVerb},
		Env:       r.env,
		Stdin:     bytes.NewReader(text),
		Grace:     -1,
		MaxStdout: -1,
		MaxStderr: 64 << 10,
		Job:       proc.Job{Memory: maxChildMemory, Processes: 1},
		OnStdout: func(b []byte) {
			_, _ = in.Write(b)
		},
		OnStart: func(pid int) {
			ended = r.guard.watch(pid, func(int64) {
				cancel(r.tooMuchMemory())
			})
		},
	})
}

// tooMuchMemory is the error for a child that reached its limit of memory.
func (r *goRemote) tooMuchMemory() error {
	return overLimit(r.url, fmt.Errorf("its git client needs more than %d bytes of memory for what it sends", maxHeap))
}

// died is the error for a child that ended without a result.
func (r *goRemote) died(ctx context.Context, doing string, res proc.Result, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, doing, r.url)
	}
	text := string(res.Stderr)
	// The runtime of Go ends a process that gets no memory.
	noMemory := strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate memory")
	if res.ExitCode == exitMemory || res.Signal == "SIGKILL" || noMemory {
		return r.tooMuchMemory()
	}
	return diag.New(
		diag.Internal,
		"reading the objects of %s: %w: exit status %d %s",
		r.url,
		err,
		res.ExitCode,
		cuttext.Start(text, 500),
	)
}

// childEnviron returns the environment of a child: proxies, certificates, and the names
// without which programs do not start on Windows. It has no credentials of the user.
func childEnviron(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT"}, strings.ToUpper(name)) {
			out = append(out, kv)
		}
	}
	return out
}

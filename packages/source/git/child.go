package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// ChildVerb is the hidden command by which rye starts itself for one request to a remote.
const ChildVerb = "git-fetch"

// Limits of a child, in bytes. go-git has none for what a remote sends: a pack of 1.7 MB can
// take 3 GB.
const (
	maxHeap  = 128 << 20
	softHeap = 96 << 20 // where garbage is collected eagerly
	maxSpace = 4 << 30  // of address space: Go reserves much more than it uses
	// maxChildMemory is the memory of all children of a source together (Linux), or of one (Windows).
	maxChildMemory = 384 << 20
)

// exitMemory is the exit status of a child that took too much memory.
const exitMemory = 86

// Child performs the request in in and writes frames to out. It returns the exit status. It
// ends the process if the request takes too much memory, so it runs in a process of its own.
//
// A request has no credentials and cannot name a program. It is the only input, so a user who
// writes one can fetch as with any client of git, and no more.
func Child(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	limitAddressSpace()
	debug.SetMemoryLimit(softHeap)
	go watchHeap(func() { os.Exit(exitMemory) })
	q, err := readRequest(in)
	if err != nil {
		fmt.Fprintf(errs, "rye: error: %v; rye itself starts this command\n", err)
		return 2
	}
	w := frames{bufio.NewWriterSize(out, 64<<10)}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	if err = q.perform(ctx, w); err != nil {
		err = w.fail(err)
	} else {
		err = w.send(frameEnd)
	}
	if errors.Join(err, w.w.Flush()) != nil {
		return 1 // rye has ended
	}
	return 0
}

// readRequest reads one line of JSON and refuses everything else.
func readRequest(in io.Reader) (q request, err error) {
	b, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	switch {
	case err != nil:
		return q, fmt.Errorf("reading the request: %w", err)
	case len(b) > maxRequest:
		return q, fmt.Errorf("reading the request: it has more than %d bytes", maxRequest)
	case len(b) == 0 || bytes.IndexByte(b, '\n') != len(b)-1:
		return q, errors.New("reading the request: it is not one line")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, fmt.Errorf("reading the request: %w", err)
	}
	if q.Op != opRefs && q.Op != opPass && q.Op != opHistory {
		return q, fmt.Errorf("reading the request: it has the operation %q", q.Op)
	}
	scheme := q.scheme()
	if scheme != "http" && scheme != "https" && scheme != "file" {
		return q, fmt.Errorf("reading the request: it has the scheme %q", scheme)
	}
	return q, nil
}

func (q request) scheme() string {
	scheme, _, _ := strings.Cut(q.URL, "://")
	return scheme
}

// backend is what a child needs of a remote.
type backend interface {
	// refs passes the branches and tags to each, as git ls-remote lists them.
	refs(ctx context.Context, each func(oid, name string) error) (capabilities []string, err error)
	// fetch fetches the missing objects into the repository.
	fetch(ctx context.Context, repository string, w Want) error
	// open returns the objects of the repository.
	open(ctx context.Context, repository string) (Objects, error)
}

func (q request) perform(ctx context.Context, out frames) error {
	var r backend
	if q.scheme() == "file" {
		r = &localRemote{url: q.URL}
	} else {
		r = newHTTPRemote(q)
	}
	if q.Op == opRefs {
		caps, err := r.refs(ctx, func(oid, name string) error {
			return out.text(frameRef, "%s %s", oid, name)
		})
		if err != nil {
			return err
		}
		return out.text(frameCapabilities, "%s", strings.Join(caps, " "))
	}
	if !q.Offline {
		err := r.fetch(ctx, q.Repository, q.Want)
		if err != nil {
			return err
		}
	}
	objs, err := r.open(ctx, q.Repository)
	if err != nil {
		return err
	}
	defer objs.Close()
	if q.Op == opPass {
		return q.Part.pass(ctx, objs, out)
	}
	h := newHistory()
	keep, flush := records(func(b []byte) error {
		return out.send(frameRecords, b)
	})
	h.keep = keep
	err = h.fill(ctx, objs, q.Want.OIDs)
	if err != nil {
		return err
	}
	return flush()
}

// heapInterval is the time between two samples of the heap. A gigabyte takes longer to fill.
const heapInterval = 2 * time.Millisecond

// watchHeap calls stop if the heap has more than maxHeap bytes.
func watchHeap(stop func()) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	tick := time.NewTicker(heapInterval)
	defer tick.Stop()
	for range tick.C {
		metrics.Read(sample)
		if sample[0].Value.Uint64() > maxHeap {
			stop()
			return
		}
	}
}

package mcpserve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// smallBody is the part of a body that every request may send, so that large
	// bodies, complete or not, do not block ordinary calls.
	smallBody = 16 << 10
	// maxBodies limits the memory for the rest of all bodies at a time, in bytes.
	maxBodies = 64 << 20
)

// bodies is the memory for the bodies of the requests in progress. Without a
// common limit, clients that send half of a large body each could fill the
// memory of the machine.
type bodies struct{ used atomic.Int64 }

// errBusy is the error for a body that does not fit into the common limit now.
var errBusy = errors.New("other requests send large messages now; send this one again later")

// read reads the message and restores it for the handler. status is the one
// of the response to an error. The caller calls done when the request ends.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) (body []byte, done func(), status int, err error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // the recorders of tests do not support it
	var taken int64
	done = func() { b.used.Add(-taken) }
	body, taken, err = b.collect(http.MaxBytesReader(w, r.Body, maxBody))
	_ = rc.SetReadDeadline(time.Time{})
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, done, http.StatusRequestEntityTooLarge, fmt.Errorf("a message has at most %d bytes", long.Limit)
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", retryAfter)
		return nil, done, http.StatusServiceUnavailable, err
	case err != nil:
		return nil, done, http.StatusBadRequest, fmt.Errorf("reading the message: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, done, 0, nil
}

// collect reads all of r into a buffer that grows as the bytes arrive, and returns
// the number of bytes that it took from the common limit.
func (b *bodies) collect(r io.Reader) (body []byte, taken int64, err error) {
	body = make([]byte, 0, 512)
	for {
		if len(body) == cap(body) {
			grown := min(2*cap(body), maxBody+1)
			// While the bytes are copied, both buffers exist.
			more := int64(grown+cap(body)) - smallBody - taken
			if more > 0 {
				if taken += more; b.used.Add(more) > maxBodies {
					return nil, taken, errBusy
				}
			}
			body = append(make([]byte, 0, grown), body...)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			rest := max(int64(cap(body))-smallBody, 0)
			b.used.Add(rest - taken)
			return body, rest, nil
		}
		if err != nil {
			return nil, taken, err
		}
	}
}

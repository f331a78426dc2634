package httpx

import (
	"context"
	"io"
	"time"

	"github.com/ryeos/rye/diag"
)

// stream is a body that is read as it arrives, with a limit of size, a limit of
// idle time and typed errors.
type stream struct {
	cancel  context.CancelCauseFunc
	explain func(error) error // types an error of the body
	body    io.ReadCloser
	idle    *time.Timer // nil means no limit of idle time
	quiet   time.Duration
	left    int64
	max     int64
}

func newStream(ctx context.Context, cancel context.CancelCauseFunc, body io.ReadCloser, r Request, url string) *stream {
	s := &stream{
		cancel: cancel,
		body:   body,
		quiet:  r.Idle,
		left:   r.max(),
		max:    r.max(),
	}
	s.explain = func(err error) error {
		return fault(ctx, "reading the stream of "+Shown(url), err)
	}
	if s.quiet > 0 {
		s.idle = time.AfterFunc(s.quiet, func() { cancel(errIdle) })
	}
	return s
}

func (s *stream) Read(p []byte) (int, error) {
	if s.left == 0 {
		return s.beyond()
	}
	n, err := s.body.Read(
		p[:min(int64(len(p)), s.left)],
	)
	s.left -= int64(n)
	if n > 0 && s.idle != nil {
		s.idle.Reset(s.quiet)
	}
	if err != nil && err != io.EOF {
		err = s.explain(err)
	}
	return n, err
}

// beyond returns the error of a body that is longer than the maximum, io.EOF if
// it ends exactly there.
func (s *stream) beyond() (int, error) {
	var one [1]byte
	n, err := s.body.Read(one[:])
	if n == 0 && err != nil {
		if err == io.EOF {
			return 0, io.EOF
		}
		return 0, s.explain(err)
	}
	return 0, s.explain(diag.New(diag.ResourceExceeded, "reading the stream: more than %d bytes", s.max).
		WithDetail("limit", "max_bytes"))
}

func (s *stream) Close() error {
	if s.idle != nil {
		s.idle.Stop()
	}
	s.cancel(nil)
	return s.body.Close()
}

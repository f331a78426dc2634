package httpx

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
)

// Retry are the rules for sending a request again. The zero value is one attempt.
type Retry struct {
	Attempts int           // including the first
	First    time.Duration // wait before the second attempt; it doubles each time
	Max      time.Duration // longest wait; if a server asks for more, the attempts end. Zero means no limit
	Jitter   float64       // random share of each wait, from 0 to 1
	Statuses []int         // statuses that are tried again
	Methods  []string      // methods to repeat in addition to the idempotent ones
}

// persist calls attempt until it succeeds or the rules permit no other attempt.
func (c *Client) persist(
	ctx context.Context,
	r Request,
	attempt func(context.Context) (*Response, error),
) (*Response, error) {
	for n := 1; ; n++ {
		res, err := attempt(ctx)
		if res != nil {
			res.Attempts = n
			res.RetryAfter = retryAfter(res.Header, c.p.Now())
		}
		if !r.retries(n, res, err) {
			return res, attempted(err, n)
		}
		wait := r.Retry.wait(n, c.p.Random())
		if res != nil && res.RetryAfter > 0 {
			wait = res.RetryAfter
		}
		if r.Retry.Max > 0 && wait > r.Retry.Max || late(ctx, wait) {
			return res, attempted(err, n)
		}
		if res != nil && res.Stream != nil {
			res.Stream.Close()
		}
		if c.p.Sleep(ctx, wait) != nil {
			return nil, fault(ctx, "waiting to ask "+Shown(r.URL)+" again", ctx.Err())
		}
	}
}

// retries reports whether another attempt may follow attempt n.
func (r *Request) retries(n int, res *Response, err error) bool {
	if n >= r.Retry.Attempts || !r.repeatable() {
		return false
	}
	if err != nil {
		var e *diag.Error
		return errors.As(err, &e) && e.Retryable
	}
	return slices.Contains(r.Retry.Statuses, res.Status)
}

func (r *Request) repeatable() bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete:
		return true
	}
	return slices.Contains(r.Retry.Methods, r.Method)
}

// wait returns the time to wait after attempt n. random is in [0,1).
func (r Retry) wait(n int, random float64) time.Duration {
	d := float64(r.First) * math.Pow(2, float64(n-1))
	if r.Max > 0 {
		d = math.Min(d, float64(r.Max))
	}
	d = math.Min(d, float64(24*time.Hour))
	return time.Duration(d * (1 - r.Jitter + r.Jitter*random))
}

// late reports whether ctx ends before a wait would.
func late(ctx context.Context, wait time.Duration) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) <= wait
}

// retryAfter returns the wait of a Retry-After header: seconds, or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	s := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	t, err := http.ParseTime(s)
	if err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}

func attempted(err error, n int) error {
	var e *diag.Error
	if n > 1 && errors.As(err, &e) {
		return e.WithDetail("attempts", n)
	}
	return err
}

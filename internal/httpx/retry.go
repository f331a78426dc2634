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

// Retry says when the same request is sent again. The zero value never does.
type Retry struct {
	Attempts int           // all of them, the first one included
	First    time.Duration // wait before the second attempt; it doubles each time
	Max      time.Duration // longest wait; a server that asks for more is not asked again. Zero means no bound
	Jitter   float64       // share of each wait that is left to chance, from 0 to 1
	Statuses []int         // answers that are worth another attempt
	Methods  []string      // repeated although they may have an effect, such as POST
}

// persist calls attempt until it succeeds, or another one is not worth while.
func (c *Client) persist(ctx context.Context, r Request, attempt func(context.Context) (*Response, error)) (*Response, error) {
	for n := 1; ; n++ {
		res, err := attempt(ctx)
		if res != nil {
			res.Attempts, res.RetryAfter = n, retryAfter(res.Header, c.p.Now())
		}
		if !r.again(n, res, err) {
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

// again reports whether attempt n should be followed by another.
func (r *Request) again(n int, res *Response, err error) bool {
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

// wait is the time after attempt n, with chance from [0,1).
func (r Retry) wait(n int, chance float64) time.Duration {
	d := float64(r.First) * math.Pow(2, float64(n-1))
	if r.Max > 0 {
		d = math.Min(d, float64(r.Max))
	}
	d = math.Min(d, float64(24*time.Hour))
	return time.Duration(d * (1 - r.Jitter + r.Jitter*chance))
}

// late reports whether ctx would end before a wait does.
func late(ctx context.Context, wait time.Duration) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) <= wait
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	s := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil && t.After(now) {
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

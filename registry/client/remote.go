package client

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/httpx"

	"github.com/ryeos/rye/registry/wire"
)

// remote sends requests to the addresses of a registry.
type remote struct {
	host      string
	addresses []string
	http      *httpx.Client
	offline   bool
}

var (
	errUnchanged = errors.New("it did not change")
	errGone      = errors.New("it was deleted")
)

func (c *Client) remote(p *Pin) (*remote, error) {
	r := &remote{host: p.Host, addresses: p.Addresses, offline: c.p.Offline}
	if len(r.addresses) == 0 {
		r.addresses = []string{wire.BaseURL(p.Host)}
	}
	var private []string // the user named these hosts; a company's are often not public
	for _, a := range r.addresses {
		u, err := url.Parse(a)
		if err != nil || u.Scheme != "https" && !wire.IsLoopback(u.Host) {
			return nil, diag.New(diag.ConfigError, "opening registry %s: %q is not an https address, and http is for this machine only", p.Host, a)
		}
		if p.Private {
			private = append(private, u.Hostname())
		}
	}
	var err error
	r.http, err = httpx.New(httpx.Params{AllowPrivate: private, Proxy: c.p.Proxy, Now: c.p.Now})
	return r, err
}

// file is a file of a registry as one address served it.
type file struct {
	body []byte
	etag string
	url  string
}

// get reads a file from the first address that has it. Use is called for each answer; an
// answer that it refuses is tried at the next address, and the last refusal is returned.
func (r *remote) get(
	ctx context.Context,
	path string,
	limit int64,
	etag string,
	use func(file) error,
) error {
	return r.getWith(ctx, path, limit, conditional(etag), use)
}

// conditional returns the header that asks for a file unless it has an ETag. Without one the
// header is empty.
func conditional(etag string) http.Header {
	h := http.Header{}
	if etag != "" {
		h.Set("If-None-Match", etag)
	}
	return h
}

// uncached returns the header that asks caches on the way for the file of the registry.
func uncached() http.Header {
	return http.Header{"Cache-Control": {"no-cache"}}
}

// getWith is get with a header.
// An answer that fails a check is tried at the next address, except a moved version and two
// histories: another address does not undo those.
func (r *remote) getWith(
	ctx context.Context,
	path string,
	limit int64,
	header http.Header,
	use func(file) error,
) error {
	if r.offline {
		return notCached(path + " of registry " + r.host)
	}
	var first error
	for _, a := range r.addresses {
		f, err := r.ask(ctx, a+path, limit, header)
		if err == nil {
			err = use(f)
		}
		if err == nil || errors.Is(err, errUnchanged) || ctx.Err() != nil {
			return err
		}
		switch diag.CodeOf(err) {
		case diag.LogEquivocation, diag.TagMoved: // another address does not undo it
			return err
		}
		// A refused content is reported before an address that does not answer.
		if first == nil || diag.CodeOf(first) == diag.Network {
			first = err
		}
	}
	return first
}

func (r *remote) ask(
	ctx context.Context,
	address string,
	limit int64,
	h http.Header,
) (file, error) {
	res, err := r.http.Do(ctx, httpx.Request{
		Method:   "GET",
		URL:      address,
		Header:   h,
		MaxBytes: limit,
		Retry: httpx.Retry{
			Attempts: 3,
			First:    200 * time.Millisecond,
			Max:      5 * time.Second,
			Statuses: []int{429, 502, 503, 504},
		},
	})
	if err != nil {
		return file{}, err
	}
	switch {
	case res.Status == http.StatusNotModified && h.Get("If-None-Match") != "":
		return file{}, errUnchanged
	case res.Status == http.StatusNotFound:
		return file{}, diag.New(diag.RegistryError, "reading %s: it does not exist: %w", httpx.Shown(address), fs.ErrNotExist)
	case res.Status == http.StatusGone:
		return file{}, diag.New(diag.VersionNotFound, "reading %s: %w", httpx.Shown(address), errGone)
	case res.Status >= 300 && res.Status < 400:
		return file{}, diag.New(
			diag.SourceMoved,
			"reading %s: the registry redirects to %s",
			httpx.Shown(address),
			httpx.Shown(res.Header.Get("Location")),
		).
			WithReason("registry_moved").WithDetail("found", httpx.Shown(res.Header.Get("Location")))
	case !res.OK():
		return file{}, failure(address, res)
	case res.Truncated:
		return file{}, diag.New(diag.TooLarge, "reading %s: it is longer than %d bytes", httpx.Shown(address), limit)
	}
	return file{res.Body, res.Header.Get("ETag"), address}, nil
}

// failure is the error of an answer that is not a success.
func failure(address string, res *httpx.Response) error {
	doing := "asking " + httpx.Shown(address)
	if e, ok := wire.ParseFailure(res.Body); ok {
		e.Message = doing + ": " + printable(e.Message)
		for i := range e.Findings {
			e.Findings[i].Message, e.Findings[i].Path = printable(e.Findings[i].Message), printable(e.Findings[i].Path)
		}
		return e
	}
	err := diag.New(diag.RegistryError, "%s: status %d", doing, res.Status)
	err.Retryable = res.Status == http.StatusTooManyRequests || res.Status >= 500
	if res.RetryAfter > 0 {
		err = err.WithDetail("retry_after_ms", res.RetryAfter.Milliseconds())
	}
	return err
}

// post sends a signed request to the registry itself: the first address.
func (r *remote) post(
	ctx context.Context,
	path, statement string,
	body []byte,
) ([]byte, error) {
	if r.offline {
		return nil, notCached("registry " + r.host)
	}
	address := r.addresses[0] + path
	h := http.Header{}
	h.Set(wire.StatementHeader, statement)
	h.Set("Content-Type", "application/octet-stream")
	res, err := r.http.Do(ctx, httpx.Request{
		Method:   "POST",
		URL:      address,
		Header:   h,
		Body:     body,
		MaxBytes: wire.MaxReceipt,
	})
	switch {
	case err != nil:
		return nil, err
	case !res.OK():
		return nil, failure(address, res)
	}
	return res.Body, nil
}

// printable removes control characters and bounds the length of a text of a server.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 ||
			r >= 0x7f && r < 0xa0 ||
			r == 0x2028 ||
			r == 0x2029 ||
			r >= 0x200b && r <= 0x200f ||
			r >= 0x202a && r <= 0x202e ||
			r >= 0x2060 && r <= 0x206f ||
			r == 0xfeff {
			return ' '
		}
		return r
	}, s)
	return cuttext.Short(s, 2000)
}

// ErrOffline is wrapped by the error for data that is not on this computer while the
// network may not be used.
var ErrOffline = errors.New("the network may not be used")

func notCached(what string) error {
	return diag.New(diag.SourceNotFound, "looking for %s on this computer: not found, and %w", what, ErrOffline).WithReason("offline")
}

// Printable returns a text of a registry without control characters and hidden characters,
// of bounded length.
func Printable(s string) string {
	return printable(s)
}

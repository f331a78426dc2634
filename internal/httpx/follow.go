package httpx

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/ryeos/rye/diag"
)

// hop is the request that is sent next.
type hop struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

// follow sends one request and follows its redirects.
func (c *Client) follow(ctx context.Context, r Request) (*http.Response, error) {
	u, err := c.target(r.URL)
	if err != nil {
		return nil, err
	}
	h := hop{
		method: r.Method,
		url:    u,
		header: r.Header.Clone(),
		body:   r.Body,
	}
	for n := 0; ; n++ {
		live, err := c.send(ctx, h)
		if err != nil {
			return nil, fault(ctx, "asking "+Shown(h.url.String()), err)
		}
		to := live.Header.Get("Location")
		if !redirects(live.StatusCode) || to == "" || r.MaxRedirects == 0 {
			return live, nil
		}
		io.CopyN(io.Discard, live.Body, 4<<10) // so that the connection can be reused
		live.Body.Close()
		if n == r.MaxRedirects {
			return nil, diag.New(diag.Network, "asking %s: more than %d redirects, the last one to %s", Shown(r.URL), n, Shown(to))
		}
		if h, err = c.next(h, live.StatusCode, to); err != nil {
			return nil, err
		}
	}
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

func (c *Client) send(ctx context.Context, h hop) (*http.Response, error) {
	var body io.Reader
	if h.body != nil {
		body = bytes.NewReader(h.body)
	}
	req, err := http.NewRequestWithContext(ctx, h.method, h.url.String(), body)
	if err != nil {
		return nil, err
	}
	if h.header != nil {
		req.Header = h.header.Clone()
	}
	return c.http.Do(req)
}

// next returns the request that a redirect asks for. Another origin receives no
// body and no header that could be a credential.
// A request with a body follows no redirect to another host, also not a declared one: the body
// may contain data for the first host.
func (c *Client) next(h hop, status int, location string) (hop, error) {
	ref, err := h.url.Parse(location)
	if err != nil {
		return h, diag.New(diag.Network, "following a redirect of %s: its target is not a URL", Shown(h.url.String()))
	}
	doing := "following a redirect of " + Shown(h.url.String())
	u, err := c.target(ref.String())
	if err != nil {
		return h, refusedRedirect(doing, err)
	}
	if h.url.Scheme == "https" && u.Scheme != "https" {
		return h, diag.New(diag.PolicyDenied, "%s: it goes from https to http", doing)
	}
	out := hop{
		method: h.method,
		url:    u,
		header: h.header,
		body:   h.body,
	}
	if status == http.StatusSeeOther && h.method != http.MethodHead ||
		status < http.StatusSeeOther && h.method == http.MethodPost {
		out.method = http.MethodGet
		out.body = nil
		out.header = keep(h.header, func(name string) bool {
			return !strings.HasPrefix(name, "Content-")
		})
	}
	if sameOrigin(h.url, u) {
		return out, nil
	}
	if out.body != nil {
		return h, diag.New(diag.PolicyDenied, "%s: it would send the body to another host, %s", doing, u.Host)
	}
	out.header = keep(out.header, harmless)
	return out, nil
}

// refusedRedirect returns the error of a redirect whose target err refuses.
func refusedRedirect(doing string, err error) error {
	e := diag.New(diag.CodeOf(err), "%s: %w", doing, err)
	var inner *diag.Error
	if errors.As(err, &inner) {
		e.Reason = inner.Reason
		e.Details = inner.Details
	}
	return e
}

// harmless reports whether another origin may receive a header.
func harmless(name string) bool {
	switch name {
	case "Accept", "Accept-Language", "User-Agent":
		return true
	}
	return false
}

func keep(h http.Header, ok func(string) bool) http.Header {
	out := http.Header{}
	for name, values := range h {
		if ok(http.CanonicalHeaderKey(name)) {
			out[name] = values
		}
	}
	return out
}

// sameOrigin compares origins. The step from http to https of one host counts as
// the same origin.
func sameOrigin(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	upgrade := a.Scheme == "http" &&
		portOf(a) == "80" &&
		b.Scheme == "https" &&
		portOf(b) == "443"
	return upgrade || a.Scheme == b.Scheme && portOf(a) == portOf(b)
}

// Package httpx is an HTTP client for requests whose URL is not trusted: it
// connects to public addresses only, follows redirects only to listed hosts,
// sends credentials to one origin, and bounds time, size, redirects and retries.
// It also divides streams into events.
//
// It does not decide which hosts, addresses, limits and retry rules apply:
// packages above do. It reads no environment (no proxy variable) and keeps no
// cookies. An address is checked where it is connected to, not before.
package httpx

import (
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
)

// Defaults of Params and Request.
const (
	DefaultConnectTimeout = 10 * time.Second
	DefaultMaxBytes       = 10 << 20
	maxHeader             = 256 << 10
)

// Params are the hosts and addresses that a Client may reach. The zero value
// permits every public address, without a proxy.
type Params struct {
	// Hosts are the hosts that requests and redirects may go to: a name, a name
	// with a port, or "*." and a domain. Nil means every host.
	Hosts []string
	// AllowPrivate are addresses, prefixes and host names that may be reached
	// although they are not public. The metadata service of a cloud must be
	// listed as a single address.
	AllowPrivate []string
	// Proxy is the URL of a proxy; "" means none. Behind a proxy names are
	// looked up by the proxy, so only addresses in URLs are checked here.
	Proxy          string
	ConnectTimeout time.Duration // zero means DefaultConnectTimeout

	Dialer *net.Dialer                                      // copied; nil means a plain one
	TLS    *tls.Config                                      // cloned; nil means the system's roots
	Now    func() time.Time                                 // nil means time.Now
	Sleep  func(ctx context.Context, d time.Duration) error // nil waits, or ends with ctx
	Random func() float64                                   // from [0,1), for jitter; nil means math/rand
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	p     Params
	hosts []hostPattern
	guard *guard
	http  *http.Client
	rt    *http.Transport
}

// New returns a Client, or one error with all problems of p.
func New(p Params) (*Client, error) {
	c := &Client{p: p.withDefaults()}
	var fs []diag.Finding
	c.hosts, fs = parseHosts(p.Hosts)
	var more []diag.Finding
	c.guard, more = newGuard(c.p)
	fs = append(fs, more...)
	proxy, err := parseProxy(p.Proxy)
	if err != nil {
		fs = append(fs, diag.Errorf(diag.ConfigError, 0, 0, "proxy %s", err))
	}
	if err := diag.FromFindings("reading the limits of a request", fs); err != nil {
		return nil, err
	}
	c.transport(proxy)
	return c, nil
}

func (p Params) withDefaults() Params {
	if p.ConnectTimeout == 0 {
		p.ConnectTimeout = DefaultConnectTimeout
	}
	if p.Dialer == nil {
		p.Dialer = &net.Dialer{}
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Sleep == nil {
		p.Sleep = sleep
	}
	if p.Random == nil {
		p.Random = rand.Float64
	}
	return p
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) transport(proxy *url.URL) {
	tlsConf := c.p.TLS.Clone()
	if tlsConf == nil {
		tlsConf = &tls.Config{}
	}
	tlsConf.MinVersion = max(tlsConf.MinVersion, tls.VersionTLS12)
	c.rt = &http.Transport{
		DialContext:            c.guard.dial,
		TLSClientConfig:        tlsConf,
		TLSHandshakeTimeout:    c.p.ConnectTimeout,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
	}
	if proxy != nil {
		c.rt.Proxy = http.ProxyURL(proxy)
		c.guard.proxy = proxy.Hostname()
	}
	c.http = &http.Client{Transport: c.rt, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // Client.follow follows redirects: it checks hosts and credentials
	}}
}

// Close closes idle connections.
func (c *Client) Close() {
	c.rt.CloseIdleConnections()
}

// Request is one request. Method and URL are required.
type Request struct {
	Method       string
	URL          string
	Header       http.Header
	Body         []byte
	MaxBytes     int64         // of the response, decompressed; zero means DefaultMaxBytes
	MaxRedirects int           // zero means none
	Idle         time.Duration // longest time without data of a stream; zero means no limit
	Retry        Retry
}

// Response is a response of any status.
type Response struct {
	Status     int
	Header     http.Header
	Body       []byte
	Truncated  bool          // the body is longer than Request.MaxBytes
	URL        string        // after redirects
	Attempts   int           // requests sent, without redirects
	RetryAfter time.Duration // the wait that the server asked for, or zero
	Stream     io.ReadCloser // of Open, in place of Body, if the status is 2xx
}

// OK reports whether the status is 2xx.
func (r *Response) OK() bool {
	return r.Status >= 200 && r.Status < 300
}

// Do sends a request and reads the response. A response of any status is a
// Response; an error means that there is none.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	return c.persist(ctx, r, func(ctx context.Context) (*Response, error) {
		live, err := c.follow(ctx, r)
		if err != nil {
			return nil, err
		}
		return r.read(ctx, live)
	})
}

// Open sends a request and returns the body of a 2xx response as a stream of at
// most Request.MaxBytes. The caller closes Response.Stream.
func (c *Client) Open(ctx context.Context, r Request) (*Response, error) {
	return c.persist(ctx, r, func(ctx context.Context) (*Response, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		live, err := c.follow(ctx, r)
		if err != nil {
			cancel(nil)
			return nil, err
		}
		if live.StatusCode < 200 || live.StatusCode > 299 {
			defer cancel(nil)
			return r.read(ctx, live)
		}
		res := responseOf(live)
		res.Stream = newStream(ctx, cancel, live.Body, r, res.URL)
		return res, nil
	})
}

func responseOf(live *http.Response) *Response {
	return &Response{Status: live.StatusCode, Header: live.Header, URL: live.Request.URL.String()}
}

func (r *Request) max() int64 {
	if r.MaxBytes > 0 {
		return r.MaxBytes
	}
	return DefaultMaxBytes
}

// read reads the whole body, up to the maximum.
func (r *Request) read(ctx context.Context, live *http.Response) (*Response, error) {
	defer live.Body.Close()
	res := responseOf(live)
	b, err := io.ReadAll(io.LimitReader(live.Body, r.max()+1))
	if err != nil {
		return nil, fault(ctx, "reading the response of "+Shown(res.URL), err)
	}
	if int64(len(b)) > r.max() {
		b = b[:r.max()]
		res.Truncated = true
	}
	res.Body = b
	return res, nil
}

// Shown returns a URL for messages and logs: without user, query and fragment,
// which may contain secrets.
func Shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "the URL"
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

// MediaType returns the type and the character set of a Content-Type, both in
// lower case, "" if it has none.
func MediaType(contentType string) (kind, charset string) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(kind)), strings.ToLower(params["charset"])
}

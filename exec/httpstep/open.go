package httpstep

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
)

// maxErrorBody is how many bytes of a response with an error status are kept.
const maxErrorBody = 64 << 10

// Reply is the response to Open. No secret is in it, except in Stream. The zero value
// is a response without secrets.
type Reply struct {
	Status     int
	Header     http.Header
	Body       []byte        // of a status that is not 2xx
	RetryAfter time.Duration // the wait that the server asked for, or zero
	Stream     io.ReadCloser // of a 2xx status; the caller closes it

	secret *httpfill.Redactor
	client *httpx.Client
}

// Redact removes the secrets of the request from a text.
func (r *Reply) Redact(s string) string {
	if r.secret == nil {
		return s
	}
	return r.secret.Text(s)
}

// Close ends the response.
func (r *Reply) Close() {
	if r.Stream != nil {
		r.Stream.Close()
	}
	if r.client != nil {
		r.client.Close()
	}
}

// Open sends the request once, with a JSON body in place of config.body, and
// returns the response as it arrives. It follows no redirect: the body belongs to
// the configured address. url replaces config.url unless it is "". A server that
// sends nothing for config.idle_timeout is a Timeout, before its first byte too.
func (c Call) Open(ctx context.Context, url string, body []byte) (*Reply, error) {
	conf, fs := readConfig(c.Config)
	if err := diag.FromFindings("reading the configuration of the request", fs); err != nil {
		return nil, err
	}
	if url != "" {
		conf.url = url
	}
	conf.hasBody = false
	x := &exchange{call: c, config: conf, secret: newRedactor(c, conf)}
	r, err := x.open(ctx, body)
	if err != nil {
		return nil, x.secret.Err(err)
	}
	return r, nil
}

func (x *exchange) open(ctx context.Context, body []byte) (*Reply, error) {
	req, hosts, err := x.request()
	if err != nil {
		return nil, err
	}
	req.Body = body
	req.MaxRedirects = 0
	req.Retry = httpx.Retry{}
	req.Header.Set("Content-Type", "application/json")
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json") // as the clients of the services do, for streams too
	}
	proxy, err := x.filler().Plain("proxy", x.config.proxy)
	if err != nil {
		return nil, err
	}
	client, err := httpx.New(httpx.Params{
		Hosts:          hosts,
		AllowPrivate:   x.config.allowPrivate,
		Proxy:          proxy,
		ConnectTimeout: x.config.connectTimeout,
		Now:            x.call.Now,
	})
	if err != nil {
		return nil, err
	}
	res, err := awaitHead(ctx, client, req)
	if err != nil {
		client.Close()
		return nil, err
	}
	out := &Reply{
		Status:     res.Status,
		Header:     http.Header{},
		RetryAfter: res.RetryAfter,
		Stream:     res.Stream,
		secret:     x.secret,
		client:     client,
	}
	for name := range res.Header {
		if name != "Set-Cookie" {
			out.Header.Set(name, x.secret.Text(res.Header.Get(name)))
		}
	}
	if res.Stream == nil {
		out.Body = x.secret.Bytes(res.Body[:min(len(res.Body), maxErrorBody)])
	}
	return out, nil
}

// awaitHead sends a request. req.Idle bounds the time until the head of the
// response too: a stream applies it only from there on.
func awaitHead(ctx context.Context, client *httpx.Client, req httpx.Request) (*httpx.Response, error) {
	if req.Idle == 0 {
		return client.Open(ctx, req)
	}
	within, cancel := context.WithCancel(ctx)
	silence := time.AfterFunc(req.Idle, cancel)
	res, err := client.Open(within, req)
	if !silence.Stop() && ctx.Err() == nil {
		if res != nil && res.Stream != nil {
			res.Stream.Close()
		}
		e := diag.New(diag.Timeout, "asking %s: it sent nothing for %s (idle_timeout)", httpx.Shown(req.URL), req.Idle)
		e.Retryable = true
		return nil, e
	}
	if res == nil || res.Stream == nil {
		cancel()
		return res, err
	}
	res.Stream = cancelOnClose{res.Stream, cancel}
	return res, err
}

// cancelOnClose frees the context of a stream when it is closed.
type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c cancelOnClose) Close() error {
	err := c.ReadCloser.Close()
	c.cancel()
	return err
}

// Reach asks the host of the URL for its root, without the credential, the headers and the
// body of the request. It returns nil if a response of any status came.
func (c Call) Reach(ctx context.Context) error {
	conf, fs := readConfig(c.Config)
	if err := diag.FromFindings("reading the configuration of the request", fs); err != nil {
		return err
	}
	x := &exchange{call: c, config: conf, secret: newRedactor(c, conf)}
	return x.secret.Err(x.reach(ctx))
}

func (x *exchange) reach(ctx context.Context) error {
	u, err := x.filler().URL(x.config.url, nil)
	if err != nil {
		return err
	}
	proxy, err := x.filler().Plain("proxy", x.config.proxy)
	if err != nil {
		return err
	}
	hosts := x.config.hosts
	if hosts == nil {
		hosts = []string{httpx.HostOf(u)}
	}
	client, err := httpx.New(httpx.Params{
		Hosts:          hosts,
		AllowPrivate:   x.config.allowPrivate,
		Proxy:          proxy,
		ConnectTimeout: x.config.connectTimeout,
		Now:            x.call.Now,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Do(ctx, httpx.Request{Method: http.MethodGet, URL: u.Scheme + "://" + u.Host + "/", MaxBytes: 1 << 10})
	return err
}

package mcpclient

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
)

// web is how requests reach one server: to its own origin only, whatever a
// redirect or an event says, so that its headers go nowhere else.
type web struct {
	base    http.RoundTripper
	origin  *url.URL
	headers map[string]string

	mu     sync.Mutex
	status int    // the last answer that was a refusal
	login  string // what it says about logging in
}

func newWeb(s *Server, base http.RoundTripper) (*web, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, diag.New(diag.ConfigError, "reading the address of MCP server %s: %w", s.Name, err)
	}
	if base == nil {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	return &web{base: base, origin: u, headers: s.Headers}, nil
}

// transport returns the transport of the protocol.
func (w *web) transport(s *Server) mcp.Transport {
	client := &http.Client{Transport: w}
	if s.Transport == SSE {
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client}
	}
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, DisableStandaloneSSE: true, MaxRetries: 2}
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != w.origin.Scheme || r.URL.Host != w.origin.Host {
		return nil, diag.New(diag.Network, "it sends us to another origin, %s://%s", r.URL.Scheme, r.URL.Host)
	}
	r = r.Clone(r.Context())
	for name, v := range w.headers {
		r.Header.Set(name, v)
	}
	res, err := w.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 400 {
		w.mu.Lock()
		w.status, w.login = res.StatusCode, res.Header.Get("WWW-Authenticate")
		w.mu.Unlock()
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // the library bounds events
		res.Body = &bounded{ReadCloser: res.Body, left: MaxMessage}
	}
	return res, nil
}

// refusal returns the last status that was a refusal, 0 when there was none.
func (w *web) refusal() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// bounded ends a body that is too large with an error.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, diag.New(diag.TooLarge, "it sent a message of more than %d bytes", MaxMessage)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}
